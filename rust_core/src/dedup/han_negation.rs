//! Which characters of a run of Chinese deny, without a segmenter: by lists of the words in which they do not.

/// Words with a negating character that deny nothing. Those in `KEPT` start like one and do deny.
const IDIOMS: &[&str] = &[
    "不过",
    "不同",
    "不仅",
    "不但",
    "不只",
    "不光",
    "不单",
    "不管",
    "不论",
    "不断",
    "不错",
    "差不多",
    "不得不",
    "不能不",
    "不会不",
    "不可不",
    "没有不",
    "无不",
    "不少",
    "不久",
    "不妨",
    "不然",
    "不愧",
    "不料",
    "不时",
    "不一会",
    "不止",
    "不外乎",
    "对不起",
    "了不起",
    "忍不住",
    "巴不得",
    "恨不得",
    "不知不觉",
    "不可思议",
    "不得了",
    "不动产",
    "不锈钢",
    "不等式",
    "不由",
    "不禁",
    "不约而同",
    "没收",
    "淹没",
    "出没",
    "没落",
    "埋没",
    "沉没",
    "吞没",
    "没准",
    "没完没了",
    "无论",
    "无非",
    "无疑",
    "无比",
    "无线",
    "无数",
    "无人机",
    "无锡",
    "无聊",
    "无辜",
    "无所谓",
    "无缝",
    "无意中",
    "未来",
    "未免",
    "未婚",
    "未成年",
    "非常",
    "非洲",
    "除非",
    "是非",
    "莫非",
    "非典",
    "南非",
    "北非",
    "西非",
    "非得",
    "非要",
    "非凡",
    "别的",
    "别人",
    "别墅",
    "别名",
    "区别",
    "特别",
    "分别",
    "性别",
    "级别",
    "类别",
    "识别",
    "辨别",
    "判别",
    "告别",
    "个别",
    "鉴别",
    "离别",
    "派别",
    "国别",
    "别致",
    "别处",
    "别扭",
    "别称",
    "差别",
    "甄别",
    "送别",
    "有别",
    "别样",
    "久别",
    "别具",
    "别有",
    "别出",
    "别针",
    "诀别",
    "组别",
    "拜拜别",
];
const KEPT: &[&str] =
    &["不同意", "不同步", "不过期", "不过滤", "不断开", "不断电", "不断线", "不管理", "不时尚"];
const NEGATORS: &[&str] = &[
    "不", "没", "無", "无", "未", "勿", "别", "非", "莫要", "切莫", "禁止", "严禁", "避免", "缺乏", "缺少",
    "难以", "拒绝", "甭",
];
/// Characters that a denial passes over on the way to what it denies.
pub const PASSED: &str = "能会要可以是有再被用使让得该应想需必太很曾在到了过去来法经止免乏少绝";

/// The negator at a character of a run, None when there is none that denies.
pub fn negator_at(chars: &[char], at: usize) -> Option<&'static str> {
    let mut negators = NEGATORS.iter().copied();
    negators.find(|negator| starts_with(&chars[at..], negator) && denies(chars, at, negator))
}

fn starts_with(chars: &[char], word: &str) -> bool {
    let mut chars = chars.iter();
    word.chars().all(|c| chars.next() == Some(&c))
}

/// Whether the negator at `at` denies: no part of a word like 特别, no question like 是不是.
fn denies(chars: &[char], at: usize, negator: &str) -> bool {
    if negator.chars().count() > 1 {
        return true;
    }
    let c = chars[at];
    let within = |words: &[&str]| {
        words.iter().any(|word| {
            word.chars()
                .enumerate()
                .filter(|(_, w)| *w == c)
                .any(|(offset, _)| at >= offset && starts_with(&chars[at - offset..], word))
        })
    };
    if within(KEPT) {
        return true;
    }
    let question =
        matches!(c, '不' | '没') && (asks(chars, at, 1) || asks(chars, at, 2) || ends(chars, at, c));
    !question && !within(IDIOMS)
}

/// 是不是, 喜欢不喜欢: the same on both sides.
fn asks(chars: &[char], at: usize, width: usize) -> bool {
    at >= width && chars.len() > at + width && chars[at - width..at] == chars[at + 1..=at + width]
}

/// 来了没, 吃饭没有, 可以用不: a question by its last character.
fn ends(chars: &[char], at: usize, c: char) -> bool {
    let last = match chars.get(at + 1..) {
        Some([] | ['呢' | '啊' | '呀']) => true,
        Some(['有']) => c == '没',
        _ => false,
    };
    last && at > 1 && !"绝并决从毫说".contains(chars[at - 1])
}
