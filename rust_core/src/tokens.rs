//! Tokens of `o200k_base`, the unit of every `max_tokens`.

use std::sync::LazyLock;

use bpe_openai::appendable_encoder::AppendableEncoder;
use bpe_openai::{Tokenizer, o200k_base};

/// Length in bytes of the longest token of the vocabulary.
static LONGEST_TOKEN: LazyLock<usize> = LazyLock::new(|| {
    let bpe = &tokenizer().bpe;
    let ids = 0..bpe.num_tokens() as u32;
    ids.map(|id| bpe.token_len(id)).max().unwrap_or(1)
});

fn tokenizer() -> &'static Tokenizer {
    o200k_base()
}

/// Tokens of `text`; 0 only for the empty text.
pub fn count(text: &str) -> usize {
    tokenizer().count(text)
}

/// The longest prefix of `text` with at most `max_tokens` tokens, cut at a char boundary.
///
/// `count(truncate(t, n)) <= n` holds for every text. The cost is linear in the bytes kept.
pub fn truncate(text: &str, max_tokens: usize) -> &str {
    // A token is at least one byte.
    if text.len() <= max_tokens {
        return text;
    }
    let tokenizer = tokenizer();
    let (mut start, mut used) = (0, 0);
    let mut before = (0, 0);
    for piece in tokenizer.split(text) {
        let room = max_tokens - used;
        match tokenizer.bpe.count_till_limit(piece.as_bytes(), room) {
            Some(tokens) => {
                before = (start, used);
                used += tokens;
                start += piece.len();
            }
            None => {
                let kept = prefix_within(piece, room);
                let end = if kept > 0 {
                    start + kept
                } else {
                    with_trailing_space(text, before.0, start, max_tokens - before.1)
                };
                return &text[..end];
            }
        }
    }
    text
}

/// `start`, or one character on where that is free.
///
/// The last space of a run belongs to the word that follows; where the text ends there it joins the run.
fn with_trailing_space(text: &str, run: usize, start: usize, room: usize) -> usize {
    match text[start..].chars().next() {
        Some(c) if c.is_whitespace() && count(&text[run..start + c.len_utf8()]) <= room => {
            start + c.len_utf8()
        }
        _ => start,
    }
}

/// Bytes of the longest prefix of one pre-token that takes at most `room` tokens.
///
/// Merges make the counts of growing prefixes go up and down. Dropping the last token of an encoding leaves
/// the encoding of the rest, so a fitting prefix has a fitting one at most a token's length before it: once
/// so many bytes in a row did not fit, none will.
fn prefix_within(piece: &str, room: usize) -> usize {
    let mut fitting = Vec::new();
    let mut encoder = AppendableEncoder::new(&tokenizer().bpe);
    let mut last_fit = 0;
    for (at, &byte) in piece.as_bytes().iter().enumerate() {
        encoder.push(byte);
        let end = at + 1;
        if encoder.token_count() <= room {
            last_fit = end;
            if piece.is_char_boundary(end) {
                fitting.push(end);
            }
        } else if end - last_fit > *LONGEST_TOKEN {
            break;
        }
    }
    // Cut off from what followed, a pre-token may fall into several ("don't" at "don'"), which costs more.
    fitting.into_iter().rev().find(|&end| count(&piece[..end]) <= room).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, spelt out: every prefix is counted.
    fn longest_by_force(text: &str, max_tokens: usize) -> &str {
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
        let fitting = ends.filter(|&end| count(&text[..end]) <= max_tokens);
        &text[..fitting.max().unwrap_or(0)]
    }

    /// xorshift64: the same texts on each run.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % bound as u64) as usize
        }
    }

    const TEXTS: &[&str] = &[
        "",
        "a",
        "Hello, world! Don't you've we'll THEY'RE it's.",
        "如果数据库连接超时,先检查防火墙,再把超时时间改成三十秒。",
        "👩‍👩‍👧‍👦👨🏽‍🚀🏳️‍🌈 family",
        "e\u{301}a\u{300}o\u{302}\u{323} Z\u{351}\u{36b}\u{343}\u{36a} zalgo",
        "line\r\n\r\n   \n\t two   three    \n",
        "         ",
        "fn main() { println!(\"{}\", a_b::c(0.0)); } // 0x7fffffff 1234567890",
        "สวัสดีชาวโลก नमस्ते दुनिया مرحبا بالعالم",
        "\0\u{1}\u{fffd}\u{10ffff}",
    ];

    #[test]
    fn known_texts_have_their_published_counts() {
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
        assert_eq!(count("你好"), 1);
    }

    #[test]
    fn a_truncated_text_is_the_longest_prefix_within_the_limit() {
        for text in TEXTS {
            for limit in 0..=count(text) + 1 {
                assert_eq!(truncate(text, limit), longest_by_force(text, limit), "{text:?} at {limit}");
            }
        }
    }

    #[test]
    fn random_mixtures_never_pass_the_limit_and_lose_nothing_that_fits() {
        let mut random = Random(20_261_201);
        for round in 0..400 {
            let mut text = String::new();
            for _ in 0..random.below(12) {
                let source = TEXTS[random.below(TEXTS.len())];
                let chars: Vec<char> = source.chars().collect();
                let from = random.below(chars.len() + 1);
                let to = from + random.below(chars.len() - from + 1);
                text.extend(&chars[from..to]);
            }
            let limit = random.below(count(&text) + 2);
            let cut = truncate(&text, limit);
            assert!(count(cut) <= limit, "round {round}: {text:?} at {limit}");
            assert_eq!(cut, longest_by_force(&text, limit), "round {round}: {text:?} at {limit}");
        }
    }

    #[test]
    fn random_bytes_read_as_utf8_stay_within_the_limit() {
        let mut random = Random(7);
        for round in 0..400 {
            let bytes: Vec<u8> = (0..random.below(200)).map(|_| random.below(256) as u8).collect();
            let text = String::from_utf8_lossy(&bytes);
            let limit = random.below(60);
            let cut = truncate(&text, limit);
            assert!(count(cut) <= limit, "round {round}: {text:?} at {limit}");
            assert!(text.starts_with(cut));
        }
    }

    #[test]
    fn a_zero_limit_leaves_nothing_and_a_generous_one_everything() {
        for text in TEXTS {
            assert_eq!(truncate(text, 0), "");
            assert_eq!(truncate(text, usize::MAX), *text);
            assert_eq!(truncate(text, count(text)), *text);
        }
    }

    #[test]
    fn a_long_text_without_a_break_is_cut_in_linear_time() {
        let started = std::time::Instant::now();
        for unit in ["超时", "a", " ", "\n ", "👩‍👧", "x'", "e\u{301}"] {
            let text = unit.repeat((1 << 18) / unit.len());
            for limit in [1, 20_000] {
                assert!(count(truncate(&text, limit)) <= limit, "{unit:?}");
            }
        }
        // Quadratic code would take many minutes; the bound is loose for slow machines and debug builds.
        assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    }
}
