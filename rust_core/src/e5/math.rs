//! The arithmetic between the matrices, written so that compilers turn it into wide instructions: no branch, no
//! call, sums in sixteen lanes. No step depends on how wide the instructions are, so neither do the results.

use super::file::BLOCK;
use super::matmul::Kernel;

const LANES: usize = 16;
/// Added and taken away it leaves the nearest integer, ties to even, for numbers below 2²².
const ROUND: f32 = 12_582_912.0;

/// Compiles `$generic` once for each kernel's instructions.
macro_rules! for_kernels {
    ($name:ident = $generic:ident($($arg:ident: $type:ty),*)) => {
        pub fn $name(kernel: Kernel, $($arg: $type),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512vnni,fma")]
            fn avx512($($arg: $type),*) {
                $generic($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($arg: $type),*) {
                $generic($($arg),*)
            }
            match kernel {
                // SAFETY: `Kernel::all` names a kernel only where the processor has its instructions.
                #[cfg(target_arch = "x86_64")]
                Kernel::Avx512 => unsafe { avx512($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                Kernel::Avx2 => unsafe { avx2($($arg),*) },
                Kernel::Portable => $generic($($arg),*),
            }
        }
    };
}

for_kernels!(add_and_normalise = add_and_normalise_generic(
    rows: &mut [f32], added: Option<&[f32]>, norm: &Norm
));
for_kernels!(gelu = gelu_generic(values: &mut [f32]));
for_kernels!(attend = attend_generic(from: &Heads, tokens: usize, buffers: &mut Buffers, into: &mut [f32]));
for_kernels!(round_blocks = round_blocks_generic(values: &[f32], into: &mut Activations));

/// A layer normalisation: J. Ba et al., "Layer Normalization", 2016.
pub struct Norm {
    pub weight: Vec<f32>,
    pub bias: Vec<f32>,
    pub epsilon: f32,
}

#[inline(always)]
fn sum(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += of(*value);
        }
    }
    for (lane, value) in lanes.iter_mut().zip(rest) {
        *lane += of(*value);
    }
    lanes.iter().sum()
}

/// `row = norm(row + added)` for each row.
#[inline(always)]
fn add_and_normalise_generic(rows: &mut [f32], added: Option<&[f32]>, norm: &Norm) {
    let width = norm.weight.len();
    for (n, row) in rows.chunks_exact_mut(width).enumerate() {
        if let Some(added) = added {
            row.iter_mut().zip(&added[n * width..][..width]).for_each(|(x, y)| *x += y);
        }
        let mean = sum(row, |x| x) / width as f32;
        let variance = sum(row, |x| (x - mean) * (x - mean)) / width as f32;
        let scale = 1.0 / (variance + norm.epsilon).sqrt();
        for (x, (weight, bias)) in row.iter_mut().zip(norm.weight.iter().zip(&norm.bias)) {
            *x = (*x - mean) * scale * weight + bias;
        }
    }
}

/// eˣ for x ≤ 0 to 2·10⁻⁷: 2ⁿ · eʳ with |r| ≤ ln 2 / 2, eʳ by its series.
#[inline(always)]
fn exp(x: f32) -> f32 {
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let x = x.max(-87.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = x - n * LN_2_HIGH - n * LN_2_LOW;
    let series =
        1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r / 720.0)))));
    // the low bits of `shifted` are n
    f32::from_bits(series.to_bits().wrapping_add(shifted.to_bits() << 23))
}

/// erf to 2·10⁻⁷: M. Abramowitz, I. Stegun, "Handbook of Mathematical Functions", 7.1.26.
#[inline(always)]
fn erf(x: f32) -> f32 {
    let size = x.abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * size);
    let sum =
        t * (0.254_829_6 + t * (-0.284_496_74 + t * (1.421_413_8 + t * (-1.453_152 + t * 1.061_405_4))));
    (1.0 - sum * exp(-size * size)).copysign(x)
}

/// D. Hendrycks, K. Gimpel, "Gaussian Error Linear Units", 2016.
#[inline(always)]
fn gelu_generic(values: &mut [f32]) {
    for x in values {
        *x = 0.5 * *x * (1.0 + erf(*x * std::f32::consts::FRAC_1_SQRT_2));
    }
}

/// Activations rounded to 8 bits, in blocks of 32 with a scale each.
#[derive(Default)]
pub struct Activations {
    pub columns: usize,
    values: Vec<i8>,
    scales: Vec<f32>,
    sums: Vec<i32>,
}

/// One block of one token.
pub struct Block<'a> {
    pub values: &'a [i8; BLOCK],
    pub scale: f32,
    pub sum: i32,
}

impl Block<'_> {
    /// Four values as one number, the first lowest.
    #[inline(always)]
    pub fn step(&self, step: usize) -> i32 {
        let v = self.values;
        i32::from_le_bytes([
            v[4 * step] as u8,
            v[4 * step + 1] as u8,
            v[4 * step + 2] as u8,
            v[4 * step + 3] as u8,
        ])
    }
}

impl Activations {
    /// Takes rows of `columns` numbers.
    pub fn round(&mut self, kernel: Kernel, rows: &[f32], columns: usize) {
        self.columns = columns;
        self.values.resize(rows.len(), 0);
        self.scales.resize(rows.len() / BLOCK, 0.0);
        self.sums.resize(rows.len() / BLOCK, 0);
        round_blocks(kernel, rows, self);
    }

    pub fn tokens(&self) -> usize {
        self.values.len() / self.columns
    }

    #[inline(always)]
    pub fn block(&self, token: usize, block: usize) -> Block<'_> {
        let at = token * (self.columns / BLOCK) + block;
        let (values, _) = self.values.as_chunks::<BLOCK>();
        Block { values: &values[at], scale: self.scales[at], sum: self.sums[at] }
    }
}

#[inline(always)]
fn round_blocks_generic(rows: &[f32], into: &mut Activations) {
    let blocks = rows.as_chunks::<BLOCK>().0.iter();
    let rounded = into.values.as_chunks_mut::<BLOCK>().0.iter_mut();
    let scales = into.scales.iter_mut().zip(&mut into.sums);
    for ((block, rounded), (scale, sum)) in blocks.zip(rounded).zip(scales) {
        *scale = largest(block) / 127.0;
        let inverse = if *scale > 0.0 { 1.0 / *scale } else { 0.0 };
        let whole: [i32; BLOCK] = std::array::from_fn(|i| {
            ((block[i] * inverse + ROUND).to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32)
        });
        *rounded = whole.map(|n| n as i8);
        *sum = whole.iter().sum();
    }
}

/// The largest absolute value.
#[inline(always)]
fn largest(block: &[f32; BLOCK]) -> f32 {
    let mut sizes = block.map(f32::abs);
    let mut half = BLOCK / 2;
    while half > 0 {
        for i in 0..half {
            sizes[i] = if sizes[i] > sizes[i + half] { sizes[i] } else { sizes[i + half] };
        }
        half /= 2;
    }
    sizes[0]
}

/// Queries, keys and values of all tokens, and the width of each row.
pub struct Heads<'a> {
    pub queries: &'a [f32],
    pub keys: &'a [f32],
    pub values: &'a [f32],
    pub width: usize,
}

/// Reused from one text to the next.
#[derive(Default)]
pub struct Buffers {
    /// Of one head: its keys, number by number, each padded to whole lanes.
    keys: Vec<f32>,
    values: Vec<f32>,
    scores: Vec<f32>,
}

/// Keys that one query meets at once.
const WIDE: usize = 4 * LANES;
/// Queries that go over the keys together.
const QUERIES: usize = 4;

/// Scaled dot-product attention among the `tokens` of one text, in heads of 32 numbers: A. Vaswani et al.,
/// "Attention Is All You Need", 2017.
#[inline(always)]
fn attend_generic(from: &Heads, tokens: usize, buffers: &mut Buffers, into: &mut [f32]) {
    let padded = tokens.next_multiple_of(WIDE);
    buffers.keys.resize(BLOCK * padded, 0.0);
    buffers.values.resize(BLOCK * tokens, 0.0);
    buffers.scores.resize(QUERIES * padded, 0.0);
    for head in (0..from.width).step_by(BLOCK) {
        for t in 0..tokens {
            let at = t * from.width + head;
            for (i, key) in from.keys[at..at + BLOCK].iter().enumerate() {
                buffers.keys[i * padded + t] = *key;
            }
            buffers.values[t * BLOCK..][..BLOCK].copy_from_slice(&from.values[at..at + BLOCK]);
        }
        let whole = tokens / QUERIES * QUERIES;
        for t in (0..whole).step_by(QUERIES) {
            attend_from::<QUERIES>(from, t, head, tokens, buffers, into);
        }
        for t in whole..tokens {
            attend_from::<1>(from, t, head, tokens, buffers, into);
        }
    }
}

/// The attention of `N` tokens from `first` on, in one head.
#[inline(always)]
fn attend_from<const N: usize>(
    from: &Heads,
    first: usize,
    head: usize,
    tokens: usize,
    buffers: &mut Buffers,
    into: &mut [f32],
) {
    let padded = tokens.next_multiple_of(WIDE);
    let scale = 1.0 / (BLOCK as f32).sqrt();
    let at = |n: usize| (first + n) * from.width + head;
    for column in (0..padded).step_by(WIDE) {
        let mut sums = [[0.0f32; WIDE]; N];
        for i in 0..BLOCK {
            let keys = &buffers.keys[i * padded + column..][..WIDE];
            for (n, sums) in sums.iter_mut().enumerate() {
                let x = from.queries[at(n) + i];
                for (sum, key) in sums.iter_mut().zip(keys) {
                    *sum = x.mul_add(*key, *sum);
                }
            }
        }
        for (n, sums) in sums.iter().enumerate() {
            buffers.scores[n * padded + column..][..WIDE].copy_from_slice(&sums.map(|sum| sum * scale));
        }
    }
    let mut wholes = [0.0; N];
    for (n, whole) in wholes.iter_mut().enumerate() {
        let scores = &mut buffers.scores[n * padded..][..tokens];
        let highest = highest(scores);
        scores.iter_mut().for_each(|score| *score = exp(*score - highest));
        *whole = sum(scores, |x| x);
    }
    let mut mixed = [[0.0f32; BLOCK]; N];
    for (t, value) in buffers.values.as_chunks::<BLOCK>().0.iter().enumerate() {
        for (n, mixed) in mixed.iter_mut().enumerate() {
            let score = buffers.scores[n * padded + t];
            for (mixed, value) in mixed.iter_mut().zip(value) {
                *mixed = score.mul_add(*value, *mixed);
            }
        }
    }
    for (n, mixed) in mixed.iter().enumerate() {
        let out = &mut into[at(n)..][..BLOCK];
        out.iter_mut().zip(mixed).for_each(|(out, mixed)| *out = mixed / wholes[n]);
    }
}

#[inline(always)]
fn highest(values: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = if *value > *lane { *value } else { *lane };
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_and_erf_are_those_of_the_textbook() {
        for i in 0..=10_000 {
            let x = -20.0 * i as f32 / 10_000.0;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) - exact).abs() <= 3e-7 * exact, "exp({x})");
        }
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(-1000.0) < 1e-37);
        // from tables of the error function
        for (x, value) in
            [(0.0, 0.0), (0.5, 0.520_499_9), (1.0, 0.842_700_8), (2.0, 0.995_322_3), (-1.0, -0.842_700_8)]
        {
            assert!((erf(x) - value as f32).abs() < 5e-7, "erf({x})");
        }
    }

    #[test]
    fn rounding_keeps_the_largest_and_goes_to_the_nearest() {
        let mut activations = Activations::default();
        let mut row = vec![0.0; BLOCK];
        row[0] = -2.54; // scale 0.02
        row[1] = 0.029;
        row[2] = 0.031;
        activations.round(Kernel::Portable, &row, BLOCK);
        let block = activations.block(0, 0);
        assert_eq!(block.values[..4], [-127, 1, 2, 0]);
        assert_eq!(block.sum, -124);
        activations.round(Kernel::Portable, &[0.0; BLOCK], BLOCK);
        assert_eq!(activations.block(0, 0).values, &[0; BLOCK]);
    }

    #[test]
    fn attention_to_equal_keys_is_the_mean_of_the_values() {
        let tokens = 70; // over one width of lanes
        let width = 2 * BLOCK;
        let keys = vec![0.3; tokens * width];
        let values: Vec<f32> = (0..tokens).flat_map(|t| vec![t as f32; width]).collect();
        let mut into = vec![0.0; tokens * width];
        let heads = Heads { queries: &keys, keys: &keys, values: &values, width };
        attend(Kernel::Portable, &heads, tokens, &mut Buffers::default(), &mut into);
        assert!(into.iter().all(|x| (x - 34.5).abs() < 1e-3), "{into:?}");
    }
}
