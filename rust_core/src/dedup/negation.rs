//! Who denies what. Both texts must deny something or neither, and no word that one denies may be affirmed by
//! the other ("use tabs, not spaces" against "use spaces, not tabs").

use std::collections::HashMap;

use super::words::{Text, Token, Word, stem};

const NEGATORS: &[&str] = &[
    "not",
    "no",
    "never",
    "without",
    "cannot",
    "none",
    "nothing",
    "nobody",
    "nowhere",
    "neither",
    "nor",
    "dont",
    "doesnt",
    "didnt",
    "isnt",
    "arent",
    "wasnt",
    "werent",
    "cant",
    "wont",
    "shouldnt",
    "couldnt",
    "wouldnt",
    "hasnt",
    "havent",
    "unable",
    "avoid",
    "avoids",
    "avoided",
    "avoiding",
    "refuse",
    "refuses",
    "refused",
    "lack",
    "lacks",
    "lacked",
    "lacking",
    "hardly",
    "barely",
    "rarely",
    "seldom",
    "forbidden",
    "prohibited",
    "ain't",
];

/// Negators with the word that must follow.
const PAIRS: &[(&str, &str)] = &[
    ("fail", "to"),
    ("fails", "to"),
    ("failed", "to"),
    ("failing", "to"),
    ("stop", "*ing"),
    ("stops", "*ing"),
    ("stopped", "*ing"),
    ("quit", "*ing"),
];

/// What looks like a denial and is none: (word before, negator, word after); "" = any.
const IDIOMS: &[(&str, &str, &str)] = &[
    ("", "not", "only"),
    ("", "not", "just"),
    ("", "not", "to mention"),
    ("or", "not", ""),
    ("why", "not", ""),
    ("", "no", "matter"),
    ("", "no", "doubt"),
    ("", "nothing", "but"),
    ("", "no", "problem"),
];

/// Words that a denial passes over on the way to what it denies.
const PASSED: &[&str] = &[
    "a", "an", "the", "be", "been", "being", "is", "are", "was", "were", "do", "does", "did", "to", "any",
    "ever", "always", "really", "yet", "use", "using", "used", "uses", "have", "has", "had", "get", "got",
    "make", "made", "want", "need", "longer", "more", "very", "so", "too", "it", "its", "this", "that", "my",
    "your", "our", "their", "his", "her", "will", "can", "should", "of", "in", "on", "for", "with", "at",
    "by", "and", "or", "also",
];

const PREFIXES: &[&str] = &["un", "in", "im", "ir", "il", "dis", "non", "mis"];

/// Words with a negating character that deny nothing. Those in `KEPT` start like one and do deny.
const HAN_IDIOMS: &[&str] = &[
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
const HAN_NEGATORS: &[&str] = &[
    "不", "没", "無", "无", "未", "勿", "别", "非", "莫要", "切莫", "禁止", "严禁", "避免", "缺乏", "缺少",
    "难以", "拒绝", "甭",
];
const HAN_PASSED: &str = "能会要可以是有再被用使让得该应想需必太很曾在到了过去来法经止免乏少绝";

#[derive(Default)]
struct Denials {
    /// How the first plain denial reads.
    said: Option<String>,
    /// "instead of" and words like "unsupported": they deny a word, not the statement.
    soft: bool,
    /// What is denied (a stem, or two characters), and how often.
    denied: HashMap<String, usize>,
}

pub fn differ(a: &Text, b: &Text) -> Option<String> {
    let (counts_a, counts_b) = (stems(a), stems(b));
    let (mut da, mut db) = (Denials::of(a), Denials::of(b));
    da.add_prefixed(&counts_a, &counts_b);
    db.add_prefixed(&counts_b, &counts_a);
    match (&da.said, &db.said) {
        (Some(said), None) if !db.soft => return Some(format!("negation: {said}")),
        (None, Some(said)) if !da.soft => return Some(format!("negation: {said}")),
        _ => {}
    }
    da.contradicted(a, &counts_a, &db, b, &counts_b)
        .or_else(|| db.contradicted(b, &counts_b, &da, a, &counts_a))
        .map(|word| format!("negation: not {word}"))
}

fn stems(text: &Text) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for word in text.words() {
        *counts.entry(word.stem.clone()).or_default() += 1;
    }
    counts
}

impl Denials {
    fn of(text: &Text) -> Self {
        let mut denials = Self::default();
        for at in 0..text.tokens.len() {
            match &text.tokens[at] {
                Token::Word(word) => denials.take_word(word, text, at),
                Token::Han(run) => denials.take_han(run, text, at),
                _ => {}
            }
        }
        denials
    }

    fn take_word(&mut self, word: &Word, text: &Text, at: usize) {
        let next = text.tokens.get(at + 1).and_then(Token::word).map_or("", |w| w.lower.as_str());
        let before = at.checked_sub(1).and_then(|i| text.tokens[i].word()).map_or("", |w| w.lower.as_str());
        let lower = word.lower.as_str();
        let replaced = matches!((lower, next), ("instead", "of") | ("rather", "than"));
        let paired = PAIRS.iter().any(|(negator, follows)| {
            *negator == lower && (*follows == next || *follows == "*ing" && next.ends_with("ing"))
        });
        if !replaced && !paired && !lower.ends_with("n't") && !NEGATORS.contains(&lower) {
            return;
        }
        let after = text.tokens.get(at + 2).and_then(Token::word).map_or("", |w| w.lower.as_str());
        let two = format!("{next} {after}");
        let idiom = IDIOMS.iter().any(|(left, negator, right)| {
            *negator == lower
                && (left.is_empty() || *left == before)
                && (right.is_empty() || *right == next || *right == two)
        });
        // "No, it works." and "No. 5"
        let answer = lower == "no" && !matches!(text.tokens.get(at + 1), Some(Token::Word(_)));
        if idiom || answer {
            return;
        }
        let skip = usize::from(replaced || paired && next == "to");
        if replaced {
            self.soft = true;
        } else {
            self.said.get_or_insert_with(|| lower.to_owned());
        }
        self.deny_next(&text.tokens[at + 1 + skip..]);
    }

    /// Denies the first word that matters, up to the end of the clause.
    fn deny_next(&mut self, rest: &[Token]) {
        for token in rest {
            match token {
                Token::Word(word) if PASSED.contains(&word.lower.as_str()) => {}
                Token::Word(word) => return self.deny(word.stem.clone()),
                Token::Han(run) => return self.deny_han(&run.chars().collect::<Vec<_>>(), &[]),
                _ => return,
            }
        }
    }

    fn deny(&mut self, word: String) {
        *self.denied.entry(word).or_default() += 1;
    }

    fn take_han(&mut self, run: &str, text: &Text, at: usize) {
        let chars: Vec<char> = run.chars().collect();
        let mut from = 0;
        while from < chars.len() {
            let negator = HAN_NEGATORS.iter().find(|n| starts_with(&chars[from..], n));
            let Some(negator) = negator.filter(|n| denies(&chars, from, n)) else {
                from += 1;
                continue;
            };
            self.said.get_or_insert_with(|| (*negator).to_owned());
            from += negator.chars().count();
            self.deny_han(&chars[from..], &text.tokens[at + 1..]);
        }
    }

    /// Denies the next two characters that matter, or the word after the run.
    fn deny_han(&mut self, after: &[char], rest: &[Token]) {
        let passed = after.iter().take_while(|c| HAN_PASSED.contains(**c)).count();
        let denied: String = after[passed..].iter().take(2).collect();
        if denied.is_empty() {
            if let Some(word) = rest.first().and_then(Token::word) {
                self.deny(word.stem.clone());
            }
        } else {
            self.deny(denied);
        }
    }

    /// "unsupported" denies "supported" where the other text speaks of that.
    fn add_prefixed(&mut self, own: &HashMap<String, usize>, other: &HashMap<String, usize>) {
        for (word, times) in own {
            let base = PREFIXES.iter().filter_map(|prefix| word.strip_prefix(prefix)).find_map(|base| {
                let base = stem(base.trim_start_matches('-'));
                (base.len() > 3 && other.contains_key(&base) && !other.contains_key(word)).then_some(base)
            });
            if let Some(base) = base {
                self.soft = true;
                *self.denied.entry(base).or_default() += times;
            }
        }
    }

    /// A word that this text only denies and the other only affirms.
    fn contradicted(
        &self,
        text: &Text,
        counts: &HashMap<String, usize>,
        other: &Denials,
        other_text: &Text,
        other_counts: &HashMap<String, usize>,
    ) -> Option<String> {
        let mut found: Vec<&String> = self
            .denied
            .iter()
            .filter(|(word, times)| {
                let affirmed_here = occurrences(word, text, counts) > **times;
                let said_there = occurrences(word, other_text, other_counts) > 0;
                !affirmed_here && said_there && !other.denied.contains_key(*word)
            })
            .map(|(word, _)| word)
            .collect();
        found.sort_unstable();
        found.first().map(|word| (*word).clone())
    }
}

fn occurrences(word: &str, text: &Text, counts: &HashMap<String, usize>) -> usize {
    if word.chars().all(super::words::is_han) {
        text.lower.matches(word).count()
    } else {
        counts.get(word).copied().unwrap_or(0)
    }
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
    !question && !within(HAN_IDIOMS)
}

/// 是不是, 喜欢不喜欢: the same on both sides.
fn asks(chars: &[char], at: usize, width: usize) -> bool {
    at >= width && chars.len() > at + width && chars[at - width..at] == chars[at + 1..=at + width]
}

/// 来了没, 吃饭没有呢.
fn ends(chars: &[char], at: usize, c: char) -> bool {
    c == '没' && matches!(chars.get(at + 1..), Some([] | ['有'] | ['呢' | '啊' | '呀'])) && at > 0
}
