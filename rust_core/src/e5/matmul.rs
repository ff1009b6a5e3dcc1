//! Weights of 4 bits times activations of 8: integer products in blocks of 32, a scale for each block.
//!
//! Weights are kept as bytes 0..=15, which stand for −8..=7, in the order in which sixteen rows are multiplied
//! at once: for each block of 32 columns eight steps, in each step of four columns those of row 0, of row 1, ….

use super::file::{BLOCK, BLOCK_BYTES, half};
use super::math::Activations;

/// Rows that are multiplied together.
const ROWS: usize = 16;
/// Columns of one step: four products are summed in one instruction.
const STEP: usize = 4;
const STEPS: usize = BLOCK / STEP;
const GROUP: usize = ROWS * BLOCK;
/// Tokens that one pass over the weights of a group serves.
const TOKENS: usize = 4;
/// What a stored weight is above the one it stands for.
const ZERO: i32 = 8;

/// What this processor can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Kernel {
    /// The fastest that runs here.
    pub fn best() -> Kernel {
        Kernel::all().next().unwrap_or(Kernel::Portable)
    }

    /// All that run here, the fastest first.
    pub fn all() -> impl Iterator<Item = Kernel> {
        let mut kernels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vnni")
            {
                kernels.push(Kernel::Avx512);
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                kernels.push(Kernel::Avx2);
            }
        }
        kernels.push(Kernel::Portable);
        kernels.into_iter()
    }
}

/// One linear layer: `outputs` rows of `inputs` weights, and a bias.
pub struct Linear {
    pub outputs: usize,
    inputs: usize,
    weights: Vec<u8>,
    /// For each group of rows and block of columns sixteen scales.
    scales: Vec<f32>,
    bias: Vec<f32>,
}

impl Linear {
    /// From the blocks of a file, row by row. `bias` has a number for each row.
    pub fn new(blocks: &[u8], inputs: usize, bias: Vec<f32>) -> Linear {
        let (outputs, in_row) = (bias.len(), inputs / BLOCK);
        assert_eq!(blocks.len(), outputs * in_row * BLOCK_BYTES);
        assert!(outputs.is_multiple_of(ROWS));
        let mut weights = vec![0; outputs * inputs];
        let mut scales = vec![0.0; outputs * in_row];
        for (n, block) in blocks.chunks_exact(BLOCK_BYTES).enumerate() {
            let (row, at) = (n / in_row, n % in_row);
            let group = row / ROWS * in_row + at;
            scales[group * ROWS + row % ROWS] = half(u16::from_le_bytes([block[0], block[1]]));
            for (i, byte) in block[2..].iter().enumerate() {
                for (column, weight) in [(i, byte & 15), (i + BLOCK / 2, byte >> 4)] {
                    let in_group = column / STEP * (ROWS * STEP) + row % ROWS * STEP + column % STEP;
                    weights[group * GROUP + in_group] = weight;
                }
            }
        }
        Linear { outputs, inputs, weights, scales, bias }
    }

    /// `into[t][row] = weights[row] · activations[t] + bias[row]`.
    pub fn apply(&self, kernel: Kernel, activations: &Activations, into: &mut Vec<f32>) {
        assert_eq!(activations.columns, self.inputs);
        into.clear();
        into.resize(activations.tokens() * self.outputs, 0.0);
        match kernel {
            // SAFETY: `Kernel::all` names a kernel only where the processor has its instructions.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => unsafe { avx512::apply(self, activations, into) },
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => unsafe { avx2::apply(self, activations, into) },
            Kernel::Portable => {
                self.each_tile(activations, into, portable::tile::<TOKENS>, portable::tile::<1>)
            }
        }
    }

    /// Calls `many` for each group of rows and `TOKENS` tokens, `one` for the tokens left over.
    #[inline(always)]
    fn each_tile(
        &self,
        activations: &Activations,
        into: &mut [f32],
        many: impl Fn(&Group, &Activations, usize) -> [[f32; ROWS]; TOKENS],
        one: impl Fn(&Group, &Activations, usize) -> [[f32; ROWS]; 1],
    ) {
        let in_row = self.inputs / BLOCK;
        for (n, bias) in self.bias.chunks_exact(ROWS).enumerate() {
            let group = Group {
                weights: &self.weights[n * in_row * GROUP..][..in_row * GROUP],
                scales: &self.scales[n * in_row * ROWS..][..in_row * ROWS],
            };
            let mut store = |token: usize, sums: &[f32; ROWS]| {
                let row = &mut into[token * self.outputs + n * ROWS..][..ROWS];
                for (out, (sum, bias)) in row.iter_mut().zip(sums.iter().zip(bias)) {
                    *out = bias + sum;
                }
            };
            let whole = activations.tokens() / TOKENS * TOKENS;
            for token in (0..whole).step_by(TOKENS) {
                let sums = many(&group, activations, token);
                sums.iter().enumerate().for_each(|(i, sums)| store(token + i, sums));
            }
            for token in whole..activations.tokens() {
                store(token, &one(&group, activations, token)[0]);
            }
        }
    }
}

/// Sixteen rows of weights.
struct Group<'a> {
    weights: &'a [u8],
    scales: &'a [f32],
}

mod portable {
    use super::*;

    #[inline(always)]
    pub fn tile<const N: usize>(group: &Group, activations: &Activations, token: usize) -> [[f32; ROWS]; N] {
        let mut sums = [[0.0; ROWS]; N];
        let blocks = group.weights.chunks_exact(GROUP).zip(group.scales.chunks_exact(ROWS));
        for (b, (weights, scales)) in blocks.enumerate() {
            for (n, sums) in sums.iter_mut().enumerate() {
                let block = activations.block(token + n, b);
                let mut products = [-ZERO * block.sum; ROWS];
                for (weights, values) in
                    weights.chunks_exact(ROWS * STEP).zip(block.values.chunks_exact(STEP))
                {
                    for (product, weights) in products.iter_mut().zip(weights.chunks_exact(STEP)) {
                        for (weight, value) in weights.iter().zip(values) {
                            *product += i32::from(*weight) * i32::from(*value);
                        }
                    }
                }
                for (sum, (product, scale)) in sums.iter_mut().zip(products.iter().zip(scales)) {
                    *sum += *product as f32 * (scale * block.scale);
                }
            }
        }
        sums
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use super::*;

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub fn apply(linear: &Linear, activations: &Activations, into: &mut [f32]) {
        linear.each_tile(
            activations,
            into,
            |group, activations, token| tile::<TOKENS>(group, activations, token),
            |group, activations, token| tile::<1>(group, activations, token),
        );
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn tile<const N: usize>(group: &Group, activations: &Activations, token: usize) -> [[f32; ROWS]; N] {
        let mut sums = [_mm512_setzero_ps(); N];
        let blocks = group.weights.chunks_exact(GROUP).zip(group.scales.chunks_exact(ROWS));
        for (b, (weights, scales)) in blocks.enumerate() {
            let values: [_; N] = std::array::from_fn(|n| activations.block(token + n, b));
            let mut products = [_mm512_setzero_si512(); N];
            for n in 0..N {
                products[n] = _mm512_set1_epi32(-ZERO * values[n].sum);
            }
            for step in 0..STEPS {
                // SAFETY: `weights` has STEPS · 64 bytes.
                let rows = unsafe { _mm512_loadu_si512(weights.as_ptr().add(step * ROWS * STEP).cast()) };
                for n in 0..N {
                    let four = _mm512_set1_epi32(values[n].step(step));
                    products[n] = _mm512_dpbusd_epi32(products[n], rows, four);
                }
            }
            // SAFETY: `scales` has sixteen numbers.
            let scales = unsafe { _mm512_loadu_ps(scales.as_ptr()) };
            for n in 0..N {
                let scale = _mm512_mul_ps(scales, _mm512_set1_ps(values[n].scale));
                sums[n] = _mm512_add_ps(sums[n], _mm512_mul_ps(_mm512_cvtepi32_ps(products[n]), scale));
            }
        }
        let mut out = [[0.0; ROWS]; N];
        for n in 0..N {
            // SAFETY: `out[n]` has sixteen numbers.
            unsafe { _mm512_storeu_ps(out[n].as_mut_ptr(), sums[n]) };
        }
        out
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::*;

    #[target_feature(enable = "avx2")]
    pub fn apply(linear: &Linear, activations: &Activations, into: &mut [f32]) {
        linear.each_tile(
            activations,
            into,
            |group, activations, token| tile::<TOKENS>(group, activations, token),
            |group, activations, token| tile::<1>(group, activations, token),
        );
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn tile<const N: usize>(group: &Group, activations: &Activations, token: usize) -> [[f32; ROWS]; N] {
        let mut out = [[0.0; ROWS]; N];
        for part in 0..2 {
            let mut sums = [_mm256_setzero_ps(); N];
            let blocks = group.weights.chunks_exact(GROUP).zip(group.scales.chunks_exact(ROWS));
            for (b, (weights, scales)) in blocks.enumerate() {
                let values: [_; N] = std::array::from_fn(|n| activations.block(token + n, b));
                let mut pairs = [_mm256_setzero_si256(); N];
                for step in 0..STEPS {
                    // SAFETY: `weights` has STEPS · 64 bytes; half of a step are 32.
                    let rows =
                        unsafe { _mm256_loadu_si256(weights.as_ptr().add((2 * step + part) * 32).cast()) };
                    for n in 0..N {
                        let four = _mm256_set1_epi32(values[n].step(step));
                        // Sums of two products, at most 2 · 15 · 127: eight of them fit into 16 bits.
                        pairs[n] = _mm256_add_epi16(pairs[n], _mm256_maddubs_epi16(rows, four));
                    }
                }
                // SAFETY: `scales` has sixteen numbers.
                let scales = unsafe { _mm256_loadu_ps(scales.as_ptr().add(8 * part)) };
                for n in 0..N {
                    let products = _mm256_madd_epi16(pairs[n], _mm256_set1_epi16(1));
                    let products = _mm256_add_epi32(products, _mm256_set1_epi32(-ZERO * values[n].sum));
                    let scale = _mm256_mul_ps(scales, _mm256_set1_ps(values[n].scale));
                    sums[n] = _mm256_add_ps(sums[n], _mm256_mul_ps(_mm256_cvtepi32_ps(products), scale));
                }
            }
            for n in 0..N {
                // SAFETY: `out[n]` has sixteen numbers.
                unsafe { _mm256_storeu_ps(out[n].as_mut_ptr().add(8 * part), sums[n]) };
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in −1..1, the same each time.
    fn numbers(n: usize, mut state: u64) -> Vec<f32> {
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        };
        (0..n).map(|_| next()).collect()
    }

    /// Random blocks and the weights they stand for.
    fn layer(outputs: usize, inputs: usize) -> (Linear, Vec<f32>) {
        let mut blocks = Vec::new();
        let mut plain = Vec::new();
        for (n, random) in numbers(outputs * inputs / BLOCK, 1).iter().enumerate() {
            let scale: u16 = 0x2000 + ((random.abs() * 1000.0) as u16); // between 0.0078 and 0.016
            blocks.extend(scale.to_le_bytes());
            let bytes: Vec<u8> = numbers(16, n as u64).iter().map(|x| (x * 127.0) as i8 as u8).collect();
            let value = |nibble: u8| half(scale) * (f32::from(nibble) - 8.0);
            plain.extend(bytes.iter().map(|byte| value(byte & 15)));
            plain.extend(bytes.iter().map(|byte| value(byte >> 4)));
            blocks.extend(bytes);
        }
        (Linear::new(&blocks, inputs, numbers(outputs, 3)), plain)
    }

    #[test]
    fn a_layer_is_its_weights_times_the_rounded_activations() {
        let (linear, plain) = layer(32, 96);
        let values = numbers(7 * 96, 5);
        let mut activations = Activations::default();
        activations.round(Kernel::Portable, &values, 96);
        let mut out = Vec::new();
        linear.apply(Kernel::Portable, &activations, &mut out);
        for token in 0..7 {
            for row in 0..32 {
                let exact: f32 = (0..96).map(|i| plain[row * 96 + i] * values[token * 96 + i]).sum();
                let got = out[token * 32 + row] - linear.bias[row];
                assert!((got - exact).abs() < 0.01, "token {token}, row {row}: {got} is not {exact}");
            }
        }
    }

    #[test]
    fn every_kernel_gives_the_same_bits() {
        let (linear, _) = layer(48, 128);
        let mut largest = numbers(9 * 128, 8);
        largest[..128].fill(1.0); // all products at their largest
        largest[128..256].fill(-1.0);
        let mut reference: Option<Vec<f32>> = None;
        for kernel in Kernel::all() {
            let mut activations = Activations::default();
            activations.round(kernel, &largest, 128);
            let mut out = Vec::new();
            linear.apply(kernel, &activations, &mut out);
            let expected = reference.get_or_insert_with(|| out.clone());
            assert_eq!(*expected, out, "{kernel:?}");
        }
    }
}
