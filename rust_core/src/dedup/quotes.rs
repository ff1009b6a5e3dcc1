//! Quoted strings: the names of buttons, values and works.

use std::collections::BTreeSet;

/// What stands in quotation marks or backticks, lower case. Long passages are no quotes of a name or value.
pub fn quotes(folded: &str) -> BTreeSet<String> {
    const LONGEST: usize = 200;
    let mut found = BTreeSet::new();
    let mut before = ' ';
    let mut at = 0;
    while let Some(c) = folded[at..].chars().next() {
        let start = at + c.len_utf8();
        let close = match c {
            '"' => Some('"'),
            '`' => Some('`'),
            '“' => Some('”'),
            '「' => Some('」'),
            '『' => Some('』'),
            '《' => Some('》'),
            '\'' if !before.is_alphanumeric() => Some('\''),
            _ => None,
        };
        at = start;
        before = c;
        let Some(close) = close else { continue };
        let Some(length) = closing(&folded[start..], close) else { continue };
        let quote =
            folded[start..start + length].trim_matches(|c: char| c.is_whitespace() || ",.。,".contains(c));
        if !quote.is_empty() && quote.chars().count() <= LONGEST {
            found.insert(quote.to_lowercase());
        }
        at = start + length + close.len_utf8();
    }
    found
}

/// Where a quotation ends; an apostrophe ends one only after a word and before none.
fn closing(text: &str, close: char) -> Option<usize> {
    text.match_indices(close)
        .map(|(at, _)| at)
        .find(|&at| close != '\'' || !text[at + 1..].starts_with(char::is_alphanumeric))
}
