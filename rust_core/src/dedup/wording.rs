//! Whether two texts say the same in the same words: in the same order, but for words that carry nothing,
//! words that mean the same, and a condition that changed sides. Facts alone do not tell a restriction ("no
//! water", "no hot water") nor who does what to whom; the words left over and their order do.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::negation;
use super::numbers;
use super::substitution::SAME;
use super::words::{Text, Token, is_han, stem};

/// Words without which a sentence says the same.
const SILENT: &[&str] = &[
    "a",
    "an",
    "the",
    "is",
    "are",
    "was",
    "were",
    "be",
    "been",
    "being",
    "am",
    "s",
    "has",
    "have",
    "had",
    "ve",
    "do",
    "does",
    "did",
    "that",
    "there",
    "of",
    "just",
    "exactly",
    "really",
    "very",
    "quite",
    "also",
    "please",
    "simply",
    "indeed",
    "ever",
    "m",
    "re",
    "its",
    "which",
    "absolutely",
    "so",
    "too",
    "actually",
    "it",
    "this",
    "these",
    "those",
    "one",
];
/// Words that open a condition or a circumstance, which may stand first or last.
const MOVABLE: &[&str] = &[
    "when", "because", "before", "after", "unless", "until", "while", "since", "on", "in", "at", "for", "to",
    "with", "during", "under",
];
const ALIASES: &[(&str, &str)] = &[
    ("whenever", "when"),
    ("if", "when"),
    ("once", "when"),
    ("could", "can"),
    ("wo", "will"),
    ("upon", "on"),
    ("inside", "in"),
    ("grey", "gray"),
    ("ca", "can"), // of can't
];

/// Chinese phrases that mean the same, longest first where one holds another; "" says nothing.
const PHRASES: &[(&str, &str)] = &[
    ("的时候", "时"),
    ("为什么", "为何"),
    ("为啥", "为何"),
    ("怎么样才", "如何"),
    ("怎样才", "如何"),
    ("怎么才", "如何"),
    ("怎么样", "如何"),
    ("怎样", "如何"),
    ("怎么", "如何"),
    ("咋样", "如何"),
    ("咋", "如何"),
    ("什么时候", "何时"),
    ("啥时候", "何时"),
    ("多长时间", "多久"),
    ("无法", "不能"),
    ("没法", "不能"),
    ("没有", "没"),
    ("能够", "能"),
    ("可以", "能"),
    ("请勿", "不要"),
    ("切勿", "不要"),
    ("禁止", "不要"),
    ("之前", "前"),
    ("以前", "前"),
    ("之后", "后"),
    ("以后", "后"),
    ("的话", ""),
    ("需要", "要"),
    ("应该", "应"),
    ("应当", "应"),
    ("必须", "须"),
    ("首先", "先"),
    ("如果", "当"),
    ("假如", "当"),
    ("若", "当"),
    ("因为", "由于"),
    ("重新启动", "重启"),
    ("移除", "删除"),
    ("删掉", "删除"),
    ("采用", "使用"),
    ("更改", "修改"),
    ("检查", "查看"),
    ("核对", "查看"),
    ("目前", "现在"),
    ("但是", "但"),
    ("不过", "但"),
    ("登陆", "登录"),
    ("报错", "错误"),
    ("故障", "问题"),
    ("执行", "运行"),
    ("获取", "拿到"),
    ("文件夹", "目录"),
    ("保存", "存储"),
    ("客户", "用户"),
    ("喜爱", "喜欢"),
    ("修复", "解决"),
    ("请", ""),
    ("的", ""),
    ("地", ""),
    ("呢", ""),
    ("啊", ""),
    ("吧", ""),
    ("呀", ""),
    ("嘛", "吗"),
    ("么", "吗"),
    ("是", ""),
    ("就", ""),
    ("被", ""),
];

/// Of texts this long, so many words in a hundred may be left over: a lesson told twice never comes out the
/// same to the word, and what counts is held by the facts.
const LONG: usize = 30;
const LEFT_OVER_PERCENT: usize = 5;
/// Words that never may be left over: each turns or narrows what stands around it.
const TURNING: &[&str] =
    &["not", "only", "except", "unless", "all", "不", "没", "无", "未", "勿", "别", "非", "仅", "只", "除"];
/// What is left between the common start and end, at most: the comparison is quadratic.
const COMPARED: usize = 2000;

static REPRESENTATIVES: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let mut map = HashMap::new();
    for line in SAME.lines() {
        let mut words = line.split(' ').filter(|word| word.is_ascii()).map(stem);
        let Some(first) = words.next() else { continue };
        for word in words {
            map.entry(word).or_insert_with(|| first.clone());
        }
    }
    map
});

/// Why the words of two texts are not the same: ``wording: hot / none``, ``order``; None when they are.
pub fn differ(a: &Text, b: &Text) -> Option<String> {
    let (x, y) = (units(a), units(b));
    if x == y || turned(&x, &y) {
        return None;
    }
    let common = common(&x, &y)?;
    let longest = x.len().max(y.len());
    let turns = |units: &[String]| units.iter().filter(|unit| TURNING.contains(&unit.as_str())).count();
    if longest >= LONG && (longest - common) * 100 <= longest * LEFT_OVER_PERCENT && turns(&x) == turns(&y) {
        return None;
    }
    Some(reason(&x, &y))
}

/// The words of a text as they are compared; the two around an "and" in one order.
fn units(text: &Text) -> Vec<String> {
    let mut units: Vec<String> = Vec::new();
    for token in &text.tokens {
        match token {
            Token::Han(run) => units.extend(phrased(run).chars().map(String::from)),
            Token::Word(word) if negation::is_negator(&word.lower) => take_negator(&word.lower, &mut units),
            Token::Word(word) => {
                let parts = word.lower.split('\'').filter(|part| !SILENT.contains(part));
                units.extend(
                    parts.flat_map(|part| canonical(part).split(' ').map(str::to_owned).collect::<Vec<_>>()),
                );
            }
            _ => {}
        }
    }
    units.dedup();
    for at in 1..units.len().saturating_sub(1) {
        if matches!(units[at].as_str(), "and" | "or" | "和" | "或") && units[at - 1] > units[at + 1] {
            units.swap(at - 1, at + 1);
        }
    }
    units
}

/// Every way to deny is a "not", with what else the word says: `can't`, `without`, `avoid`.
fn take_negator(lower: &str, units: &mut Vec<String>) {
    units.push("not".to_owned());
    let rest = match lower {
        "not" | "never" | "no" | "dont" | "doesnt" | "didnt" => "",
        "cannot" | "cant" => "can",
        "without" => "with",
        _ => lower.strip_suffix("n't").unwrap_or(lower),
    };
    if !rest.is_empty() && !SILENT.contains(&rest) {
        units.push(canonical(rest));
    }
}

/// One spelling for numbers in words and digits, one word for those that mean the same.
fn canonical(word: &str) -> String {
    if let Some((_, alias)) = ALIASES.iter().find(|(from, _)| *from == word) {
        return (*alias).to_owned();
    }
    if let Some((value, 1)) = numbers::english(&[word]) {
        return value.to_string();
    }
    if let Some(unit) = numbers::unit(word) {
        return unit.to_owned();
    }
    if let Some(number) = numbers::parse(word) {
        return match number.unit {
            Some(unit) => format!("{} {unit}", number.value),
            None => number.value,
        };
    }
    let stem = stem(word);
    REPRESENTATIVES.get(&stem).cloned().unwrap_or(stem)
}

fn phrased(run: &str) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(run);
    for (from, to) in PHRASES {
        if out.contains(from) {
            out = Cow::Owned(out.replace(from, to));
        }
    }
    out
}

/// The start of one text is the end of the other, and what moved is a condition or a circumstance: "on Windows
/// it fails", "it fails on Windows".
fn turned(x: &[String], y: &[String]) -> bool {
    if x.len() != y.len() {
        return false;
    }
    let moves = |part: &[String]| {
        let first = part.first().map_or("", String::as_str);
        MOVABLE.contains(&first)
            || matches!(first, "当" | "由" | "在")
            || part.last().is_some_and(|c| c == "时")
    };
    // Both movable: neither says which of the two the other belongs to.
    (1..x.len()).any(|at| {
        x[at..] == y[..y.len() - at] && x[..at] == y[y.len() - at..] && moves(&x[..at]) != moves(&x[at..])
    })
}

/// Length of the longest common subsequence; None where too much differs to look.
fn common(x: &[String], y: &[String]) -> Option<usize> {
    let before = x.iter().zip(y).take_while(|(a, b)| a == b).count();
    let (x, y) = (&x[before..], &y[before..]);
    let after = x.iter().rev().zip(y.iter().rev()).take_while(|(a, b)| a == b).count();
    let (x, y) = (&x[..x.len() - after], &y[..y.len() - after]);
    if x.len().max(y.len()) > COMPARED {
        return Some(0);
    }
    let mut row = vec![0usize; y.len() + 1];
    for a in x {
        let mut corner = 0;
        for (at, b) in y.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if a == b { corner + 1 } else { above.max(row[at]) };
            corner = above;
        }
    }
    Some(before + after + row[y.len()])
}

fn reason(x: &[String], y: &[String]) -> String {
    let only = |of: &[String], other: &[String]| {
        let mut left: HashMap<&String, usize> = HashMap::new();
        for unit in other {
            *left.entry(unit).or_default() += 1;
        }
        let missing: Vec<&str> = of
            .iter()
            .filter(|unit| match left.get_mut(unit) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    false
                }
                _ => true,
            })
            .map(String::as_str)
            .take(4)
            .collect();
        missing.join(if missing.iter().all(|unit| unit.chars().all(is_han)) { "" } else { " " })
    };
    let (left, right) = (only(x, y), only(y, x));
    let shown = |side: String| if side.is_empty() { "none".to_owned() } else { side };
    if left.is_empty() && right.is_empty() {
        "wording: another order".to_owned()
    } else {
        format!("wording: {} / {}", shown(left), shown(right))
    }
}
