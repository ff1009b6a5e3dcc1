//! multilingual-e5-small on this processor: the text encoder of L. Wang et al., "Multilingual E5 Text
//! Embeddings", 2024 (XLM-RoBERTa's tokenizer, a BERT encoder, mean pooling), from weights in 4 bits.
//!
//! The arithmetic is that of llama.cpp's `Q4_0 × Q8_0`: weights in blocks of 32 with a scale each, activations
//! rounded to 8 bits in the same blocks. Sums of products are integers and floats are added in one fixed order,
//! so that every processor, every batch and every thread gives the same bits.

mod encoder;
mod file;
mod math;
mod matmul;
mod tokenizer;

use std::ops::Range;
use std::path::Path;

use crate::error::{Error, Result};
use encoder::Encoder;
use file::File;
use tokenizer::Tokenizer;

/// Tokens that go through the encoder together: enough to use each weight often, few enough for the cache.
const TOKENS_AT_ONCE: usize = 128;

/// What stands before a text tells the model which side of a search it is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Query,
    Passage,
}

impl Side {
    fn prefix(self) -> &'static str {
        match self {
            Side::Query => "query: ",
            Side::Passage => "passage: ",
        }
    }
}

/// The model. Safe to use from any number of threads.
pub struct E5 {
    tokenizer: Tokenizer,
    encoder: Encoder,
}

/// A part of a text that the model reads at once.
struct Window {
    text: usize,
    tokens: Range<usize>,
}

impl E5 {
    /// Loads a model file (magic `E5S1`). Invalid when it is another file or damaged, Io when it cannot be read.
    pub fn load(path: &Path) -> Result<E5> {
        let file = File::open(path)?;
        let damaged = |why: String| Error::invalid("path", format!("{}: {why}", path.display()));
        let tokenizer = Tokenizer::read(&file).map_err(damaged)?;
        let encoder = Encoder::read(file).map_err(damaged)?;
        if tokenizer.pieces() > encoder.vocabulary() {
            return Err(damaged("more pieces than word vectors".to_owned()));
        }
        Ok(E5 { tokenizer, encoder })
    }

    pub fn dimension(&self) -> usize {
        self.encoder.hidden()
    }

    /// Tokens that the model reads of a text, its prefix and the marks at both ends included.
    pub fn token_count(&self, text: &str, side: Side) -> usize {
        self.tokens(text, side).len() + 2
    }

    /// The vectors of `texts`, each of length one, one after the other.
    ///
    /// A text of more tokens than the model reads at once is read in windows; its vector is their mean, weighted
    /// by their lengths.
    pub fn embed(&self, texts: &[&str], side: Side) -> Vec<f32> {
        let hidden = self.encoder.hidden();
        let tokens: Vec<Vec<u32>> = texts.iter().map(|text| self.tokens(text, side)).collect();
        let mut windows = Vec::new();
        for (text, tokens) in tokens.iter().enumerate() {
            let whole = self.encoder.positions() - 2;
            for start in (0..tokens.len().max(1)).step_by(whole) {
                windows.push(Window { text, tokens: start..tokens.len().min(start + whole) });
            }
        }
        let mut vectors = vec![0.0f32; texts.len() * hidden];
        let mut rest = windows.as_slice();
        while !rest.is_empty() {
            let (now, later) = rest.split_at(self.fitting(rest));
            let read: Vec<Vec<u32>> =
                now.iter().map(|window| self.marked(&tokens[window.text], window)).collect();
            let means = self.encoder.encode(&read);
            for (window, mean) in now.iter().zip(means.chunks_exact(hidden)) {
                let weight = window.tokens.len().max(1) as f32;
                let vector = &mut vectors[window.text * hidden..][..hidden];
                vector.iter_mut().zip(mean).for_each(|(sum, part)| *sum += weight * part);
            }
            rest = later;
        }
        vectors.chunks_exact_mut(hidden).for_each(to_length_one);
        vectors
    }

    fn tokens(&self, text: &str, side: Side) -> Vec<u32> {
        self.tokenizer.tokens(&format!("{}{text}", side.prefix()))
    }

    /// How many of the next windows go through together; one at least.
    fn fitting(&self, windows: &[Window]) -> usize {
        let mut tokens = 0;
        let fits = windows.iter().take_while(|window| {
            tokens += window.tokens.len() + 2;
            tokens <= TOKENS_AT_ONCE
        });
        fits.count().max(1)
    }

    fn marked(&self, tokens: &[u32], window: &Window) -> Vec<u32> {
        let inner = &tokens[window.tokens.clone()];
        let mut marked = Vec::with_capacity(inner.len() + 2);
        marked.push(self.tokenizer.begin());
        marked.extend_from_slice(inner);
        marked.push(self.tokenizer.end());
        marked
    }
}

fn to_length_one(vector: &mut [f32]) {
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt().max(1e-12);
    vector.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
}
