//! Vectors of one collection: exact dot products over rows, and a graph (usearch) for large collections.
//!
//! A memory's slot owns one or more contiguous rows, one a passage. Rows are only ever appended; the rows of
//! removed memories stay until the collection compacts itself.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex, RwLock};
use usearch::{IndexOptions, MetricKind, ScalarKind};

use crate::error::{Error, Result};

const CONNECTIVITY: usize = 16;
const EXPANSION_ADD: usize = 128;
const FIRST_CAPACITY: usize = 4096;

/// Scales a vector to length one. Refuses what has no direction: zero, NaN, infinity.
pub fn normalise(vector: &mut [f32]) -> std::result::Result<(), String> {
    if let Some(i) = vector.iter().position(|x| !x.is_finite()) {
        return Err(format!("element {i} is {}; all must be finite", vector[i]));
    }
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if length == 0.0 {
        return Err("all zero; a vector needs a direction".to_owned());
    }
    for x in vector {
        *x = (f64::from(*x) / length) as f32;
    }
    Ok(())
}

/// Reads packed little-endian f32.
pub fn unpack(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Writes packed little-endian f32.
pub fn pack(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The vectors of a collection, all of length one.
pub struct Vectors {
    dimension: usize,
    data: Vec<f32>,
    row_slot: Vec<u32>,
    /// First row of each slot, and the end of the last.
    first_row: Vec<u32>,
    /// Sum over the rows of live memories.
    sum: Vec<f64>,
    live_rows: usize,
    graph: Option<Arc<Graph>>,
}

impl Vectors {
    pub fn new(dimension: usize) -> Self {
        Vectors {
            dimension,
            data: Vec::new(),
            row_slot: Vec::new(),
            first_row: vec![0],
            sum: vec![0.0; dimension],
            live_rows: 0,
            graph: None,
        }
    }

    /// Appends the rows of the next slot: `n · dimension` numbers, already of length one.
    pub fn push(&mut self, rows: &[f32], live: bool) {
        let slot = self.slots() as u32;
        let count = rows.len() / self.dimension;
        self.data.extend_from_slice(rows);
        self.row_slot.extend(std::iter::repeat_n(slot, count));
        self.first_row.push(self.row_slot.len() as u32);
        if live {
            self.live_rows += count;
            add(&mut self.sum, rows, 1.0);
        }
    }

    /// Takes a live slot out of the centroid; its rows stay.
    pub fn remove(&mut self, slot: u32) {
        let range = self.rows_of(slot);
        self.live_rows -= range.len();
        let dimension = self.dimension;
        let rows = &self.data[range.start * dimension..range.end * dimension];
        add(&mut self.sum, rows, -1.0);
    }

    pub fn dimension(&self) -> usize {
        self.dimension
    }

    pub fn slots(&self) -> usize {
        self.first_row.len() - 1
    }

    pub fn rows(&self) -> usize {
        self.row_slot.len()
    }

    pub fn live_rows(&self) -> usize {
        self.live_rows
    }

    pub fn slot_of(&self, row: usize) -> u32 {
        self.row_slot[row]
    }

    pub fn row(&self, row: usize) -> &[f32] {
        &self.data[row * self.dimension..(row + 1) * self.dimension]
    }

    pub fn of(&self, slot: u32) -> &[f32] {
        let range = self.rows_of(slot);
        &self.data[range.start * self.dimension..range.end * self.dimension]
    }

    /// Dot product of a query with the sum of all live rows.
    pub fn dot_with_sum(&self, query: &[f32]) -> f64 {
        query.iter().zip(&self.sum).map(|(q, s)| f64::from(*q) * s).sum()
    }

    /// Cosine of a query (of length one) with the best row of each slot, and which row of the slot that was.
    pub fn best(&self, query: &[f32], slots: impl Iterator<Item = u32>) -> (Vec<f32>, Vec<u32>) {
        let dot = dot_kernel();
        let mut cosines = Vec::with_capacity(slots.size_hint().0);
        let mut passages = Vec::with_capacity(slots.size_hint().0);
        for slot in slots {
            let range = self.rows_of(slot);
            let mut best = (f32::NEG_INFINITY, 0);
            for (passage, row) in range.enumerate() {
                let cosine = dot(query, self.row(row));
                if cosine > best.0 {
                    best = (cosine, passage as u32);
                }
            }
            cosines.push(best.0.clamp(-1.0, 1.0));
            passages.push(best.1);
        }
        (cosines, passages)
    }

    pub fn graph(&self) -> Option<&Arc<Graph>> {
        self.graph.as_ref()
    }

    pub fn set_graph(&mut self, graph: Option<Arc<Graph>>) {
        self.graph = graph;
    }

    /// Rows that the graph holds: always the first ones.
    pub fn rows_in_graph(&self) -> usize {
        self.graph.as_ref().map_or(0, |graph| graph.rows().min(self.rows()))
    }

    pub fn first_rows(&self) -> &[u32] {
        &self.first_row
    }

    pub fn data(&self) -> &[f32] {
        &self.data
    }

    pub fn bytes(&self) -> usize {
        let graph = self.graph.as_ref().map_or(0, |graph| graph.bytes(self.dimension));
        self.data.capacity() * 4 + (self.row_slot.capacity() + self.first_row.capacity()) * 4 + graph
    }

    fn rows_of(&self, slot: u32) -> Range<usize> {
        let slot = slot as usize;
        self.first_row[slot] as usize..self.first_row[slot + 1] as usize
    }
}

fn add(sum: &mut [f64], rows: &[f32], sign: f64) {
    for row in rows.chunks_exact(sum.len()) {
        for (s, x) in sum.iter_mut().zip(row) {
            *s += sign * f64::from(*x);
        }
    }
}

type Dot = fn(&[f32], &[f32]) -> f32;

/// The fastest dot product of this machine.
fn dot_kernel() -> Dot {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the features the function is compiled for were just detected.
        return |a, b| unsafe { dot_avx2(a, b) };
    }
    dot_portable
}

/// `a · b` over the shorter of the two. Written out because the compiler does not find it by itself.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn dot_avx2(a: &[f32], b: &[f32]) -> f32 {
    use std::arch::x86_64::{
        _mm_add_ps, _mm_cvtss_f32, _mm_hadd_ps, _mm256_add_ps, _mm256_castps256_ps128, _mm256_extractf128_ps,
        _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_setzero_ps,
    };
    const WIDTH: usize = 8;
    const SUMS: usize = 4;
    let mut sums = [_mm256_setzero_ps(); SUMS];
    let (a_blocks, b_blocks) = (a.chunks_exact(SUMS * WIDTH), b.chunks_exact(SUMS * WIDTH));
    let rest = dot_portable(a_blocks.remainder(), b_blocks.remainder());
    for (x, y) in a_blocks.zip(b_blocks) {
        for (i, sum) in sums.iter_mut().enumerate() {
            // SAFETY: a block holds SUMS * WIDTH numbers, i < SUMS, and the loads need no alignment.
            let (x, y) = unsafe {
                (_mm256_loadu_ps(x.as_ptr().add(i * WIDTH)), _mm256_loadu_ps(y.as_ptr().add(i * WIDTH)))
            };
            *sum = _mm256_fmadd_ps(x, y, *sum);
        }
    }
    let sum = _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
    let four = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps::<1>(sum));
    let two = _mm_hadd_ps(four, four);
    _mm_cvtss_f32(_mm_hadd_ps(two, two)) + rest
}

fn dot_portable(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0f32; LANES];
    let (a_blocks, b_blocks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = a_blocks.remainder().iter().zip(b_blocks.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_blocks.zip(b_blocks) {
        for i in 0..LANES {
            sums[i] += x[i] * y[i];
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// Nearest rows by a bf16 graph; approximate, so its answers are scored again from the exact rows.
///
/// usearch reserves scratch space for a fixed number of callers and crashes or errs beyond it, and must not
/// reserve while anyone is inside: `permits` caps the callers, `index` is write-locked to reserve.
pub struct Graph {
    index: RwLock<usearch::Index>,
    /// Held while rows are added or the graph is saved, so that a saved graph is whole.
    adding: Mutex<()>,
    rows: AtomicUsize,
    permits: Permits,
}

impl Graph {
    pub fn new(dimension: usize) -> Result<Self> {
        let index = usearch::Index::new(&options(dimension)).map_err(usearch_error)?;
        let permits = Permits::for_this_machine();
        index.reserve_capacity_and_threads(FIRST_CAPACITY, permits.total).map_err(usearch_error)?;
        Ok(Graph { index: RwLock::new(index), adding: Mutex::new(()), rows: AtomicUsize::new(0), permits })
    }

    /// Rows 0..rows() were offered to the graph (dead ones may have been left out).
    pub fn rows(&self) -> usize {
        self.rows.load(Ordering::Acquire)
    }

    /// Adds `vectors` as the rows from `first` on; None skips a row. `first` must be `rows()`.
    pub fn add(&self, first: usize, vectors: &[Option<Vec<f32>>]) -> Result<()> {
        let _adding = self.adding.lock();
        if first != self.rows() {
            return Err(Error::Internal(format!(
                "graph holds {} rows, cannot add from {first} on",
                self.rows()
            )));
        }
        let needed = first + vectors.len();
        if needed > self.index.read().capacity() {
            self.index
                .write()
                .reserve_capacity_and_threads(needed.next_power_of_two(), self.permits.total)
                .map_err(usearch_error)?;
        }
        for (i, vector) in vectors.iter().enumerate() {
            if let Some(vector) = vector {
                let _permit = self.permits.take();
                self.index.read().add((first + i) as u64, vector).map_err(usearch_error)?;
            }
            self.rows.store(first + i + 1, Ordering::Release);
        }
        Ok(())
    }

    /// The rows nearest to a query, about `count` of them, among those that `allowed` lets through (None: all).
    /// `allowed` must not panic: a panic inside usearch ends the process.
    pub fn nearest(
        &self,
        query: &[f32],
        count: usize,
        allowed: Option<&dyn Fn(usize) -> bool>,
    ) -> Result<Vec<usize>> {
        let _permit = self.permits.take();
        let index = self.index.read();
        let matches = match allowed {
            None => index.search(query, count),
            Some(allowed) => index.filtered_search(query, count, |row| allowed(row as usize)),
        };
        let matches = matches.map_err(usearch_error)?;
        Ok(matches.keys.iter().map(|row| *row as usize).collect())
    }

    /// The number of rows and the bytes `load` takes.
    pub fn save(&self) -> Result<(usize, Vec<u8>)> {
        let _adding = self.adding.lock();
        let index = self.index.read();
        let mut bytes = vec![0; index.serialized_length()];
        index.save_to_buffer(&mut bytes).map_err(usearch_error)?;
        Ok((self.rows(), bytes))
    }

    /// A graph from the bytes of `save`, whose integrity the caller has checked: usearch does not.
    pub fn load(dimension: usize, rows: usize, bytes: &[u8]) -> Result<Self> {
        let graph = Graph::new(dimension)?;
        {
            let index = graph.index.write();
            index.load_from_buffer(bytes).map_err(usearch_error)?;
            if index.dimensions() != dimension || index.size() > rows {
                return Err(Error::Internal("the saved graph is of another shape".to_owned()));
            }
            // loading shrinks the reservation again
            index
                .reserve_capacity_and_threads(rows.max(FIRST_CAPACITY), graph.permits.total)
                .map_err(usearch_error)?;
        }
        graph.rows.store(rows, Ordering::Release);
        Ok(graph)
    }

    /// An estimate: usearch's own figure walks all nodes, and crashes while one is added.
    fn bytes(&self, dimension: usize) -> usize {
        let links = 4 * 2 * CONNECTIVITY + 4;
        self.rows() * (2 * dimension + links + 48)
    }
}

fn options(dimension: usize) -> IndexOptions {
    IndexOptions {
        dimensions: dimension,
        metric: MetricKind::IP,
        quantization: ScalarKind::BF16,
        connectivity: CONNECTIVITY,
        expansion_add: EXPANSION_ADD,
        // a search's own `count` is its expansion; this is only the floor
        expansion_search: 16,
        multi: false,
    }
}

fn usearch_error(error: impl std::fmt::Display) -> Error {
    Error::Internal(format!("vector graph: {error}"))
}

/// A counting semaphore.
struct Permits {
    total: usize,
    free: Mutex<usize>,
    freed: Condvar,
}

impl Permits {
    fn for_this_machine() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, |n| n.get());
        let total = (2 * cores).max(4);
        Permits { total, free: Mutex::new(total), freed: Condvar::new() }
    }

    fn take(&self) -> Permit<'_> {
        let mut free = self.free.lock();
        while *free == 0 {
            self.freed.wait(&mut free);
        }
        *free -= 1;
        Permit(self)
    }
}

struct Permit<'a>(&'a Permits);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, seed: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 37 + seed * 101) % 97) as f32 / 48.0 - 1.0).collect()
    }

    #[test]
    fn every_kernel_gives_the_dot_product_at_every_length() {
        for n in (0..70).chain([384, 512, 1000]) {
            let (a, b) = (numbers(n, 1), numbers(n, 2));
            let exact: f64 = a.iter().zip(&b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
            for kernel in [dot_kernel(), dot_portable] {
                let error = (f64::from(kernel(&a, &b)) - exact).abs();
                assert!(error < 1e-4, "length {n}: off by {error}");
            }
        }
    }

    #[test]
    fn normalised_vectors_have_length_one_and_others_are_refused() {
        let mut vector = vec![3e30, 4e30];
        normalise(&mut vector).unwrap();
        assert!((vector[0] - 0.6).abs() < 1e-6 && (vector[1] - 0.8).abs() < 1e-6, "{vector:?}");
        let mut tiny = vec![1e-40, 0.0];
        normalise(&mut tiny).unwrap();
        assert_eq!(tiny, [1.0, 0.0]);
        for (mut bad, why) in [(vec![0.0, 0.0], "all zero"), (vec![1.0, f32::NAN], "element 1 is NaN")] {
            assert!(normalise(&mut bad).unwrap_err().starts_with(why));
        }
    }

    #[test]
    fn the_best_row_of_a_slot_counts_and_removed_rows_leave_the_sum() {
        let mut vectors = Vectors::new(2);
        vectors.push(&[1.0, 0.0, 0.0, 1.0], true);
        vectors.push(&[0.6, 0.8], true);
        let (cosines, passages) = vectors.best(&[0.0, 1.0], [0, 1].into_iter());
        assert_eq!((cosines, passages), (vec![1.0, 0.8], vec![1, 0]));
        assert!((vectors.dot_with_sum(&[0.0, 1.0]) - 1.8).abs() < 1e-6);
        vectors.remove(0);
        assert!((vectors.dot_with_sum(&[0.0, 1.0]) - 0.8).abs() < 1e-6);
        assert_eq!((vectors.live_rows(), vectors.rows(), vectors.slots()), (1, 3, 2));
    }

    #[test]
    fn a_graph_skips_rows_saves_and_loads() {
        let graph = Graph::new(8).unwrap();
        let rows: Vec<Option<Vec<f32>>> = (0..100)
            .map(|i| {
                let mut vector = numbers(8, i);
                normalise(&mut vector).unwrap();
                (i % 10 != 3).then_some(vector)
            })
            .collect();
        graph.add(0, &rows[..60]).unwrap();
        graph.add(60, &rows[60..]).unwrap();
        assert!(graph.add(60, &rows[60..]).is_err());
        let query = rows[42].as_ref().unwrap();
        assert!(graph.nearest(query, 20, None).unwrap().contains(&42));
        let even = |row: usize| row & 1 == 0;
        let found = graph.nearest(query, 20, Some(&even)).unwrap();
        assert!(found.len() == 20 && found.iter().all(|row| row & 1 == 0 && row % 10 != 3), "{found:?}");
        let (count, bytes) = graph.save().unwrap();
        let loaded = Graph::load(8, count, &bytes).unwrap();
        assert_eq!(
            (loaded.rows(), loaded.nearest(query, 20, None).unwrap()),
            (100, graph.nearest(query, 20, None).unwrap())
        );
        assert!(Graph::load(9, count, &bytes).is_err());
    }

    #[test]
    fn more_callers_than_permits_wait_their_turn() {
        let graph = Graph::new(8).unwrap();
        let rows: Vec<Option<Vec<f32>>> = (0..500).map(|i| Some(numbers(8, i))).collect();
        std::thread::scope(|scope| {
            for i in 0..64 {
                let (graph, rows) = (&graph, &rows);
                scope.spawn(move || {
                    for _ in 0..20 {
                        graph.nearest(rows[i].as_ref().unwrap(), 5, None).unwrap();
                    }
                });
            }
            // grows past its first capacity while they search
            for first in (0..5_000).step_by(500) {
                graph.add(first, &rows).unwrap();
            }
        });
        assert_eq!(graph.rows(), 5_000);
        assert_eq!(*graph.permits.free.lock(), graph.permits.total);
    }
}
