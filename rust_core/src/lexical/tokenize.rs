//! Text to terms. A term is the 64-bit hash of a normalised token, so the index keeps no strings; among ten
//! million terms the chance of any collision is under 1e-5, and its harm one weak false match.
//!
//! - Everything is folded by NFKC and lower-cased: `１２７` is `127`, `ＡＰＩ` is `api`.
//! - Words of scripts with spaces are terms; those of ASCII letters are stemmed as English (Porter2).
//! - `0.0.0.0`, `mysql-8.0.30`, `foo_bar`, `std::vec`, `v1.2.3-rc1` are a term whole, and in each of their
//!   parts; so are `getUserName` and `mysql8`.
//! - Scripts without spaces, and Hangul for its particles, become single characters and pairs of neighbours.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};
use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};
use xxhash_rust::xxh3::xxh3_64;

static ENGLISH: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::new(Algorithm::English));

/// Words that say nothing about what a text is about. `not`, `no`, `on`, `off`, `up`, `down`, `before` and
/// the like are absent on purpose: they tell memories apart.
pub const STOP_WORDS: &[&str] = &[
    "a", "about", "also", "am", "an", "and", "are", "as", "at", "be", "been", "being", "but", "by", "can",
    "could", "did", "do", "does", "doing", "for", "from", "had", "has", "have", "he", "her", "hers", "him",
    "his", "how", "i", "i'd", "i'll", "i'm", "i've", "if", "in", "into", "is", "it", "it's", "its", "just",
    "me", "my", "of", "or", "our", "ours", "she", "should", "so", "some", "such", "than", "that", "that's",
    "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "us", "was", "we",
    "were", "what", "what's", "when", "where", "which", "who", "whom", "why", "will", "with", "would", "you",
    "your", "yours",
];

/// What a token is, which decides its weight in a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A word, an identifier or its part, two neighbouring characters, or one that stands alone.
    Full,
    /// One character of a longer run: weak evidence, kept so that a query of one character finds it.
    Character,
    /// A function word: only searched when a query holds nothing else.
    Stop,
}

/// Calls `emit` for each token of `text` and returns the text's length in words (a character of a script
/// without spaces counts as one; parts count, the whole of an identifier does not).
pub fn tokenize(text: &str, mut emit: impl FnMut(u64, Kind)) -> u32 {
    let folded: Cow<str> = if text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfkc().collect())
    };
    let mut scanner = Scanner { emit: &mut emit, length: 0, buffer: String::new() };
    scanner.scan(&folded);
    scanner.length
}

struct Scanner<'a, F: FnMut(u64, Kind)> {
    emit: &'a mut F,
    length: u32,
    buffer: String,
}

impl<F: FnMut(u64, Kind)> Scanner<'_, F> {
    fn scan(&mut self, text: &str) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let end = if is_unspaced(c) {
                let end = rest.find(|c| !is_unspaced(c)).unwrap_or(rest.len());
                self.run(&rest[..end]);
                end
            } else if is_word(c) {
                let end = compound_end(rest);
                self.compound(&rest[..end], 0);
                self.sharp_name(&rest[..end], &rest[end..]);
                end
            } else {
                if is_pictograph(c) {
                    self.length += 1;
                    self.token(&rest[..c.len_utf8()], Kind::Full);
                }
                c.len_utf8()
            };
            rest = &rest[end..];
        }
    }

    /// Characters and pairs of a run without spaces.
    fn run(&mut self, run: &str) {
        let mut previous = None;
        let single = run.chars().nth(1).is_none();
        for (at, c) in run.char_indices() {
            let end = at + c.len_utf8();
            let kind = if single { Kind::Full } else { Kind::Character };
            self.token(&run[at..end], kind);
            if let Some(start) = previous {
                self.token(&run[start..end], Kind::Full);
            }
            previous = Some(at);
            self.length += 1;
        }
    }

    /// A token with connectors: whole, then split at the strongest ones, each part treated alike.
    fn compound(&mut self, text: &str, level: usize) {
        const LEVELS: [&[char]; 4] = [&['/', '\\', ':', '@'], &['-'], &['.'], &['_']];
        let Some(level) = (level..LEVELS.len()).find(|&l| text.contains(LEVELS[l])) else {
            return self.word(text);
        };
        self.token(text, Kind::Full);
        if let Some(number) = after_version_letter(text) {
            self.token(number, Kind::Full);
        }
        for part in text.split(LEVELS[level]).filter(|part| !part.is_empty()) {
            self.compound(part, level + 1);
        }
    }

    fn word(&mut self, word: &str) {
        self.length += 1;
        if !word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'\'') {
            self.token(word, Kind::Full);
            if let Some(number) = after_version_letter(word) {
                self.token(number, Kind::Full);
            } else if let Some(at) = letters_then_digits(word) {
                self.english(&word[..at]);
                self.token(&word[at..], Kind::Full);
            }
            return;
        }
        self.english(word);
        let mut start = 0;
        let bytes = word.as_bytes();
        for at in 1..bytes.len() {
            if bytes[at - 1].is_ascii_lowercase() && bytes[at].is_ascii_uppercase() {
                self.english(&word[start..at]);
                start = at;
            }
        }
        if start > 0 {
            self.english(&word[start..]);
        }
    }

    /// `C++`, `C#`, `F#`: the name, whole, beside its letters.
    fn sharp_name(&mut self, name: &str, after: &str) {
        let sign = ["++", "#"].into_iter().find(|sign| after.starts_with(sign));
        if let Some(sign) = sign
            && !after[sign.len()..].starts_with(is_word)
        {
            self.token(&format!("{name}{sign}"), Kind::Full);
        }
    }

    fn english(&mut self, word: &str) {
        self.buffer.clear();
        self.buffer.extend(word.chars().map(|c| c.to_ascii_lowercase()));
        let word = xxh3_64(self.buffer.as_bytes());
        let (term, kind) = cached_stem(word, || {
            let kind = match STOP_WORDS.binary_search(&self.buffer.as_str()) {
                Ok(_) => Kind::Stop,
                Err(_) => Kind::Full,
            };
            (xxh3_64(ENGLISH.stem(&self.buffer).as_bytes()), kind)
        });
        (self.emit)(term, kind);
    }

    fn token(&mut self, text: &str, kind: Kind) {
        self.buffer.clear();
        self.buffer.extend(text.chars().flat_map(char::to_lowercase));
        (self.emit)(xxh3_64(self.buffer.as_bytes()), kind);
    }
}

/// Stemming a word takes longer than all else about it, and words repeat: each thread keeps the last word it
/// saw in each of a few thousand places.
fn cached_stem(word: u64, stem: impl FnOnce() -> (u64, Kind)) -> (u64, Kind) {
    const PLACES: usize = 4096;
    thread_local! {
        static STEMS: RefCell<Vec<(u64, u64, Kind)>> =
            RefCell::new(vec![(0, 0, Kind::Stop); PLACES]);
    }
    STEMS.with_borrow_mut(|stems| {
        let place = &mut stems[word as usize % PLACES];
        if place.0 != word {
            let (term, kind) = stem();
            *place = (word, term, kind);
        }
        (place.1, place.2)
    })
}

/// Where the token that starts `text` ends: word characters, joined by single connectors or `::`.
fn compound_end(text: &str) -> usize {
    let mut end = 0;
    loop {
        end += text[end..].find(|c| !is_word(c)).unwrap_or(text.len() - end);
        let joined = match text[end..].chars().next() {
            Some('\'' | '\u{2019}') => contraction(&text[end..]),
            Some(':') if text[end..].starts_with("::") => Some(2),
            Some('.' | '_' | '-' | '/' | '\\' | ':' | '@') => Some(1),
            _ => None,
        };
        match joined {
            Some(width) if text[end + width..].starts_with(is_word) => end += width,
            _ => return end,
        }
    }
}

/// The width of an apostrophe that starts an English ending (`'s`, `'t`, `'re`, …).
fn contraction(text: &str) -> Option<usize> {
    let apostrophe = text.chars().next()?.len_utf8();
    let after = &text[apostrophe..];
    let ending = &after[..after.find(|c: char| !c.is_alphanumeric()).unwrap_or(after.len())];
    let known = ["s", "t", "re", "ve", "m", "ll", "d"];
    known.iter().any(|k| ending.eq_ignore_ascii_case(k)).then_some(apostrophe)
}

/// `1.2.3` of `v1.2.3`.
fn after_version_letter(text: &str) -> Option<&str> {
    let number = text.strip_prefix(['v', 'V'])?;
    number.starts_with(|c: char| c.is_ascii_digit()).then_some(number)
}

/// Where the digits start in a word that is ASCII letters, two at least, then digits (`mysql8`, `sha256`).
fn letters_then_digits(word: &str) -> Option<usize> {
    let at = word.find(|c: char| c.is_ascii_digit())?;
    let (letters, digits) = word.split_at(at);
    let split = letters.len() > 1
        && letters.bytes().all(|b| b.is_ascii_alphabetic())
        && digits.bytes().all(|b| b.is_ascii_digit());
    split.then_some(at)
}

fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    (c.is_alphanumeric() || is_combining_mark(c)) && !is_unspaced(c)
}

/// Scripts that put no spaces between words, and Hangul.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}'       // Thai, Lao
        | '\u{f40}'..='\u{fbc}'     // Tibetan letters and their signs
        | '\u{1000}'..='\u{109f}'   // Myanmar
        | '\u{1100}'..='\u{11ff}'   // Hangul jamo
        | '\u{1780}'..='\u{17d3}'   // Khmer
        | '\u{3005}'..='\u{3007}'   // 々 〆 〇
        | '\u{3041}'..='\u{30ff}'   // Kana
        | '\u{3105}'..='\u{312f}'   // Bopomofo
        | '\u{31f0}'..='\u{31ff}'   // Kana extensions
        | '\u{3400}'..='\u{4dbf}'   // Han
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}'   // Hangul syllables
        | '\u{f900}'..='\u{faff}'   // Han compatibility
        | '\u{20000}'..='\u{3ffff}' // Han extensions
    ) && c != '\u{30fb}'
}

fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}')
}
