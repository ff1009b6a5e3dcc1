//! The second gate of duplicate detection. Vectors of contradictions are nearer than those of paraphrases, so
//! a merge also needs the same hard facts on both sides. Unsure means "differ": two memories that say the
//! same cost a place in an answer, two merged that do not cost the truth of one.

mod ends;
mod facts;
mod han_negation;
mod negation;
mod numbers;
mod opposites;
mod quotes;
mod substitution;
#[cfg(test)]
mod tests;
mod wording;
mod words;

use std::collections::BTreeSet;

use facts::Facts;
use words::Text;

/// Why two texts must not be merged however near their vectors are; None when nothing forbids it.
///
/// Compared: numbers with their units, versions, addresses; dates; identifiers, code and (in Chinese text)
/// foreign words; quoted strings; negations and what they negate; opposite words; names; the ends of a
/// direction or a comparison; a single word exchanged. English and Chinese; other languages are held to the parts that need no words.
/// The reason is short: ``numbers: 8.0 / 5.7``, ``negation: not``, ``opposites: enable / disable``.
pub fn facts_differ(a: &str, b: &str) -> Option<String> {
    if a == b {
        return None;
    }
    facts_of_texts_differ(&Text::new(a), &Text::new(b))
}

fn facts_of_texts_differ(a: &Text, b: &Text) -> Option<String> {
    let (fa, fb) = (Facts::of(a), Facts::of(b));
    numbers_differ(&fa, &fb)
        .or_else(|| units_differ(&fa, &fb))
        .or_else(|| sets_differ("dates", &fa.dates, &fb.dates, |_, _| false))
        .or_else(|| identifiers_differ(&fa, &fb))
        .or_else(|| quotes_differ(a, b, &fa, &fb))
        .or_else(|| negation::differ(a, b))
        .or_else(|| opposites::differ(a, b))
        .or_else(|| names_differ(&fa, &fb))
        .or_else(|| ends::differ(a, b, &fa, &fb))
        .or_else(|| substitution::differ(a, b))
}

/// Why two texts are not one statement; None when a writer who says the one after the other says nothing new.
///
/// As `facts_differ`, and the wording too: the same words in the same order, but for words that carry nothing
/// (articles, 的), words that mean the same (restart, reboot), and a condition that stands first or last. In
/// texts of 30 words and more one in twenty may be left over. Reasons as ``wording: hot / none``.
pub fn statements_differ(a: &str, b: &str) -> Option<String> {
    if a == b {
        return None;
    }
    let (x, y) = (Text::new(a), Text::new(b));
    wording::differ(&x, &y).or_else(|| facts_of_texts_differ(&x, &y))
}

fn numbers_differ(a: &Facts, b: &Facts) -> Option<String> {
    let values = |facts: &Facts| facts.numbers.iter().map(|n| n.value.clone()).collect();
    let (left, right): (BTreeSet<String>, BTreeSet<String>) = (values(a), values(b));
    let said = |value: &str, of_a: bool| {
        let other = if of_a { b } else { a };
        other.loose_numbers.contains(value)
    };
    sets_differ("numbers", &left, &right, said)
}

/// `30 ms` and `30 s`: the same number of something else.
fn units_differ(a: &Facts, b: &Facts) -> Option<String> {
    let units = |facts: &Facts, value: &str| -> BTreeSet<&'static str> {
        let same = facts.numbers.iter().filter(|n| n.value == value);
        same.filter_map(|n| n.unit).collect()
    };
    a.numbers.iter().find_map(|number| {
        let (left, right) = (units(a, &number.value), units(b, &number.value));
        let differ = !left.is_empty() && !right.is_empty() && left.is_disjoint(&right);
        differ.then(|| {
            let (left, right) = (left.first()?, right.first()?);
            Some(format!("units: {0} {left} / {0} {right}", number.value))
        })?
    })
}

fn identifiers_differ(a: &Facts, b: &Facts) -> Option<String> {
    let said = |name: &str, of_a: bool| {
        let other = if of_a { b } else { a };
        let mut parts = facts::parts(name).peekable();
        other.vocabulary.contains(name)
            || parts.peek().is_some() && parts.all(|part| other.vocabulary.contains(part))
    };
    sets_differ("identifiers", &a.identifiers, &b.identifiers, said)
}

fn quotes_differ(a: &Text, b: &Text, fa: &Facts, fb: &Facts) -> Option<String> {
    let said = |quote: &str, of_a: bool| if of_a { b } else { a }.lower.contains(quote);
    sets_differ("quotes", &fa.quotes, &fb.quotes, said)
}

/// A name on one side only may be left out by a shorter telling; one on each side is another subject.
fn names_differ(a: &Facts, b: &Facts) -> Option<String> {
    let only = |of: &Facts, other: &Facts| -> Option<String> {
        let mut names = of.names.iter();
        names.find(|name| !other.vocabulary.contains(*name)).cloned()
    };
    Some(format!("names: {} / {}", only(a, b)?, only(b, a)?))
}

/// Compares two sets; `said` tells whether the other side says an element in another way (`true`: of a).
fn sets_differ(
    kind: &str,
    a: &BTreeSet<String>,
    b: &BTreeSet<String>,
    said: impl Fn(&str, bool) -> bool,
) -> Option<String> {
    let only = |of: &BTreeSet<String>, other: &BTreeSet<String>, of_a: bool| {
        let missing: Vec<&str> =
            of.iter().map(String::as_str).filter(|x| !other.contains(*x) && !said(x, of_a)).take(3).collect();
        missing.join(", ")
    };
    let (left, right) = (only(a, b, true), only(b, a, false));
    if left.is_empty() && right.is_empty() {
        return None;
    }
    let shown = |side: String| if side.is_empty() { "none".to_owned() } else { side };
    Some(format!("{kind}: {} / {}", shown(left), shown(right)))
}
