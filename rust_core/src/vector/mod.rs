//! Vectors of one collection: their rows as integers, exact scans over them, and a graph for large collections.
//!
//! A memory's slot owns one or more contiguous rows, one a passage. Rows are only ever appended; the rows of
//! removed memories stay until the collection compacts itself.

mod graph;
mod kernels;
mod rows;

use std::ops::Range;
use std::sync::Arc;

use crate::error::Result;

pub use graph::Graph;
pub use kernels::Kernels;
pub use rows::{BLOCK, Query, Rows};

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
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

/// Writes packed little-endian f32.
pub fn pack(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The vectors of a collection, all of length one.
pub struct Vectors {
    dimension: usize,
    kernels: Kernels,
    rows: Rows,
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
            kernels: Kernels::here(),
            rows: Rows::new(dimension),
            row_slot: Vec::new(),
            first_row: vec![0],
            sum: vec![0.0; dimension],
            live_rows: 0,
            graph: None,
        }
    }

    /// From what a snapshot keeps, `live` telling which slots are; None when the parts do not fit together.
    pub fn restore(
        dimension: usize,
        rows: Rows,
        first_row: Vec<u32>,
        live: impl Fn(u32) -> bool,
        sum: Vec<f64>,
        graph: Option<Graph>,
    ) -> Option<Self> {
        let ends = first_row.first() == Some(&0) && first_row.last() == Some(&(rows.len() as u32));
        let ascending = first_row.windows(2).all(|rows| rows[0] < rows[1]);
        if !ends || !ascending || sum.len() != dimension || sum.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let mut row_slot = Vec::with_capacity(rows.len());
        let mut live_rows = 0;
        for (slot, range) in first_row.windows(2).enumerate() {
            let count = (range[1] - range[0]) as usize;
            row_slot.extend(std::iter::repeat_n(slot as u32, count));
            live_rows += if live(slot as u32) { count } else { 0 };
        }
        let graph = graph.map(Arc::new);
        Some(Vectors {
            dimension,
            kernels: Kernels::here(),
            rows,
            row_slot,
            first_row,
            sum,
            live_rows,
            graph,
        })
    }

    /// Appends the rows of the next slot: `n · dimension` numbers, each `dimension` of length one.
    pub fn push(&mut self, vectors: &[f32]) {
        let first = self.rows.len();
        vectors.chunks_exact(self.dimension).for_each(|vector| self.rows.push(vector));
        self.take_in(first);
    }

    /// Appends the rows of a slot of another collection of the same dimension.
    pub fn push_from(&mut self, other: &Vectors, slot: u32) {
        let first = self.rows.len();
        other.rows_of(slot).for_each(|row| self.rows.push_from(&other.rows, row));
        self.take_in(first);
    }

    fn take_in(&mut self, first: usize) {
        let slot = self.slots() as u32;
        let rows = first..self.rows.len();
        self.row_slot.extend(std::iter::repeat_n(slot, rows.len()));
        self.first_row.push(rows.end as u32);
        self.live_rows += rows.len();
        rows.for_each(|row| self.rows.add_to(row, 1.0, &mut self.sum));
    }

    /// Takes a live slot out of the centroid; its rows stay.
    pub fn remove(&mut self, slot: u32) {
        let range = self.rows_of(slot);
        self.live_rows -= range.len();
        range.for_each(|row| self.rows.add_to(row, -1.0, &mut self.sum));
    }

    pub fn dimension(&self) -> usize {
        self.dimension
    }

    pub fn kernels(&self) -> Kernels {
        self.kernels
    }

    pub fn slots(&self) -> usize {
        self.first_row.len() - 1
    }

    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    pub fn live_rows(&self) -> usize {
        self.live_rows
    }

    pub fn slot_of(&self, row: usize) -> u32 {
        self.row_slot[row]
    }

    /// The vectors of a slot as float32, one after the other.
    pub fn of(&self, slot: u32) -> Vec<f32> {
        self.rows_of(slot).flat_map(|row| self.rows.plain(row)).collect()
    }

    pub fn sum(&self) -> &[f64] {
        &self.sum
    }

    /// Dot product of a query with the sum of all live rows.
    pub fn dot_with_sum(&self, query: &Query) -> f64 {
        query.plain.iter().zip(&self.sum).map(|(q, s)| f64::from(*q) * s).sum()
    }

    /// Cosine of a query with the best row of a slot, and which row of the slot that was.
    pub fn best(&self, query: &Query, slot: u32) -> (f32, u32) {
        let cosines = self.rows_of(slot).map(|row| self.rows.cosine(self.kernels, query, row));
        let mut best = (f32::NEG_INFINITY, 0);
        for (passage, cosine) in cosines.enumerate() {
            if cosine > best.0 {
                best = (cosine, passage as u32);
            }
        }
        best
    }

    /// Which row of a slot is nearest to a query.
    pub fn passage(&self, query: &Query, slot: u32) -> u32 {
        if self.rows_of(slot).len() == 1 { 0 } else { self.best(query, slot).1 }
    }

    /// Fetches the rows of a slot into the cache while something else is computed.
    pub fn prefetch(&self, slot: u32) {
        self.rows_of(slot).for_each(|row| self.rows.prefetch_whole(row));
    }

    /// For each of up to `BLOCK` queries the cosine with the best row of each slot by the high bytes alone, off
    /// by `margin` at most; one pass over the rows.
    pub fn near(&self, queries: &[&Query], slots: &[u32]) -> Vec<Vec<f32>> {
        if self.slots() == self.rows.len() {
            return self.rows.near_block(self.kernels, queries, slots); // a row a slot, under the same number
        }
        let rows: Vec<u32> =
            slots.iter().flat_map(|slot| self.rows_of(*slot)).map(|row| row as u32).collect();
        let cosines = self.rows.near_block(self.kernels, queries, &rows);
        let best_of_each = |cosines: Vec<f32>| {
            let mut rest = &cosines[..];
            let best_of = |slot: &u32| {
                let (own, others) = rest.split_at(self.rows_of(*slot).len());
                rest = others;
                own.iter().copied().fold(f32::NEG_INFINITY, f32::max)
            };
            slots.iter().map(best_of).collect()
        };
        cosines.into_iter().map(best_of_each).collect()
    }

    /// How far a cosine by the high bytes may be off. What they leave out has the given lengths and no direction
    /// in common with the other side, so its product is about normal with a deviation of length / √dimension:
    /// six of these, and never more than the lengths themselves allow.
    pub fn margin(&self, query: &Query) -> f32 {
        let lengths = query.error + self.rows.error() * (1.0 + query.error);
        let share = 6.0 / (self.dimension as f32).sqrt();
        1e-5 + lengths * share.min(1.0)
    }

    /// Rows that the graph finds near a query, among those of slots that are allowed (None: all).
    pub fn by_graph(
        &self,
        graph: &Graph,
        query: &Query,
        count: usize,
        allowed: Option<&dyn Fn(u32) -> bool>,
    ) -> Result<Vec<u32>> {
        let of_row = |row: u32| {
            let slot = self.row_slot.get(row as usize);
            slot.is_some_and(|slot| allowed.is_none_or(|allowed| allowed(*slot)))
        };
        let filter: Option<&dyn Fn(u32) -> bool> = if allowed.is_some() { Some(&of_row) } else { None };
        graph.nearest(self.kernels, &self.rows, query, count, filter)
    }

    pub fn graph(&self) -> Option<&Arc<Graph>> {
        self.graph.as_ref()
    }

    pub fn set_graph(&mut self, graph: Option<Arc<Graph>>) {
        self.graph = graph;
    }

    /// Rows that the graph holds: always the first ones.
    pub fn rows_in_graph(&self) -> usize {
        self.graph.as_ref().map_or(0, |graph| graph.rows().min(self.rows.len()))
    }

    pub fn first_rows(&self) -> &[u32] {
        &self.first_row
    }

    pub fn bytes(&self) -> usize {
        let graph = self.graph.as_ref().map_or(0, |graph| graph.bytes());
        self.rows.bytes() + (self.row_slot.len() + self.first_row.len()) * 4 + graph
    }

    fn rows_of(&self, slot: u32) -> Range<usize> {
        let slot = slot as usize;
        self.first_row[slot] as usize..self.first_row[slot + 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, seed: usize) -> Vec<f32> {
        let mut vector: Vec<f32> = (0..n)
            .map(|i| ((((i * 37 + seed * 101) * 2_654_435_761) >> 9) % 997) as f32 / 498.0 - 1.0)
            .collect();
        normalise(&mut vector).unwrap();
        vector
    }

    fn exact(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>() as f32
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
        vectors.push(&[1.0, 0.0, 0.0, 1.0]);
        vectors.push(&[0.6, 0.8]);
        let query = Query::new(&[0.0, 1.0]);
        assert_eq!(vectors.best(&query, 0), (1.0, 1));
        assert!((vectors.best(&query, 1).0 - 0.8).abs() < 1e-5);
        let near = &vectors.near(&[&query], &[0, 1])[0];
        assert!(near[0] == 1.0 && (near[1] - 0.8).abs() < 0.01, "{near:?}");
        assert!((vectors.dot_with_sum(&query) - 1.8).abs() < 1e-4);
        vectors.remove(0);
        assert!((vectors.dot_with_sum(&query) - 0.8).abs() < 1e-4);
        assert_eq!((vectors.live_rows(), vectors.rows().len(), vectors.slots()), (1, 3, 2));
        let mut copy = Vectors::new(2);
        copy.push_from(&vectors, 1);
        assert_eq!(copy.of(0), vectors.of(1));
        assert_eq!(copy.sum(), vectors.sum());
    }

    #[test]
    fn cosines_are_near_those_of_float32_and_within_the_margin() {
        for dimension in [1, 6, 64, 100, 384, 1000] {
            let mut vectors = Vectors::new(dimension);
            let plain: Vec<Vec<f32>> = (0..50).map(|seed| numbers(dimension, seed)).collect();
            plain.iter().for_each(|vector| vectors.push(vector));
            let slots: Vec<u32> = (0..50).collect();
            for seed in 50..60 {
                let vector = numbers(dimension, seed);
                let query = Query::new(&vector);
                let near = &vectors.near(&[&query], &slots)[0];
                for (slot, row) in plain.iter().enumerate() {
                    let truth = exact(&vector, row);
                    assert!((vectors.best(&query, slot as u32).0 - truth).abs() < 4e-5, "{dimension}");
                    assert!((near[slot] - truth).abs() <= vectors.margin(&query), "{dimension}");
                    let kept = vectors.of(slot as u32);
                    assert!(kept.iter().zip(row).all(|(x, y)| (x - y).abs() < 2e-5), "{dimension}");
                }
            }
        }
    }

    #[test]
    fn a_block_of_queries_gets_what_each_would_get_alone() {
        let mut vectors = Vectors::new(100);
        for slot in 0..300 {
            let passages = if slot % 7 == 0 { 3 } else { 1 };
            let rows: Vec<f32> = (0..passages).flat_map(|p| numbers(100, 10 * slot + p)).collect();
            vectors.push(&rows);
        }
        let queries: Vec<Query> = (0..8).map(|seed| Query::new(&numbers(100, 9_000 + seed))).collect();
        for slots in [(0..300).collect::<Vec<u32>>(), (0..300).step_by(7).collect(), vec![], vec![299]] {
            let alone: Vec<Vec<f32>> =
                queries.iter().map(|query| vectors.near(&[query], &slots).remove(0)).collect();
            for count in 1..=8 {
                let block: Vec<&Query> = queries[..count].iter().collect();
                assert_eq!(vectors.near(&block, &slots), alone[..count], "{count} queries");
            }
        }
    }
}
