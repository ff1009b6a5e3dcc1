//! The ends of a direction or a comparison.

use super::facts::Facts;
use super::words::{Text, Token};

/// Swapped ends: "from A to B" against "from B to A", "A is faster than B" against the reverse.
pub fn differ(a: &Text, b: &Text, fa: &Facts, fb: &Facts) -> Option<String> {
    const ROLES: &[&str] = &[
        "from", "to", "than", "into", "by", "over", "before", "after", "从", "到", "比", "被", "由", "改用",
        "改成", "改为", "换成", "变成",
    ];
    ROLES.iter().find_map(|role| {
        let (left, right) = (end_of(a, role)?, end_of(b, role)?);
        let known = |facts: &Facts, text: &Text, end: &str| {
            facts.vocabulary.contains(end) || !end.is_ascii() && text.lower.contains(end)
        };
        let swapped = left != right && known(fb, b, &left) && known(fa, a, &right);
        swapped.then(|| format!("ends: {role} {left} / {role} {right}"))
    })
}

/// What follows a role word that occurs once.
fn end_of(text: &Text, role: &str) -> Option<String> {
    const ARTICLES: &[&str] = &["the", "a", "an", "my", "our", "your", "his", "her", "their"];
    let mut ends = Vec::new();
    for (at, token) in text.tokens.iter().enumerate() {
        let mut rest = text.tokens[at + 1..].iter().map_while(Token::word);
        match token {
            Token::Word(word) if word.lower == role => {
                ends.push(rest.find(|w| !ARTICLES.contains(&w.lower.as_str())).map(|w| w.stem.clone()));
            }
            Token::Han(run) => {
                for (found, _) in run.match_indices(role) {
                    let after: String = run[found + role.len()..].chars().take(2).collect();
                    let end =
                        if after.is_empty() { rest.next().map(|w| w.stem.clone()) } else { Some(after) };
                    ends.push(end);
                }
            }
            _ => {}
        }
    }
    match &mut ends[..] {
        [end] => end.take(),
        _ => None,
    }
}
