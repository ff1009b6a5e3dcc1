//! Who denies what. Both texts must deny something or neither. Where both do, paraphrases deny by other words
//! ("not a good idea", "I don't think it's good"), but never each what the other affirms ("use tabs, not
//! spaces", "use spaces, not tabs").

use std::collections::HashMap;

use super::han_negation;
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

/// Words at which a denial ends.
const ENDS: &[&str] = &[
    "but", "and", "while", "whereas", "although", "though", "because", "so", "if", "when", "unless", "until",
    "instead", "only", "since", "which", "who",
];

const PREFIXES: &[&str] = &["un", "in", "im", "ir", "il", "dis", "non", "mis"];

#[derive(Default)]
struct Denials {
    /// How the first plain denial reads.
    said: Option<String>,
    /// "instead of" and words like "unsupported": they deny a word, not the statement.
    soft: bool,
    /// What is denied (a stem, or two characters), and how often.
    denied: HashMap<String, usize>,
}

/// Whether a lower-case English word denies what follows it.
pub fn is_negator(lower: &str) -> bool {
    lower.ends_with("n't") || NEGATORS.contains(&lower)
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
    let left = da.contradicted(a, &counts_a, &db, b, &counts_b);
    let right = db.contradicted(b, &counts_b, &da, a, &counts_a);
    let both = da.denies() && db.denies();
    let word = if both { left.zip(right).map(|word| word.0) } else { left.or(right) };
    word.map(|word| format!("negation: not {word}"))
}

fn stems(text: &Text) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for word in text.words() {
        *counts.entry(word.stem.clone()).or_default() += 1;
    }
    counts
}

impl Denials {
    fn denies(&self) -> bool {
        self.soft || self.said.is_some()
    }

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
        if !replaced && !paired && !is_negator(lower) {
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

    /// Denies the words that matter, up to the end of the clause.
    fn deny_next(&mut self, rest: &[Token]) {
        for token in rest {
            match token {
                Token::Word(word) if ENDS.contains(&word.lower.as_str()) => return,
                Token::Word(word) if PASSED.contains(&word.lower.as_str()) => {}
                Token::Word(word) => self.deny(word.stem.clone()),
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
            let Some(negator) = han_negation::negator_at(&chars, from) else {
                from += 1;
                continue;
            };
            self.said.get_or_insert_with(|| negator.to_owned());
            from += negator.chars().count();
            self.deny_han(&chars[from..], &text.tokens[at + 1..]);
        }
    }

    /// Denies the pairs among the next characters that matter, and the word after the run.
    fn deny_han(&mut self, after: &[char], rest: &[Token]) {
        const REACH: usize = 6;
        let passed = after.iter().take_while(|c| han_negation::PASSED.contains(**c)).count();
        let denied = &after[passed..after.len().min(passed + REACH)];
        for pair in denied.windows(2) {
            self.deny(pair.iter().collect());
        }
        if after.len() <= passed + REACH
            && let Some(word) = rest.first().and_then(Token::word)
        {
            self.deny(word.stem.clone());
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
