//! Order of version texts such as `8.0`, `v1.10.2`, `3.11-rc1`.

use std::cmp::Ordering;

/// A text taken apart: numbers, then what follows them.
#[derive(Debug, PartialEq, Eq)]
struct Version<'a> {
    numbers: Vec<&'a str>,
    stage: i8,
    suffix: Vec<&'a str>,
}

/// Words that mark something before the release, in their order; any other suffix ranks with the release.
const BEFORE: [(&str, i8); 14] = [
    ("dev", -7),
    ("snapshot", -6),
    ("nightly", -6),
    ("canary", -6),
    ("a", -5),
    ("alpha", -5),
    ("b", -4),
    ("beta", -4),
    ("m", -3),
    ("milestone", -3),
    ("pre", -2),
    ("preview", -2),
    ("rc", -1),
    ("c", -1),
];

/// Compares two texts as versions; None when one of them does not look like a version.
///
/// `8.0` equals `8.0.0`; `3.11-rc1` comes before `3.11`; what follows a `+` does not count (as in semver.org,
/// rule 10); `1.1.1b`, a lone letter after a number, comes after `1.1.1`.
pub fn compare(a: &str, b: &str) -> Option<Ordering> {
    Some(order(&parse(a)?, &parse(b)?))
}

fn parse(text: &str) -> Option<Version<'_>> {
    let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let text = text.split_once('+').map_or(text, |(version, _build)| version);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (head, rest) = text.split_at(end);
    // "8.0.rc1": the dot before a word separates, it does not end a number
    let head = if rest.is_empty() { head } else { head.strip_suffix('.').unwrap_or(head) };
    let mut numbers: Vec<&str> = head.split('.').collect();
    if numbers.iter().any(|number| number.is_empty()) {
        return None;
    }
    for number in &mut numbers {
        *number = number.trim_start_matches('0');
    }
    while numbers.last().is_some_and(|number| number.is_empty()) {
        numbers.pop();
    }
    let (stage, suffix) = parse_suffix(rest)?;
    Some(Version { numbers, stage, suffix })
}

/// The rank against the release and the parts of what follows the numbers; None when it is no version suffix.
fn parse_suffix(rest: &str) -> Option<(i8, Vec<&str>)> {
    if rest.is_empty() {
        return Some((0, Vec::new()));
    }
    let glued = rest.starts_with(|c: char| c.is_ascii_alphabetic());
    let rest = rest.strip_prefix(['-', '_']).unwrap_or(rest);
    // a date such as 2024-01-05 has digits here and is no version
    if !rest.starts_with(|c: char| c.is_ascii_alphabetic())
        || !rest.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
    {
        return None;
    }
    let parts = runs(rest);
    let word = parts[0].to_ascii_lowercase();
    let letter_release = glued && parts.len() == 1 && word.len() == 1;
    let stage =
        BEFORE.iter().find(|(name, _)| *name == word && !letter_release).map_or(0, |(_, stage)| *stage);
    Some((stage, parts))
}

/// `rc10.fix2` → rc, 10, fix, 2
fn runs(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for piece in text.split(['.', '-', '_']).filter(|piece| !piece.is_empty()) {
        let mut start = 0;
        let bytes = piece.as_bytes();
        for i in 1..=bytes.len() {
            if i == bytes.len() || bytes[i].is_ascii_digit() != bytes[start].is_ascii_digit() {
                parts.push(&piece[start..i]);
                start = i;
            }
        }
    }
    parts
}

fn order(a: &Version, b: &Version) -> Ordering {
    for i in 0..a.numbers.len().max(b.numbers.len()) {
        let left = a.numbers.get(i).copied().unwrap_or("");
        let right = b.numbers.get(i).copied().unwrap_or("");
        match number_order(left, right) {
            Ordering::Equal => {}
            other => return other,
        }
    }
    a.stage.cmp(&b.stage).then_with(|| {
        // within one stage the word is a mere spelling (`rc`, `c`), its numbers count
        let skip = usize::from(a.stage < 0);
        let (left, right) = (&a.suffix[skip..], &b.suffix[skip..]);
        for (x, y) in left.iter().zip(right) {
            match part_order(x, y) {
                Ordering::Equal => {}
                other => return other,
            }
        }
        left.len().cmp(&right.len())
    })
}

/// Numbers of any length, as digits without leading zeros.
fn number_order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

fn part_order(a: &str, b: &str) -> Ordering {
    match (a.as_bytes()[0].is_ascii_digit(), b.as_bytes()[0].is_ascii_digit()) {
        (true, true) => number_order(a.trim_start_matches('0'), b.trim_start_matches('0')),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_order_by_number_and_stage() {
        let rising = [
            "0",
            "1.0.dev1",
            "1.0-alpha",
            "1.0a1",
            "1.0-beta.2",
            "1.0-beta.11",
            "1.0rc1",
            "1.0-rc2",
            "1.0",
            "1.0.1",
            "1.1.1",
            "1.1.1a",
            "1.1.1b",
            "v1.9",
            "V1.10.2",
            "2",
            "8.0.4",
            "8.0.30",
            "8.0.30-log",
            "9",
            "10.0",
            "99999999999999999999999",
            "100000000000000000000000",
        ];
        for (i, a) in rising.iter().enumerate() {
            for (j, b) in rising.iter().enumerate() {
                assert_eq!(compare(a, b), Some(i.cmp(&j)), "{a} against {b}");
            }
        }
    }

    #[test]
    fn trailing_zeros_and_builds_do_not_count() {
        for (a, b) in [
            ("8", "8.0"),
            ("8.0", "8.0.0"),
            ("v1.2", "1.2"),
            ("1.2+abc", "1.2+def"),
            ("1.02", "1.2"),
            ("1rc1", "1-c1"),
        ] {
            assert_eq!(compare(a, b), Some(Ordering::Equal), "{a} against {b}");
        }
    }

    #[test]
    fn other_texts_are_no_versions() {
        for text in [
            "",
            "v",
            "abc",
            "2024-01-05",
            "1..2",
            "1.",
            ".5",
            "8.0 or 9",
            "版本8",
            "8.0版",
            "-1",
            "1.0-",
            "１.２",
        ] {
            assert_eq!(compare(text, "1.0"), None, "{text}");
        }
    }
}
