//! The BERT encoder: J. Devlin et al., "BERT", 2019, and the mean of its last layer over the tokens of a text.

use super::file::{BLOCK, BLOCK_BYTES, File, half};
use super::math::{Activations, Buffers, Heads, Norm, add_and_normalise, attend, gelu};
use super::matmul::{Kernel, Linear};

pub struct Encoder {
    file: File,
    kernel: Kernel,
    positions: Vec<f32>,
    /// Added to every word: BERT's first kind of text.
    kind: Vec<f32>,
    first_norm: Norm,
    layers: Vec<Layer>,
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    attention_out: Linear,
    attention_norm: Norm,
    inner: Linear,
    outer: Linear,
    norm: Norm,
}

impl Encoder {
    pub fn read(file: File) -> Result<Encoder, String> {
        let shape = file.shape;
        file.blocks("emb.word", shape.vocabulary, shape.hidden)?;
        let norm = |name: &str| -> Result<Norm, String> {
            Ok(Norm {
                weight: file.floats(&format!("{name}.w"), shape.hidden)?,
                bias: file.floats(&format!("{name}.b"), shape.hidden)?,
                epsilon: shape.epsilon,
            })
        };
        let linear = |name: String, outputs: usize, inputs: usize| -> Result<Linear, String> {
            let bias = file.floats(&format!("{name}.b"), outputs)?;
            Ok(Linear::new(file.blocks(&format!("{name}.w"), outputs, inputs)?, inputs, bias))
        };
        let square = |name: String| linear(name, shape.hidden, shape.hidden);
        let layers = (0..shape.layers).map(|l| {
            Ok(Layer {
                query: square(format!("l{l}.q"))?,
                key: square(format!("l{l}.k"))?,
                value: square(format!("l{l}.v"))?,
                attention_out: square(format!("l{l}.ao"))?,
                attention_norm: norm(&format!("l{l}.aln"))?,
                inner: linear(format!("l{l}.fi"), shape.inner, shape.hidden)?,
                outer: linear(format!("l{l}.fo"), shape.hidden, shape.inner)?,
                norm: norm(&format!("l{l}.oln"))?,
            })
        });
        let layers = layers.collect::<Result<_, String>>()?;
        Ok(Encoder {
            kernel: Kernel::best(),
            positions: file.floats("emb.pos", shape.positions * shape.hidden)?,
            kind: file.floats("emb.type", shape.hidden)?,
            first_norm: norm("emb.ln")?,
            layers,
            file,
        })
    }

    pub fn hidden(&self) -> usize {
        self.file.shape.hidden
    }

    /// The most tokens that one text may have.
    pub fn positions(&self) -> usize {
        self.file.shape.positions
    }

    pub fn vocabulary(&self) -> usize {
        self.file.shape.vocabulary
    }

    /// The mean of the last layer for each text, one after the other. A token of one text sees no other text.
    pub fn encode(&self, texts: &[Vec<u32>]) -> Vec<f32> {
        let width = self.hidden();
        let kernel = self.kernel;
        let mut x = Vec::new();
        texts.iter().for_each(|tokens| self.embed_words(tokens, &mut x));
        add_and_normalise(kernel, &mut x, None, &self.first_norm);
        let (mut queries, mut keys, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let (mut mixed, mut out, mut inner) = (vec![0.0; x.len()], Vec::new(), Vec::new());
        let mut rounded = Activations::default();
        let mut buffers = Buffers::default();
        for layer in &self.layers {
            rounded.round(kernel, &x, width);
            layer.query.apply(kernel, &rounded, &mut queries);
            layer.key.apply(kernel, &rounded, &mut keys);
            layer.value.apply(kernel, &rounded, &mut values);
            let mut at = 0;
            for tokens in texts {
                let rows = at..at + tokens.len() * width;
                let heads = Heads {
                    queries: &queries[rows.clone()],
                    keys: &keys[rows.clone()],
                    values: &values[rows.clone()],
                    width,
                };
                attend(kernel, &heads, tokens.len(), &mut buffers, &mut mixed[rows.clone()]);
                at = rows.end;
            }
            rounded.round(kernel, &mixed, width);
            layer.attention_out.apply(kernel, &rounded, &mut out);
            add_and_normalise(kernel, &mut x, Some(&out), &layer.attention_norm);
            rounded.round(kernel, &x, width);
            layer.inner.apply(kernel, &rounded, &mut inner);
            gelu(kernel, &mut inner);
            rounded.round(kernel, &inner, layer.inner.outputs);
            layer.outer.apply(kernel, &rounded, &mut out);
            add_and_normalise(kernel, &mut x, Some(&out), &layer.norm);
        }
        means(&x, texts, width)
    }

    /// A word's vector, its place's, and that of the kind of text.
    fn embed_words(&self, tokens: &[u32], into: &mut Vec<f32>) {
        let width = self.hidden();
        let words = self.file.blocks("emb.word", self.vocabulary(), width).unwrap_or_default();
        let row_bytes = width / BLOCK * BLOCK_BYTES;
        for (token, position) in tokens.iter().zip(self.positions.chunks_exact(width)) {
            let row = &words[*token as usize * row_bytes..][..row_bytes];
            let at = into.len();
            for block in row.chunks_exact(BLOCK_BYTES) {
                let scale = half(u16::from_le_bytes([block[0], block[1]]));
                let weight = |nibble: u8| (f32::from(nibble) - 8.0) * scale;
                into.extend(block[2..].iter().map(|byte| weight(byte & 15)));
                into.extend(block[2..].iter().map(|byte| weight(byte >> 4)));
            }
            for (x, (position, kind)) in into[at..].iter_mut().zip(position.iter().zip(&self.kind)) {
                *x += position + kind;
            }
        }
    }
}

fn means(rows: &[f32], texts: &[Vec<u32>], width: usize) -> Vec<f32> {
    let mut means = vec![0.0; texts.len() * width];
    let mut rows = rows.chunks_exact(width);
    for (mean, tokens) in means.chunks_exact_mut(width).zip(texts) {
        for row in rows.by_ref().take(tokens.len()) {
            mean.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
        mean.iter_mut().for_each(|sum| *sum /= tokens.len() as f32);
    }
    means
}
