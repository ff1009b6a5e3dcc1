//! Nearest rows by usearch's graph (Y. Malkov, D. Yashunin, "Efficient and robust approximate nearest neighbor
//! search using Hierarchical Navigable Small World graphs", 2016) over the rows of the scan.
//!
//! usearch holds the links. What it takes for a vector is the number of a row, four bytes; its metric looks the
//! row up in the high plane. So no vector is held twice, and the graph ranks as the scan does.
//!
//! Its hazards end here. It reserves room for a fixed number of callers and crashes or errs beyond it, and must
//! not reserve while anyone is inside: `permits` caps the callers, `index` is write-locked to reserve. It loads
//! damaged bytes and crashes later: an image has a checksum of its own. A panic inside ends the process: the
//! metric and the filter look up with bounds.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
use usearch::{IndexOptions, MetricKind, ScalarKind};
use xxhash_rust::xxh3::xxh3_64;

use super::kernels::Kernels;
use super::rows::{Query, Rows, Signed};
use crate::error::{Error, Result};

const CONNECTIVITY: usize = 16;
const EXPANSION_ADD: usize = 128;
const FIRST_CAPACITY: usize = 4096;
/// Stands for the query where usearch has the number of a row.
const QUERY: u32 = u32::MAX;
/// Farther than any row is.
const NOWHERE: f32 = 4.0;
/// Checksum and number of rows before what usearch saves.
const HEAD: usize = 16;

/// See the head of this file.
pub struct Graph {
    index: RwLock<usearch::Index>,
    /// Rows 0..rows were offered; those that were dead at the time were left out.
    rows: AtomicUsize,
    adding: Mutex<()>,
    permits: Permits,
}

impl Graph {
    pub fn new() -> Result<Self> {
        let graph = Graph::unmeasured()?;
        graph.measure_by_rows();
        Ok(graph)
    }

    fn unmeasured() -> Result<Self> {
        let options = IndexOptions {
            dimensions: size_of::<u32>(),
            metric: MetricKind::IP,
            quantization: ScalarKind::I8,
            connectivity: CONNECTIVITY,
            expansion_add: EXPANSION_ADD,
            // a search's own `count` is its expansion; this is only the floor
            expansion_search: 16,
            multi: false,
        };
        let index = usearch::Index::new(&options).map_err(usearch_error)?;
        let graph = Graph {
            index: RwLock::new(index),
            rows: AtomicUsize::new(0),
            adding: Mutex::new(()),
            permits: Permits::for_this_machine(),
        };
        graph.reserve(FIRST_CAPACITY)?;
        Ok(graph)
    }

    /// Rows 0..rows() were offered to the graph (dead ones were left out).
    pub fn rows(&self) -> usize {
        self.rows.load(Ordering::Acquire)
    }

    /// Held by whoever adds rows and publishes them, and by whoever takes an image: it is whole then.
    pub fn hold(&self) -> MutexGuard<'_, ()> {
        self.adding.lock()
    }

    /// Makes room for `rows` rows; the next calls of `add` may be from several threads, each with its own rows.
    pub fn reserve(&self, rows: usize) -> Result<()> {
        if rows > self.index.read().capacity() {
            let capacity = rows.next_power_of_two();
            let index = self.index.write();
            index.reserve_capacity_and_threads(capacity, self.permits.total).map_err(usearch_error)?;
        }
        Ok(())
    }

    /// Says that all rows up to `rows` have been added.
    pub fn publish(&self, rows: usize) {
        self.rows.store(rows, Ordering::Release);
    }

    /// Links a row that `reserve` made room for and that was not added before.
    pub fn add(&self, kernels: Kernels, rows: &Rows, row: u32) -> Result<()> {
        let _permit = self.permits.take();
        let index = self.index.read();
        Call::new(kernels, rows, None)
            .during(|| index.add(u64::from(row), &coded(row)))
            .map_err(usearch_error)
    }

    /// About `count` rows nearest to a query among those that `allowed` lets through (None: all), best first.
    /// `allowed` must not panic: a panic inside usearch ends the process.
    pub fn nearest(
        &self,
        kernels: Kernels,
        rows: &Rows,
        query: &Query,
        count: usize,
        allowed: Option<&dyn Fn(u32) -> bool>,
    ) -> Result<Vec<u32>> {
        let _permit = self.permits.take();
        let index = self.index.read();
        let found = Call::new(kernels, rows, Some(query)).during(|| match allowed {
            None => index.search(&coded(QUERY), count),
            Some(allowed) => index.filtered_search(&coded(QUERY), count, |row| allowed(row as u32)),
        });
        let found = found.map_err(usearch_error)?;
        Ok(found.keys.iter().map(|row| *row as u32).collect())
    }

    /// An estimate: usearch's own figure walks all nodes, and crashes while one is added.
    pub fn bytes(&self) -> usize {
        let links = 4 * 2 * CONNECTIVITY + 4;
        let key_and_place = 48;
        self.rows() * (size_of::<u32>() + links + key_and_place)
    }

    /// The graph as a snapshot keeps it: a checksum, the number of rows, what usearch saves.
    pub fn image(&self) -> Result<Vec<u8>> {
        let _held = self.hold();
        let index = self.index.read();
        let mut image = vec![0; HEAD + index.serialized_length()];
        index.save_to_buffer(&mut image[HEAD..]).map_err(usearch_error)?;
        image[8..HEAD].copy_from_slice(&(self.rows() as u64).to_le_bytes());
        let checksum = xxh3_64(&image[8..]);
        image[..8].copy_from_slice(&checksum.to_le_bytes());
        Ok(image)
    }

    /// A graph over the first of `rows` rows from its image; None when it is damaged or of other rows.
    pub fn from_image(image: &[u8], rows: usize) -> Option<Self> {
        let (checksum, rest) = image.split_first_chunk::<8>()?;
        let (held, saved) = rest.split_first_chunk::<8>()?;
        let held = u64::from_le_bytes(*held) as usize;
        if xxh3_64(rest) != u64::from_le_bytes(*checksum) || held > rows {
            return None;
        }
        let graph = Graph::unmeasured().ok()?;
        {
            let index = graph.index.write();
            index.load_from_buffer(saved).ok()?;
            if index.dimensions() != size_of::<u32>() || index.size() > held {
                return None;
            }
            // loading shrinks the reservation again
            let capacity = held.max(FIRST_CAPACITY);
            index.reserve_capacity_and_threads(capacity, graph.permits.total).ok()?;
        }
        graph.measure_by_rows(); // after loading, which sets the metric that the file names
        graph.publish(held);
        Some(graph)
    }

    fn measure_by_rows(&self) {
        self.index.write().change_metric::<i8>(Box::new(distance));
    }
}

fn usearch_error(error: impl std::fmt::Display) -> Error {
    Error::Internal(format!("vector graph: {error}"))
}

fn coded(row: u32) -> [i8; 4] {
    row.to_le_bytes().map(|byte| byte as i8)
}

/// What this thread's call into usearch measures with.
struct Call<'a> {
    kernels: Kernels,
    rows: &'a Rows,
    query: Option<&'a Query>,
    /// The row that others were compared with last: usearch compares one with many.
    probe: RefCell<Option<(u32, Signed)>>,
}

thread_local! {
    static CALL: Cell<*const Call<'static>> = const { Cell::new(ptr::null()) };
}

impl<'a> Call<'a> {
    fn new(kernels: Kernels, rows: &'a Rows, query: Option<&'a Query>) -> Self {
        Call { kernels, rows, query, probe: RefCell::new(None) }
    }

    /// Calls usearch, whose metric finds this call as long as that lasts.
    fn during<T>(&self, ask: impl FnOnce() -> T) -> T {
        struct Over;
        impl Drop for Over {
            fn drop(&mut self) {
                CALL.set(ptr::null());
            }
        }
        let _over = Over;
        CALL.set(ptr::from_ref(self).cast());
        ask()
    }

    fn cosine(&self, a: u32, b: u32) -> Option<f32> {
        let there = |row: u32| (row as usize) < self.rows.len();
        match (a, b) {
            (QUERY, row) | (row, QUERY) if there(row) => {
                Some(self.rows.near_one(self.kernels, &self.query?.signed, row as usize))
            }
            (a, b) if there(a) && there(b) => {
                let mut probe = self.probe.borrow_mut();
                let other = match &*probe {
                    Some((row, _)) if *row == a => b,
                    Some((row, _)) if *row == b => a,
                    _ => {
                        *probe = Some((a, self.rows.signed(a as usize)));
                        b
                    }
                };
                let (_, signed) = probe.as_ref()?;
                Some(self.rows.near_one(self.kernels, signed, other as usize))
            }
            _ => None,
        }
    }
}

/// The metric that usearch calls, in the thread that called usearch.
fn distance(a: *const i8, b: *const i8) -> f32 {
    let call = CALL.get();
    if call.is_null() {
        return NOWHERE;
    }
    // SAFETY: `Call::during` is still on this thread's stack: it takes the pointer back before it returns.
    // usearch passes pointers to vectors of the size this index was made for, four bytes.
    let (call, a, b) =
        unsafe { (&*call, a.cast::<u32>().read_unaligned(), b.cast::<u32>().read_unaligned()) };
    call.cosine(u32::from_le(a), u32::from_le(b)).map_or(NOWHERE, |cosine| 1.0 - cosine)
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
    use super::super::normalise;
    use super::*;

    fn rows(count: usize, dimension: usize) -> Rows {
        let mut rows = Rows::new(dimension);
        let mut state = 1u64;
        for _ in 0..count {
            let mut vector: Vec<f32> = (0..dimension)
                .map(|_| {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    (state >> 40) as f32 / (1 << 24) as f32 - 0.5
                })
                .collect();
            normalise(&mut vector).unwrap();
            rows.push(&vector);
        }
        rows
    }

    fn graph(rows: &Rows, threads: usize) -> Graph {
        let graph = Graph::new().unwrap();
        graph.reserve(rows.len()).unwrap();
        std::thread::scope(|scope| {
            for first in 0..threads {
                let graph = &graph;
                scope.spawn(move || {
                    for row in (first..rows.len()).step_by(threads) {
                        graph.add(Kernels::here(), rows, row as u32).unwrap();
                    }
                });
            }
        });
        graph.publish(rows.len());
        graph
    }

    fn recall(rows: &Rows, graph: &Graph, allowed: Option<&dyn Fn(u32) -> bool>) -> f64 {
        let kernels = Kernels::here();
        let all: Vec<u32> =
            (0..rows.len() as u32).filter(|row| allowed.is_none_or(|allowed| allowed(*row))).collect();
        let mut found = 0;
        for row in (0..rows.len()).step_by(50) {
            let query = Query::new(&rows.plain(row));
            let mut cosines = Vec::new();
            rows.near(kernels, &query.signed, &all, &mut cosines);
            let mut exact: Vec<(u32, f32)> = all.iter().copied().zip(cosines).collect();
            exact.sort_unstable_by(|a, b| b.1.total_cmp(&a.1));
            let near = graph.nearest(kernels, rows, &query, 64, allowed).unwrap();
            assert!(near.iter().all(|row| allowed.is_none_or(|allowed| allowed(*row))));
            found += exact[..10].iter().filter(|(row, _)| near.contains(row)).count();
        }
        found as f64 / (10 * rows.len().div_ceil(50)) as f64
    }

    #[test]
    fn a_graph_built_by_one_or_many_threads_finds_the_nearest() {
        let rows = rows(4_500, 16); // more than it has room for at first
        for threads in [1, 4] {
            let graph = graph(&rows, threads);
            let even = |row: u32| row.is_multiple_of(2);
            assert!(recall(&rows, &graph, None) > 0.98, "{threads} threads");
            assert!(recall(&rows, &graph, Some(&even)) > 0.98, "{threads} threads, filtered");
        }
    }

    #[test]
    fn an_image_brings_the_graph_back_and_a_damaged_one_is_refused() {
        let rows = rows(1_500, 16);
        let graph = graph(&rows, 1);
        let image = graph.image().unwrap();
        let again = Graph::from_image(&image, rows.len()).unwrap();
        let query = Query::new(&rows.plain(7));
        let near = |graph: &Graph| graph.nearest(Kernels::here(), &rows, &query, 20, None).unwrap();
        assert_eq!(near(&again), near(&graph));
        assert_eq!(again.rows(), 1_500);
        assert!(recall(&rows, &again, None) > 0.98);
        assert!(Graph::from_image(&image, 1_499).is_none());
        for cut in [0, 8, 15, 16, 100, image.len() - 1] {
            assert!(Graph::from_image(&image[..cut], rows.len()).is_none(), "cut at {cut}");
        }
        for at in [0, 9, 17, 50, image.len() - 1] {
            let mut damaged = image.clone();
            damaged[at] ^= 1;
            assert!(Graph::from_image(&damaged, rows.len()).is_none(), "damaged at {at}");
        }
        assert!(Graph::from_image(&Graph::new().unwrap().image().unwrap(), 0).is_some());
    }

    #[test]
    fn more_callers_than_permits_wait_their_turn() {
        let rows = rows(9_000, 8);
        let graph = Graph::new().unwrap();
        std::thread::scope(|scope| {
            for i in 0..64 {
                let (graph, rows) = (&graph, &rows);
                scope.spawn(move || {
                    let query = Query::new(&rows.plain(i));
                    for _ in 0..20 {
                        graph.nearest(Kernels::here(), rows, &query, 5, None).unwrap();
                    }
                });
            }
            // grows past its first capacity while they search
            for row in 0..9_000 {
                graph.reserve(row + 1).unwrap();
                graph.add(Kernels::here(), &rows, row as u32).unwrap();
            }
        });
        assert_eq!(*graph.permits.free.lock(), graph.permits.total);
        let query = Query::new(&rows.plain(8_999));
        let near = graph.nearest(Kernels::here(), &rows, &query, 20, None).unwrap();
        assert_eq!(near[0], 8_999);
    }

    #[test]
    fn a_row_that_is_not_there_is_far_from_everything() {
        let rows = rows(10, 16);
        let query = Query::new(&rows.plain(3));
        let call = Call::new(Kernels::here(), &rows, Some(&query));
        let far = |a: u32, b: u32| call.during(|| distance(coded(a).as_ptr(), coded(b).as_ptr()));
        assert!(far(QUERY, 3) < 0.01 && far(3, QUERY) < 0.01 && far(3, 3) < 0.01);
        assert!((far(2, 5) - far(5, 2)).abs() < 0.02);
        assert_eq!([far(QUERY, 10), far(10, 3), far(QUERY, QUERY)], [NOWHERE; 3]);
        assert_eq!(distance(coded(1).as_ptr(), coded(2).as_ptr()), NOWHERE);
    }
}
