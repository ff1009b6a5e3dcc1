//! A text as the second gate reads it: words, runs of Chinese, and where clauses end.

use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

static ENGLISH: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::new(Algorithm::English));

/// A text folded by NFKC, so that full-width forms equal ASCII, with straight apostrophes.
pub struct Text {
    pub folded: String,
    pub lower: String,
    pub tokens: Vec<Token>,
}

pub enum Token {
    Word(Word),
    /// A run of Han or Kana.
    Han(String),
    /// The end of a clause (comma, bracket, colon).
    Clause,
    /// The end of a sentence or a line.
    Sentence,
}

/// A word, or words joined by connectors (`foo_bar`, `10.0.0.1:80`), with the sign that belongs to it
/// (`--force`, `-5`, `$HOME`, `50%`, `C++`).
pub struct Word {
    pub text: String,
    pub lower: String,
    /// The English stem, of plain words; else `lower`.
    pub stem: String,
    /// First of its sentence, where a capital says nothing.
    pub initial: bool,
}

impl Text {
    pub fn new(text: &str) -> Self {
        let straight = |c| if matches!(c, '\u{2018}' | '\u{2019}') { '\'' } else { c };
        let folded: String = text.nfkc().map(straight).collect();
        let lower = folded.to_lowercase();
        let tokens = split(&folded);
        Self { folded, lower, tokens }
    }

    pub fn words(&self) -> impl Iterator<Item = &Word> {
        self.tokens.iter().filter_map(Token::word)
    }

    pub fn has_han(&self) -> bool {
        self.tokens.iter().any(|token| matches!(token, Token::Han(_)))
    }
}

impl Token {
    pub fn word(&self) -> Option<&Word> {
        match self {
            Self::Word(word) => Some(word),
            _ => None,
        }
    }

    pub fn han(&self) -> Option<&str> {
        match self {
            Self::Han(run) => Some(run),
            _ => None,
        }
    }
}

impl Word {
    fn new(text: &str, initial: bool) -> Self {
        let lower = text.to_lowercase();
        Self { text: text.to_owned(), stem: stem(&lower), lower, initial }
    }
}

/// The English stem of a plain lower-case word; other words as they are.
pub fn stem(lower: &str) -> String {
    if lower.bytes().all(|b| b.is_ascii_lowercase() || b == b'\'') {
        ENGLISH.stem(lower).into_owned()
    } else {
        lower.to_owned()
    }
}

fn split(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut initial = true;
    let mut before = ' ';
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let width = if is_han(c) {
            let end = rest.find(|c| !is_han(c)).unwrap_or(rest.len());
            tokens.push(Token::Han(rest[..end].to_owned()));
            initial = false;
            end
        } else if let Some(end) = word_end(rest, before) {
            tokens.push(Token::Word(Word::new(&rest[..end], initial)));
            initial = false;
            end
        } else {
            match c {
                '.' | '!' | '?' | '。' | '\n' | '\r' | '…' => {
                    tokens.push(Token::Sentence);
                    initial = true;
                }
                ',' | ';' | ':' | '(' | ')' | '[' | ']' | '{' | '}' | '、' => tokens.push(Token::Clause),
                _ => {}
            }
            c.len_utf8()
        };
        before = text[..at + width].chars().next_back().unwrap_or(' ');
        at += width;
    }
    tokens
}

/// Where the word ends that starts `text`, None when none starts.
fn word_end(text: &str, before: char) -> Option<usize> {
    let mut end = 0;
    if !before.is_alphanumeric() {
        let signs = text.find(|c| !matches!(c, '-' | '$' | '/' | '.')).unwrap_or(text.len());
        if matches!(&text[..signs], "-" | "--" | "$" | "/" | "." | "./" | "../") {
            end = signs;
        }
    }
    if !text[end..].starts_with(is_word) {
        return None;
    }
    loop {
        end += text[end..].find(|c| !is_word(c)).unwrap_or(text.len() - end);
        let rest = &text[end..];
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let joined = match rest.chars().next() {
            Some(':') if rest.starts_with("::") => 2,
            Some('.' | '_' | '-' | '/' | '\\' | ':' | '@' | '\'' | '=') => 1,
            Some(',') if text[..end].ends_with(|c: char| c.is_ascii_digit()) && digits(&rest[1..]) == 3 => 1,
            _ => 0,
        };
        if joined == 0 || !rest[joined..].starts_with(is_word) {
            break;
        }
        end += joined;
    }
    let tail = ["%", "++", "#"].into_iter().find(|tail| text[end..].starts_with(tail));
    Some(end + tail.map_or(0, str::len))
}

fn is_word(c: char) -> bool {
    (c.is_alphanumeric() || c == '_' || is_combining_mark(c)) && !is_han(c)
}

pub fn is_han(c: char) -> bool {
    matches!(c,
        '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}
