//! SentencePiece's unigram tokenizer as XLM-RoBERTa has it: T. Kudo, "Subword Regularization", 2018. Characters
//! are normalised by the model's table, spaces become `▁`, and of all ways to cut the text into pieces the one
//! with the highest sum of scores is taken.

use super::file::File;

const SPACE: char = '\u{2581}';
/// What an unknown character costs below the least likely piece.
const UNKNOWN_PENALTY: f32 = 10.0;

pub struct Tokenizer {
    begin: u32,
    end: u32,
    unknown: u32,
    unknown_score: f32,
    scores: Vec<f32>,
    text: Vec<u8>,
    /// Where each piece starts in `text`, and the end of the last.
    starts: Vec<u32>,
    /// The pieces in order of their bytes.
    sorted: Vec<u32>,
    /// A character and what it becomes, in order of the characters.
    replaced: Vec<(u32, String)>,
}

/// The best way to cut the text up to here: its score, the last piece and where that starts.
#[derive(Clone, Copy)]
struct Cut {
    score: f32,
    piece: u32,
    from: usize,
}

impl Tokenizer {
    pub fn read(file: &File) -> Result<Tokenizer, String> {
        let mut cursor = file.cursor();
        let pieces = cursor.u32()? as usize;
        let (begin, end, _padding, unknown) = (cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?);
        let length = cursor.u64()? as usize;
        let words = |bytes: &[u8]| -> Vec<u32> {
            bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
        };
        let starts = words(cursor.take(4 * (pieces + 1))?);
        let scores: Vec<f32> = words(cursor.take(4 * pieces)?).into_iter().map(f32::from_bits).collect();
        let text = cursor.take(length)?.to_vec();
        if !starts.is_sorted() || starts.last().is_some_and(|last| *last as usize > length) {
            return Err("the pieces are out of order".to_owned());
        }
        if [begin, end, unknown].iter().any(|mark| *mark as usize >= pieces) {
            return Err("a mark is no piece".to_owned());
        }
        let count = cursor.u32()?;
        let _bytes = cursor.u32()?;
        let mut replaced = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let from = cursor.u32()?;
            let n = usize::from(cursor.take(1)?[0]);
            let into = words(cursor.take(4 * n)?).into_iter().filter_map(char::from_u32).collect();
            replaced.push((from, into));
        }
        if !replaced.is_sorted_by_key(|(from, _)| *from) {
            return Err("the table of characters is out of order".to_owned());
        }
        let unknown_score = scores.iter().copied().fold(f32::INFINITY, f32::min) - UNKNOWN_PENALTY;
        let mut tokenizer = Tokenizer {
            begin,
            end,
            unknown,
            unknown_score,
            scores,
            text,
            starts,
            sorted: Vec::new(),
            replaced,
        };
        // An empty piece would fit everywhere, and the unknown one stands for what no piece is.
        let mut sorted: Vec<u32> = (0..pieces as u32).filter(|piece| *piece != unknown).collect();
        sorted.retain(|piece| !tokenizer.piece(*piece).is_empty());
        sorted.sort_unstable_by(|a, b| tokenizer.piece(*a).cmp(tokenizer.piece(*b)).then(a.cmp(b)));
        tokenizer.sorted = sorted;
        Ok(tokenizer)
    }

    pub fn begin(&self) -> u32 {
        self.begin
    }

    pub fn end(&self) -> u32 {
        self.end
    }

    pub fn pieces(&self) -> usize {
        self.scores.len()
    }

    /// The tokens of a text, without marks. Linear in its length.
    pub fn tokens(&self, text: &str) -> Vec<u32> {
        let text = self.normalised(text);
        let bytes = text.as_bytes();
        let nothing = Cut { score: f32::NEG_INFINITY, piece: self.unknown, from: 0 };
        let mut cuts = vec![nothing; bytes.len() + 1];
        cuts[0].score = 0.0;
        for (at, character) in text.char_indices() {
            let before = cuts[at].score;
            let mut offer = |end: usize, piece: u32, score: f32| {
                if before + score > cuts[end].score {
                    cuts[end] = Cut { score: before + score, piece, from: at };
                }
            };
            self.each_piece(&bytes[at..], |length, piece| {
                offer(at + length, piece, self.scores[piece as usize])
            });
            offer(at + character.len_utf8(), self.unknown, self.unknown_score);
        }
        let mut tokens = Vec::new();
        let mut end = bytes.len();
        while end > 0 {
            tokens.push(cuts[end].piece);
            end = cuts[end].from;
        }
        tokens.reverse();
        tokens
    }

    /// Calls `found` with the length of each piece that `bytes` starts with, and the piece.
    fn each_piece(&self, bytes: &[u8], mut found: impl FnMut(usize, u32)) {
        let mut range = self.sorted.as_slice();
        for (depth, byte) in bytes.iter().enumerate() {
            // all in range share the bytes before depth, and are longer
            let low = range.partition_point(|piece| self.piece(*piece)[depth] < *byte);
            range = &range[low..];
            let high = range.partition_point(|piece| self.piece(*piece)[depth] == *byte);
            range = &range[..high];
            if let Some(&first) = range.first()
                && self.piece(first).len() == depth + 1
            {
                found(depth + 1, first);
                // a piece that stands twice counts once
                let longer = range.partition_point(|piece| self.piece(*piece).len() == depth + 1);
                range = &range[longer..];
            }
            if range.is_empty() {
                return;
            }
        }
    }

    fn piece(&self, piece: u32) -> &[u8] {
        let piece = piece as usize;
        &self.text[self.starts[piece] as usize..self.starts[piece + 1] as usize]
    }

    /// Characters replaced, runs of spaces made one, a space before, all spaces `▁`.
    fn normalised(&self, text: &str) -> String {
        let mut normalised = String::with_capacity(text.len() + text.len() / 4 + 3);
        let mut push = |c: char| match c {
            ' ' if normalised.ends_with(SPACE) => {}
            ' ' => normalised.push(SPACE),
            _ => {
                if normalised.is_empty() {
                    normalised.push(SPACE);
                }
                normalised.push(c);
            }
        };
        for c in text.chars() {
            match self.replaced.binary_search_by_key(&u32::from(c), |(from, _)| *from) {
                Ok(at) => self.replaced[at].1.chars().for_each(&mut push),
                Err(_) => push(c),
            }
        }
        if normalised.is_empty() {
            normalised.push(SPACE);
        }
        normalised
    }
}
