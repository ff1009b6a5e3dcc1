//! Vectors of length one as integers: 16 bits a number with one scale a row, in two planes of bytes. The high
//! bytes alone are what a scan and the graph read, at a quarter of float32; both together are within 4e-5 of it.

use super::kernels::{Kernels, LANE, prefetch};

/// What the largest number of a row becomes: 127 in the high byte, nothing in the low one.
const LARGEST: f32 = 32_512.0;

/// Queries that one pass over the rows answers.
pub const BLOCK: usize = 8;

/// Rows between a prefetch and its use.
const AHEAD: usize = 16;

/// A vector's high bytes as what rows are compared with: a query's, or those of another row.
#[derive(Clone, Debug)]
pub struct Signed {
    high: Vec<i8>,
    /// 128 · Σ high.
    bias: i32,
    /// The largest number, in absolute terms.
    largest: f32,
}

impl Signed {
    fn new(high: &[u8], largest: f32) -> Self {
        let high: Vec<i8> = high.iter().map(|x| signed(*x)).collect();
        let bias = 128 * high.iter().map(|x| i32::from(*x)).sum::<i32>();
        Signed { high, bias, largest }
    }

    /// What a sum of products, times the row's largest number, is to be multiplied with to get the cosine.
    fn unit(&self) -> f32 {
        self.largest / (127.0 * 127.0)
    }
}

/// A query of length one.
#[derive(Clone, Debug)]
pub struct Query {
    pub plain: Vec<f32>,
    pub signed: Signed,
    wide: Vec<i16>,
    /// Length of what the high bytes leave out.
    pub error: f32,
}

impl Query {
    /// Of a vector of length one.
    pub fn new(vector: &[f32]) -> Self {
        let mut row = Row::new(vector);
        row.pad();
        let wide = row.numbers().collect();
        let signed = Signed::new(&row.high, row.largest);
        Query { plain: vector.to_vec(), signed, wide, error: row.error }
    }
}

/// One vector, coded.
struct Row {
    high: Vec<u8>,
    low: Vec<u8>,
    largest: f32,
    error: f32,
}

impl Row {
    fn new(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0f32, |most, x| most.max(x.abs()));
        let mut row = Row { high: Vec::new(), low: Vec::new(), largest, error: 0.0 };
        let mut left = 0.0;
        for x in vector {
            let number = (x / largest * LARGEST).round() as i32;
            let high = (number + 128) >> 8;
            row.high.push((high + 128) as u8);
            row.low.push((number - 256 * high + 128) as u8);
            let rest = x - high as f32 / 127.0 * largest;
            left += rest * rest;
        }
        row.error = left.sqrt();
        row
    }

    fn pad(&mut self) {
        let padded = self.high.len().next_multiple_of(LANE);
        self.high.resize(padded, 128);
        self.low.resize(padded, 128);
    }

    fn numbers(&self) -> impl Iterator<Item = i16> {
        self.high.iter().zip(&self.low).map(|(high, low)| number(*high, *low))
    }
}

fn signed(byte: u8) -> i8 {
    (byte ^ 0x80) as i8
}

fn number(high: u8, low: u8) -> i16 {
    256 * i16::from(signed(high)) + i16::from(signed(low))
}

/// All rows of a collection.
#[derive(Default)]
pub struct Rows {
    dimension: usize,
    stride: usize,
    high: Vec<u8>,
    low: Vec<u8>,
    largest: Vec<f32>,
    /// The largest error of the high bytes of any row.
    error: f32,
}

impl Rows {
    pub fn new(dimension: usize) -> Self {
        Rows { dimension, stride: dimension.next_multiple_of(LANE), ..Rows::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.largest.is_empty()
    }

    pub fn len(&self) -> usize {
        self.largest.len()
    }

    /// Appends a vector of length one.
    pub fn push(&mut self, vector: &[f32]) {
        let mut row = Row::new(vector);
        row.pad();
        self.high.extend_from_slice(&row.high);
        self.low.extend_from_slice(&row.low);
        self.largest.push(row.largest);
        self.error = self.error.max(row.error);
    }

    /// Appends a row of another collection of the same dimension, as it is.
    pub fn push_from(&mut self, other: &Rows, row: usize) {
        self.high.extend_from_slice(other.high_of(row));
        self.low.extend_from_slice(other.low_of(row));
        self.largest.push(other.largest[row]);
        self.error = self.error.max(other.error);
    }

    /// The three parts a snapshot keeps.
    pub fn parts(&self) -> (&[u8], &[u8], &[f32]) {
        (&self.high, &self.low, &self.largest)
    }

    /// From the parts of a snapshot; None when they do not fit.
    pub fn from_parts(
        dimension: usize,
        high: Vec<u8>,
        low: Vec<u8>,
        largest: Vec<f32>,
        error: f32,
    ) -> Option<Self> {
        let rows = Rows { high, low, largest, error, ..Rows::new(dimension) };
        let fits = rows.high.len() == rows.len() * rows.stride && rows.low.len() == rows.high.len();
        let sound = rows.largest.iter().all(|x| (f32::MIN_POSITIVE..=1.001).contains(x)) && error.is_finite();
        (fits && sound).then_some(rows)
    }

    pub fn error(&self) -> f32 {
        self.error
    }

    /// The row as float32, within 2e-5 of what was pushed.
    pub fn plain(&self, row: usize) -> Vec<f32> {
        self.numbers(row).map(|x| (f32::from(x) / LARGEST) * self.largest[row]).collect()
    }

    /// Adds or, with sign −1, takes off a row from a sum.
    pub fn add_to(&self, row: usize, sign: f64, sum: &mut [f64]) {
        let unit = sign * f64::from(self.largest[row]) / f64::from(LARGEST);
        for (s, x) in sum.iter_mut().zip(self.numbers(row)) {
            *s += unit * f64::from(x);
        }
    }

    pub fn signed(&self, row: usize) -> Signed {
        Signed::new(self.high_of(row), self.largest[row])
    }

    /// The cosine of a query and a row, from both planes: an exact sum of integers, so the same on any machine.
    pub fn cosine(&self, kernels: Kernels, query: &Query, row: usize) -> f32 {
        let sum = (kernels.wide)(self.high_of(row), self.low_of(row), &query.wide);
        let unit =
            f64::from(query.signed.largest) * f64::from(self.largest[row]) / f64::from(LARGEST * LARGEST);
        ((sum as f64 * unit) as f32).clamp(-1.0, 1.0)
    }

    #[inline]
    pub fn prefetch(&self, row: usize) {
        prefetch(self.high_of(row));
    }

    /// Fetches what `cosine` reads.
    pub fn prefetch_whole(&self, row: usize) {
        prefetch(self.high_of(row));
        prefetch(self.low_of(row));
    }

    /// Appends the cosine of a probe and each of `rows`, by the high bytes.
    #[inline]
    pub fn near(&self, kernels: Kernels, probe: &Signed, rows: &[u32], cosines: &mut Vec<f32>) {
        let query = [probe.high.as_slice()];
        let (unit, bias) = (probe.unit(), probe.bias);
        let mut put = |rows: &[u32], sums: &[i32]| {
            let each = rows.iter().zip(sums);
            cosines.extend(each.map(|(row, sum)| self.scaled(*row, sum - bias, unit)));
        };
        let (whole, rest) = rows.as_chunks::<16>();
        for piece in whole {
            put(piece, &(kernels.sixteen)(&piece.map(|row| self.high_of(row as usize)), &query));
        }
        let of = |i: usize| self.high_of(rest[i.min(rest.len() - 1)] as usize);
        match rest.len() {
            0 => {}
            1..=4 => put(rest, &(kernels.four)(&std::array::from_fn(of), &query)),
            _ => put(rest, &(kernels.sixteen)(&std::array::from_fn(of), &query)),
        }
    }

    /// The cosine of a probe and one row, by the high bytes.
    pub fn near_one(&self, kernels: Kernels, probe: &Signed, row: usize) -> f32 {
        let sums = (kernels.one)(&[self.high_of(row)], &[&probe.high]);
        self.scaled(row as u32, sums[0] - probe.bias, probe.unit())
    }

    /// The cosines of up to `BLOCK` queries and each of `rows` by the high bytes, in one pass over the rows.
    pub fn near_block(&self, kernels: Kernels, queries: &[&Query], rows: &[u32]) -> Vec<Vec<f32>> {
        let mut cosines: Vec<Vec<f32>> = queries.iter().map(|_| Vec::with_capacity(rows.len())).collect();
        let count = queries.len();
        let high = |q: usize| queries[q.min(count - 1)].signed.high.as_slice();
        let (four, eight): ([&[i8]; 4], [&[i8]; 8]) = match count {
            0 => return cosines,
            _ => (std::array::from_fn(high), std::array::from_fn(high)),
        };
        for (number, piece) in rows.chunks(AHEAD).enumerate() {
            self.fetch(rows, (number + 1) * AHEAD);
            match count {
                1 => self.near(kernels, &queries[0].signed, piece, &mut cosines[0]),
                2..=4 => {
                    for rows in piece.chunks(4) {
                        let of = |i: usize| self.high_of(rows[i.min(rows.len() - 1)] as usize);
                        let sums = (kernels.four_by_four)(&std::array::from_fn(of), &four);
                        self.put(queries, rows, sums.as_chunks::<4>().0, &mut cosines);
                    }
                }
                _ => {
                    for rows in piece.chunks(2) {
                        let of = |i: usize| self.high_of(rows[i.min(rows.len() - 1)] as usize);
                        let sums = (kernels.two_by_eight)(&std::array::from_fn(of), &eight);
                        self.put(queries, rows, sums.as_chunks::<8>().0, &mut cosines);
                    }
                }
            }
        }
        cosines
    }

    /// Fetches the `AHEAD` rows from a place on, unless they lie in a row: the machine sees that by itself.
    fn fetch(&self, rows: &[u32], from: usize) {
        if let Some(next) = rows.get(from..rows.len().min(from + AHEAD))
            && let (Some(first), Some(last)) = (next.first(), next.last())
            && (last - first) as usize >= next.len()
        {
            next.iter().for_each(|row| self.prefetch(*row as usize));
        }
    }

    pub fn bytes(&self) -> usize {
        self.high.len() + self.low.len() + 4 * self.largest.len()
    }

    #[inline]
    fn put<const Q: usize>(
        &self,
        queries: &[&Query],
        rows: &[u32],
        sums: &[[i32; Q]],
        cosines: &mut [Vec<f32>],
    ) {
        for (row, sums) in rows.iter().zip(sums) {
            for ((query, sum), cosines) in queries.iter().zip(sums).zip(cosines.iter_mut()) {
                cosines.push(self.scaled(*row, sum - query.signed.bias, query.signed.unit()));
            }
        }
    }

    #[inline(always)]
    fn scaled(&self, row: u32, sum: i32, unit: f32) -> f32 {
        sum as f32 * (unit * self.largest[row as usize])
    }

    fn numbers(&self, row: usize) -> impl Iterator<Item = i16> {
        let each = self.high_of(row).iter().zip(self.low_of(row)).take(self.dimension);
        each.map(|(high, low)| number(*high, *low))
    }

    #[inline(always)]
    fn high_of(&self, row: usize) -> &[u8] {
        &self.high[row * self.stride..(row + 1) * self.stride]
    }

    fn low_of(&self, row: usize) -> &[u8] {
        &self.low[row * self.stride..(row + 1) * self.stride]
    }
}
