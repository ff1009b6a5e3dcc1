//! Numbers as they are written: digits, English and Chinese number words, units.

/// A number in digits (`1000`, `8.0.30`, `-5`; leading zeros and thousands' commas are gone, trailing zeros
/// of a fraction stay: `8.0` is not `8`), with its unit where that is a known one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    pub value: String,
    pub unit: Option<&'static str>,
}

impl Number {
    /// By a scale word: `3` million, `3.5` 万. What is no decimal stays.
    pub fn multiply(&mut self, scale: u64) {
        if let Ok(value) = self.value.parse::<f64>() {
            self.value = format!("{}", value * scale as f64);
        }
    }
}

/// Canonical unit and its names.
const UNITS: &[(&str, &str)] = &[
    ("%", "% percent pct"),
    ("ms", "ms msec millisecond milliseconds 毫秒"),
    ("µs", "us μs microsecond microseconds 微秒"),
    ("s", "s sec secs second seconds 秒 秒钟"),
    ("min", "min mins minute minutes 分钟"),
    ("h", "h hr hrs hour hours 小时 个小时 钟头"),
    ("d", "d day days 天"),
    ("week", "week weeks 周 个星期 个礼拜"),
    ("month", "month months 个月"),
    ("year", "year years yr yrs 年"),
    ("kB", "kb kib"),
    ("MB", "mb mib 兆"),
    ("GB", "gb gib"),
    ("TB", "tb tib"),
    ("B", "bytes byte 字节"),
    ("km", "km kilometer kilometers kilometre kilometres 公里 千米"),
    ("mile", "mile miles 英里"),
    ("metre", "meter meters metre metres 米"),
    ("cm", "cm 厘米"),
    ("mm", "mm 毫米"),
    ("kg", "kg kilogram kilograms 公斤 千克"),
    ("pound", "lb lbs pound pounds 磅"),
    ("dollar", "$ usd dollar dollars 美元 美金"),
    ("euro", "€ eur euro euros 欧元"),
    ("yuan", "¥ ￥ rmb cny yuan 元 块 块钱 人民币"),
    ("px", "px pixel pixels 像素"),
    ("hz", "hz 赫兹"),
    ("°C", "°c ℃ celsius 摄氏度"),
    ("°F", "°f ℉ fahrenheit 华氏度"),
    ("times", "times 次 回 遍"),
];

const ONES: &[&str] = &[
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: &[&str] = &["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const SCALES: &[(&str, u64)] =
    &[("hundred", 100), ("thousand", 1000), ("million", 1_000_000), ("billion", 1_000_000_000)];

/// What may follow a Chinese numeral that counts: without one, 一 and 三 are parts of words.
const MEASURES: &str = "个只条张次天年月日号点分秒小周岁元块名位件台种本辆级层版倍家遍回页行章步项轮人把支瓶杯座间套双群门所节段句场届\
                        毫公千米斤克厘字兆美欧";

/// The unit a word stands for.
pub fn unit(word: &str) -> Option<&'static str> {
    let named = |names: &str| names.split(' ').any(|name| name == word);
    UNITS.iter().find(|(_, names)| named(names)).map(|(unit, _)| *unit)
}

/// The unit that starts a run of Chinese, the longest one that fits.
pub fn han_unit(run: &str) -> Option<&'static str> {
    let fits = |names: &str| names.split(' ').filter(|name| run.starts_with(name)).map(str::len).max();
    let found = UNITS.iter().filter_map(|(unit, names)| Some((fits(names)?, *unit)));
    found.max_by_key(|(length, _)| *length).map(|(_, unit)| unit)
}

/// Reads `30`, `1,000`, `-5`, `8.0.30`, `v1.2`, `30s`, `5GB`, `50%`, `2nd`, `$5`, all lower case.
pub fn parse(word: &str) -> Option<Number> {
    let (word, currency) = match word.strip_prefix('$') {
        Some(rest) => (rest, Some("dollar")),
        None => (word, None),
    };
    let word = word.strip_prefix('v').filter(|rest| starts_with_digit(rest)).unwrap_or(word);
    let (sign, rest) = match word.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", word),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(rest.len());
    let (digits, tail) = rest.split_at(end);
    if !starts_with_digit(digits) {
        return None;
    }
    let unit = match tail {
        "" => currency,
        "st" | "nd" | "rd" | "th" => None,
        tail => Some(unit(tail)?),
    };
    Some(Number { value: format!("{sign}{}", canonical(digits)), unit })
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// Digits without thousands' commas and leading zeros.
pub fn canonical(digits: &str) -> String {
    let plain = digits.replace(',', "");
    let whole = plain.find('.').unwrap_or(plain.len());
    let zeros = plain[..whole].bytes().take_while(|b| *b == b'0').count();
    plain[zeros.min(whole.saturating_sub(1))..].to_owned()
}

/// Reads the number that starts a list of lower-case English words, and how many words it takes. Scales of
/// thousand and more close what stands before them.
pub fn english(words: &[&str]) -> Option<(u64, usize)> {
    let (mut total, mut group, mut taken) = (0u64, None::<u64>, 0);
    while let Some(word) = words.get(taken) {
        let position = |list: &[&str]| list.iter().position(|name| name == word).map(|at| at as u64);
        if let Some(ones) = position(ONES) {
            match group {
                Some(g) if g % 100 >= 20 && g % 10 == 0 && ones < 10 => group = Some(g + ones),
                Some(g) if g % 100 == 0 && g > 0 => group = Some(g + ones),
                Some(_) => break,
                None => group = Some(ones),
            }
        } else if let Some(tens) = position(TENS) {
            match group {
                Some(g) if g % 100 == 0 && g > 0 => group = Some(g + (tens + 2) * 10),
                Some(_) => break,
                None => group = Some((tens + 2) * 10),
            }
        } else if let Some((_, scale)) = SCALES.iter().find(|(name, _)| name == word) {
            let scaled = group.unwrap_or(1).checked_mul(*scale)?;
            if *scale == 100 {
                group = Some(scaled);
            } else {
                total = total.checked_add(scaled)?;
                group = None;
            }
        } else if *word == "and" && taken > 0 && follows_and(group, words.get(taken + 1)) {
            // "two hundred and five"
        } else {
            break;
        }
        taken += 1;
    }
    (taken > 0).then(|| (total + group.unwrap_or(0), taken))
}

fn follows_and(group: Option<u64>, next: Option<&&str>) -> bool {
    group.is_some_and(|g| g > 0 && g % 100 == 0)
        && next.is_some_and(|next| ONES.contains(next) || TENS.contains(next))
}

/// A numeral in a run of Chinese: characters from, characters to, value, and whether it counts something.
pub struct HanNumeral {
    pub start: usize,
    pub end: usize,
    pub value: String,
    pub counts: bool,
}

/// The numerals of a run (given as characters), with digits' multipliers (`3` followed by 万) left out.
pub fn han_numerals(run: &[char]) -> Vec<HanNumeral> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < run.len() {
        let length = run[at..].iter().take_while(|c| numeral(**c).is_some()).count();
        if length == 0 {
            at += 1;
            continue;
        }
        let end = at + length;
        let next = run.get(end).copied();
        let ordinal = at > 0 && run[at - 1] == '第';
        let fraction = at >= 2 && run[at - 2..at] == ['分', '之'];
        let counts = ordinal || fraction || next.is_some_and(|c| MEASURES.contains(c));
        // 百分之: 百 is no number, nor is a 万 in 万一 or a 千 in 千万要.
        let idiom = run[at..].starts_with(&['百', '分', '之'])
            || matches!(run[at..end], ['万', '一'] | ['千', '万'] | ['十', '万'] if !counts);
        if let Some(value) = han_value(&run[at..end]).filter(|_| !idiom) {
            // 十分 is "very", 一点 "a bit", 一次 and 一个 mostly articles.
            let counts = counts && !matches!((&run[at..end], next), (['十'], Some('分')));
            found.push(HanNumeral { start: at, end, value: value.to_string(), counts });
        }
        at = end;
    }
    found
}

fn numeral(c: char) -> Option<u64> {
    Some(match c {
        '零' | '〇' => 0,
        '一' | '壹' => 1,
        '二' | '两' | '贰' => 2,
        '三' | '叁' => 3,
        '四' => 4,
        '五' => 5,
        '六' => 6,
        '七' => 7,
        '八' => 8,
        '九' => 9,
        '十' => 10,
        '百' => 100,
        '千' => 1000,
        '万' => 10_000,
        '亿' => 100_000_000,
        _ => return None,
    })
}

fn han_value(numerals: &[char]) -> Option<u64> {
    let values: Vec<u64> = numerals.iter().filter_map(|c| numeral(*c)).collect();
    if values.len() > 1 && values.iter().all(|v| *v < 10) {
        // Digits one by one, as in 二〇二四.
        return values.iter().try_fold(0u64, |sum, v| sum.checked_mul(10)?.checked_add(*v));
    }
    let (mut total, mut group, mut digit) = (0u64, 0u64, None::<u64>);
    for value in values {
        match value {
            0..10 => digit = Some(value),
            10..10_000 => {
                group += digit.take().unwrap_or(1) * value;
            }
            _ => {
                let whole = group + digit.take().unwrap_or(u64::from(group == 0));
                total = total.checked_add(whole.checked_mul(value)?)?;
                group = 0;
            }
        }
    }
    Some(total + group + digit.unwrap_or(0))
}

/// What a word after a number multiplies it by (`3 million`).
pub fn english_scale(word: &str) -> Option<u64> {
    SCALES.iter().find(|(name, _)| *name == word).map(|(_, scale)| *scale)
}

/// What a character after digits multiplies them by (`3` 万).
pub fn han_scale(c: char) -> Option<u64> {
    numeral(c).filter(|scale| *scale >= 100)
}
