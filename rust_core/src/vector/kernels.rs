//! Dot products of bytes, in the widest form this machine has. All forms give the same integers.
//!
//! A row is unsigned bytes (each 128 above the number it stands for), a query signed ones: the instruction that
//! multiplies bytes wants one of each. The caller takes `128 · Σ query` off the sum.

/// Rows and queries are padded to a multiple of this many bytes; a query with zeros, so the rest of a row does
/// not matter.
pub const LANE: usize = 64;

/// Longest piece of a row whose exact products fit 32 bits: 256 · 127 · 32,512 < 2³¹.
const WIDE_PIECE: usize = 256;

/// Row-major: one row by one query, sixteen rows by one, four by one, four by four, two by eight; the rest is not used.
pub type Sums = [i32; 16];

type Tile<const R: usize, const Q: usize> = fn(&[&[u8]; R], &[&[i8]; Q]) -> Sums;

/// The kernels of one instruction set. Slices of one call must have one length, a multiple of `LANE`.
#[derive(Clone, Copy)]
pub struct Kernels {
    pub name: &'static str,
    pub one: Tile<1, 1>,
    pub sixteen: Tile<16, 1>,
    pub four: Tile<4, 1>,
    pub four_by_four: Tile<4, 4>,
    pub two_by_eight: Tile<2, 8>,
    /// Σ (256 · (high − 128) + low − 128) · query, exactly.
    pub wide: fn(&[u8], &[u8], &[i16]) -> i64,
}

impl Kernels {
    /// The fastest of this machine.
    pub fn here() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vnni") {
                return x86::VNNI;
            }
            if is_x86_feature_detected!("avx2") {
                return x86::AVX2;
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            return neon::NEON;
        }
        PORTABLE
    }
}

pub const PORTABLE: Kernels = Kernels {
    name: "portable",
    one: portable,
    sixteen: portable,
    four: portable,
    four_by_four: portable,
    two_by_eight: portable,
    wide: wide_portable,
};

/// Fetches a row into the cache while something else is computed.
#[inline(always)]
pub fn prefetch(row: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in row.chunks(64) {
        // SAFETY: a prefetch of an address inside a slice reads nothing that the program can see.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.as_ptr().cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}

fn portable<const R: usize, const Q: usize>(rows: &[&[u8]; R], queries: &[&[i8]; Q]) -> Sums {
    let mut sums = [0; 16];
    for (r, row) in rows.iter().enumerate() {
        for (q, query) in queries.iter().enumerate() {
            let products = row.iter().zip(*query).map(|(x, y)| i32::from(*x) * i32::from(*y));
            sums[r * Q + q] = products.sum();
        }
    }
    sums
}

fn wide_portable(high: &[u8], low: &[u8], query: &[i16]) -> i64 {
    wide_body(high, low, query)
}

/// Written for the compiler to spread over whatever registers the caller may use.
#[inline(always)]
fn wide_body(high: &[u8], low: &[u8], query: &[i16]) -> i64 {
    let mut sum = 0;
    let pieces = high.chunks(WIDE_PIECE).zip(low.chunks(WIDE_PIECE)).zip(query.chunks(WIDE_PIECE));
    for ((high, low), query) in pieces {
        let (mut highs, mut lows) = (0i32, 0i32);
        for ((h, l), q) in high.iter().zip(low).zip(query) {
            highs += (i32::from(*h) - 128) * i32::from(*q);
            lows += (i32::from(*l) - 128) * i32::from(*q);
        }
        sum += 256 * i64::from(highs) + i64::from(lows);
    }
    sum
}

/// The common length of all slices, which the vector loads below rely on.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
fn common_length<const R: usize, const Q: usize>(rows: &[&[u8]; R], queries: &[&[i8]; Q]) -> usize {
    let length = rows[0].len();
    let same =
        rows.iter().all(|row| row.len() == length) && queries.iter().all(|query| query.len() == length);
    assert!(same && length.is_multiple_of(LANE) && R * Q <= 16, "slices of unequal or odd length");
    length
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Kernels, Sums, common_length, wide_body};

    // SAFETY, of every call below: `Kernels::here` hands these out only where the features were detected, and
    // the tests skip what the machine lacks.
    pub const VNNI: Kernels = Kernels {
        name: "avx512-vnni",
        one: |row, query| unsafe { vnni(row, query) },
        sixteen: |rows, query| unsafe { vnni(rows, query) },
        four: |rows, query| unsafe { vnni(rows, query) },
        four_by_four: |rows, queries| unsafe { vnni(rows, queries) },
        two_by_eight: |rows, queries| unsafe { vnni(rows, queries) },
        wide: |high, low, query| unsafe { wide_avx512(high, low, query) },
    };

    pub const AVX2: Kernels = Kernels {
        name: "avx2",
        one: |row, query| unsafe { avx2(row, query) },
        sixteen: |rows, query| unsafe { avx2(rows, query) },
        four: |rows, query| unsafe { avx2(rows, query) },
        four_by_four: |rows, queries| unsafe { avx2(rows, queries) },
        two_by_eight: |rows, queries| unsafe { avx2(rows, queries) },
        wide: |high, low, query| unsafe { wide_avx2(high, low, query) },
    };

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn vnni<const R: usize, const Q: usize>(rows: &[&[u8]; R], queries: &[&[i8]; Q]) -> Sums {
        let length = common_length(rows, queries);
        let mut sums = [_mm512_setzero_si512(); 16];
        for at in (0..length).step_by(64) {
            let mut y = [_mm512_setzero_si512(); Q];
            for (y, query) in y.iter_mut().zip(queries) {
                // SAFETY: `at + 64 <= length`, the length of every slice; the load needs no alignment.
                *y = unsafe { _mm512_loadu_si512(query.as_ptr().add(at).cast()) };
            }
            for r in 0..R {
                // SAFETY: as above.
                let x = unsafe { _mm512_loadu_si512(rows[r].as_ptr().add(at).cast()) };
                for q in 0..Q {
                    sums[r * Q + q] = _mm512_dpbusd_epi32(sums[r * Q + q], x, y[q]);
                }
            }
        }
        let mut out = [0; 16];
        // SAFETY: `out` holds the 64 bytes that are stored.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), across(&sums)) };
        out
    }

    /// The sum of the lanes of each register, in order.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn across(sums: &[__m512i; 16]) -> __m512i {
        let two = |a, b| _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let four = |i: usize| {
            let (ab, cd) = (two(sums[i], sums[i + 1]), two(sums[i + 2], sums[i + 3]));
            _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd))
        };
        let halves = |a, b| {
            let even = _mm512_shuffle_i32x4::<0x88>(a, b);
            let odd = _mm512_shuffle_i32x4::<0xdd>(a, b);
            _mm512_add_epi32(even, odd)
        };
        halves(halves(four(0), four(4)), halves(four(8), four(12)))
    }

    #[target_feature(enable = "avx2")]
    fn avx2<const R: usize, const Q: usize>(rows: &[&[u8]; R], queries: &[&[i8]; Q]) -> Sums {
        let length = common_length(rows, queries);
        let mut out = [0; 16];
        for r in 0..R {
            let mut sums = [_mm256_setzero_si256(); Q];
            for at in (0..length).step_by(16) {
                // SAFETY: `at + 16 <= length`, the length of every slice; the loads need no alignment.
                let x = unsafe { _mm256_cvtepu8_epi16(_mm_loadu_si128(rows[r].as_ptr().add(at).cast())) };
                for q in 0..Q {
                    // SAFETY: as above.
                    let y = unsafe { _mm_loadu_si128(queries[q].as_ptr().add(at).cast()) };
                    let products = _mm256_madd_epi16(x, _mm256_cvtepi8_epi16(y));
                    sums[q] = _mm256_add_epi32(sums[q], products);
                }
            }
            for q in 0..Q {
                let (low, high) = (_mm256_castsi256_si128(sums[q]), _mm256_extracti128_si256::<1>(sums[q]));
                let four = _mm_add_epi32(low, high);
                let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b1110>(four));
                out[r * Q + q] = _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<0b01>(two)));
            }
        }
        out
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn wide_avx512(high: &[u8], low: &[u8], query: &[i16]) -> i64 {
        wide_body(high, low, query)
    }

    #[target_feature(enable = "avx2")]
    fn wide_avx2(high: &[u8], low: &[u8], query: &[i16]) -> i64 {
        wide_body(high, low, query)
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use std::arch::aarch64::*;

    use super::{Kernels, Sums, common_length, wide_portable};

    // SAFETY, of every call below: `Kernels::here` hands these out only where NEON was detected.
    pub const NEON: Kernels = Kernels {
        name: "neon",
        one: |row, query| unsafe { neon(row, query) },
        sixteen: |rows, query| unsafe { neon(rows, query) },
        four: |rows, query| unsafe { neon(rows, query) },
        four_by_four: |rows, queries| unsafe { neon(rows, queries) },
        two_by_eight: |rows, queries| unsafe { neon(rows, queries) },
        wide: wide_portable,
    };

    #[target_feature(enable = "neon")]
    fn neon<const R: usize, const Q: usize>(rows: &[&[u8]; R], queries: &[&[i8]; Q]) -> Sums {
        let length = common_length(rows, queries);
        let mut out = [0; 16];
        for r in 0..R {
            let mut sums = [vdupq_n_s32(0); Q];
            for at in (0..length).step_by(8) {
                // SAFETY: `at + 8 <= length`, the length of every slice.
                let x = unsafe { vreinterpretq_s16_u16(vmovl_u8(vld1_u8(rows[r].as_ptr().add(at)))) };
                for q in 0..Q {
                    // SAFETY: as above.
                    let y = unsafe { vmovl_s8(vld1_s8(queries[q].as_ptr().add(at))) };
                    sums[q] = vmlal_s16(sums[q], vget_low_s16(x), vget_low_s16(y));
                    sums[q] = vmlal_high_s16(sums[q], x, y);
                }
            }
            for q in 0..Q {
                out[r * Q + q] = vaddvq_s32(sums[q]);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(n: usize, seed: usize) -> Vec<u8> {
        (0..n).map(|i| (((i * 37 + seed * 101) * 2_654_435_761) >> 7) as u8).collect()
    }

    fn every_kernel() -> Vec<Kernels> {
        let mut all = vec![PORTABLE, Kernels::here()];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            all.push(x86::AVX2);
        }
        all
    }

    #[test]
    fn every_kernel_gives_the_same_integers() {
        for length in [64, 128, 384, 512, 4096] {
            let rows: Vec<Vec<u8>> = (0..16).map(|seed| bytes(length, seed)).collect();
            let mut queries: Vec<Vec<i8>> =
                (20..28).map(|seed| bytes(length, seed).iter().map(|x| *x as i8).collect()).collect();
            queries[3].fill(-128);
            let extremes = vec![255; length];
            let mut rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
            rows[1] = &extremes;
            let queries: Vec<&[i8]> = queries.iter().map(Vec::as_slice).collect();
            let dot = |r: usize, q: usize| -> i32 {
                rows[r].iter().zip(queries[q]).map(|(x, y)| i32::from(*x) * i32::from(*y)).sum()
            };
            for kernels in every_kernel() {
                let Kernels { name, sixteen, four, four_by_four, two_by_eight, .. } = kernels;
                let one = sixteen(&rows[..16].try_into().unwrap(), &[queries[3]]);
                assert_eq!(one, std::array::from_fn(|r| dot(r, 3)), "{name} at {length}");
                let small = four(&rows[..4].try_into().unwrap(), &[queries[0]]);
                assert_eq!(small[..4], [dot(0, 0), dot(1, 0), dot(2, 0), dot(3, 0)], "{name} at {length}");
                let tile = four_by_four(&rows[..4].try_into().unwrap(), &queries[..4].try_into().unwrap());
                assert_eq!(tile, std::array::from_fn(|i| dot(i / 4, i % 4)), "{name} at {length}");
                let tile = two_by_eight(&rows[..2].try_into().unwrap(), &queries[..8].try_into().unwrap());
                assert_eq!(tile, std::array::from_fn(|i| dot(i / 8, i % 8)), "{name} at {length}");
            }
        }
    }

    #[test]
    fn the_wide_kernel_is_exact_at_the_largest_numbers() {
        for kernels in every_kernel() {
            for (high, low, query) in [(255, 255, 32_512), (1, 0, -32_512), (255, 0, -32_512), (7, 99, 1_234)]
            {
                let value = 256 * (i64::from(high) - 128) + i64::from(low) - 128;
                let found = (kernels.wide)(&[high as u8; 4096], &[low as u8; 4096], &[query as i16; 4096]);
                assert_eq!(found, 4096 * value * i64::from(query), "{}", kernels.name);
            }
        }
    }
}
