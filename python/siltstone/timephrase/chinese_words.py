"""Chinese words for numbers, units and years, as pieces of regular expressions and as values.

Texts are brought to simplified characters first, one for one, so that places in them stay the same.
"""

import re

_TRADITIONAL = (
    "週禮個點鐘時後間從內來過這當號兩節國慶聖誕勞動兒婦陽臘復複雙萬親師農曆淩現剛開結裡幾歲紀陰貳參"
)
_SIMPLIFIED = "周礼个点钟时后间从内来过这当号两节国庆圣诞劳动儿妇阳腊复复双万亲师农历凌现刚开结里几岁纪阴二三"
_SAME = str.maketrans(_TRADITIONAL + "０１２３４５６７８９：／－．〇", _SIMPLIFIED + "0123456789:/-.零")

DIGITS = {"零": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_SCALES = {"十": 10, "百": 100, "千": 1000}

NUMERAL = "零一二两三四五六七八九十百千"
NUMBER = rf"(?:\d{{1,5}}(?:\.\d+)?|[{NUMERAL}]+|半|几)"
SMALL = rf"(?:\d{{1,2}}|[{NUMERAL}]{{1,3}}|廿[一二三四五六七八九]?)"
# How a unit is written behind a number → the unit. 三月 is March, 两月 and 半月 are not.
_UNITS = {
    "秒": "second",
    "秒钟": "second",
    "分钟": "minute",
    "小时": "hour",
    "钟头": "hour",
    "天": "day",
    "日": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "季度": "quarter",
    "年": "year",
    "年代": "decade",
    "世纪": "century",
}
UNIT = (
    r"(?:秒钟?|分钟|个?(?:小时|钟头|星期|礼拜|季度|年代|世纪)|天|日(?!本)|周(?![岁围])|个月|(?<=[两半])月(?!份)"
    r"|年(?!代|级|龄|纪|轻|货))"
)

# First year of the reigns people still date by.
REIGNS = {
    "顺治": 1644,
    "康熙": 1662,
    "雍正": 1723,
    "乾隆": 1736,
    "嘉庆": 1796,
    "道光": 1821,
    "咸丰": 1851,
    "同治": 1862,
    "光绪": 1875,
    "宣统": 1909,
    "民国": 1912,
}


def simplified(text: str) -> str:
    """Traditional characters and full-width digits of words for time, one for one."""
    return text.translate(_SAME)


def number_of(text: str) -> float:
    """The value of what NUMBER matched: digits, numerals with or without places, 半, 几 (three)."""
    if re.fullmatch(r"[\d.]+", text):
        return float(text)
    if text == "半":
        return 0.5
    if text == "几":
        return 3
    text = text.replace("廿", "二十")
    if not any(scale in text for scale in _SCALES):
        return int("".join(str(DIGITS[c]) for c in text))
    total, digit = 0, 0
    for char in text:
        if char in _SCALES:
            total += (digit or 1) * _SCALES[char]
            digit = 0
        else:
            digit = DIGITS[char]
    return total + digit


def unit_of(text: str) -> str:
    return _UNITS[text.removeprefix("个")]
