//! The index of one namespace: a state behind a lock, and the thread that builds its graph.

mod fields;
mod find;
mod nearest;
mod plan;
mod sequences;
mod state;

pub use fields::{Encoded, Fields};
pub use find::{Ask, Found};
pub use plan::{Limits, Plan};
pub use sequences::NONE;
pub use state::{Kept, Put, State};

use std::sync::{Arc, Weak};
use std::thread;

use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard};

use crate::error::{Error, Result};
use crate::types::{Id, Record};
use crate::vector::{Graph, normalise, unpack};

/// Rows that go into the graph between two looks at the state.
const BUILD_CHUNK: usize = 64;
/// Rows that wait for the graph before all cores build it.
const FAR_BEHIND: usize = 10_000;

/// One collection. Searches share the state; a writer first takes `writing`, so that a snapshot can keep writers
/// out without a queue at the state's own lock, which would hold up searches.
pub struct Collection {
    pub number: u64,
    pub dimension: usize,
    limits: Limits,
    state: RwLock<State>,
    writing: Mutex<Writing>,
    /// Whether a thread is building the graph.
    building: Mutex<bool>,
}

/// What a holder of the write lock knows.
#[derive(Default)]
pub struct Writing {
    /// The collection was dropped or replaced; nobody may write its snapshot any more.
    pub dropped: bool,
}

impl Collection {
    pub fn new(number: u64, state: State, limits: Limits) -> Arc<Self> {
        let collection = Arc::new(Collection {
            number,
            dimension: state.vectors.dimension(),
            limits,
            state: RwLock::new(state),
            writing: Mutex::new(Writing::default()),
            building: Mutex::new(false),
        });
        collection.build_graph();
        collection
    }

    pub fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read()
    }

    /// Keeps writers out while it is held; searches go on.
    pub fn hold_writers(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock()
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Applies one commit; see the contract of `Index.apply`.
    pub fn apply(self: &Arc<Self>, seq: i64, puts: &[(&[u8], &[u8])], removes: &[Id]) -> Result<()> {
        let puts = puts
            .iter()
            .enumerate()
            .map(|(i, (record, vectors))| {
                read_put(record, vectors, self.dimension)
                    .map_err(|why| Error::Invalid(format!("puts[{i}]: {why}")))
            })
            .collect::<Result<Vec<_>>>()?;
        {
            let writing = self.hold_writers();
            if writing.dropped {
                return Err(Error::NotLoaded(self.number));
            }
            let mut state = self.state.write();
            if seq <= state.applied_seq {
                return Ok(());
            }
            state.apply(seq, &puts, removes)?;
        }
        self.build_graph();
        Ok(())
    }

    /// Starts the thread that brings the graph up to date, where one is due and none is running.
    fn build_graph(self: &Arc<Self>) {
        let mut building = self.building.lock();
        if *building || !self.graph_is_behind() {
            return;
        }
        *building = true;
        let collection = Arc::downgrade(self);
        let name = format!("graph-{}", self.number);
        if thread::Builder::new().name(name).spawn(move || build(&collection)).is_err() {
            // no thread to be had: searches scan, the next commit tries again
            *building = false;
        }
    }

    fn graph_is_behind(&self) -> bool {
        let vectors = &self.state.read().vectors;
        vectors.rows().len() > self.limits.graph_from && vectors.rows_in_graph() < vectors.rows().len()
    }

    /// Adds the next rows to the graph, under a read lock: writers wait for some milliseconds at most.
    fn build_chunk(&self) -> Result<()> {
        let present = self.state.read().vectors.graph().cloned();
        let graph = match present {
            Some(graph) => graph,
            None => {
                let graph = Arc::new(Graph::new()?);
                self.state.write().vectors.set_graph(Some(Arc::clone(&graph)));
                graph
            }
        };
        let state = self.state.read();
        if !state.vectors.graph().is_some_and(|now| Arc::ptr_eq(now, &graph)) {
            return Ok(()); // compacted meanwhile, its rows have new numbers
        }
        let _held = graph.hold();
        let (first, rows) = (graph.rows(), state.vectors.rows());
        let end = rows.len().min(first + BUILD_CHUNK);
        graph.reserve(end)?;
        let add_every = |step: usize, from: usize| -> Result<()> {
            for row in (from..end).step_by(step) {
                if state.columns.live().contains(state.vectors.slot_of(row)) {
                    graph.add(state.vectors.kernels(), rows, row as u32)?;
                }
            }
            Ok(())
        };
        let threads = match rows.len() - first > FAR_BEHIND {
            true => thread::available_parallelism().map_or(1, |n| n.get()),
            false => 1,
        };
        thread::scope(|scope| {
            let add_every = &add_every;
            let start = |helper| scope.spawn(move || add_every(threads, first + helper));
            let helpers: Vec<_> = (1..threads).map(start).collect();
            let own = add_every(threads, first);
            let panicked = |_| Err(Error::Internal("a builder of the graph panicked".to_owned()));
            helpers.into_iter().map(|helper| helper.join().unwrap_or_else(panicked)).fold(own, Result::and)
        })?;
        graph.publish(end);
        Ok(())
    }
}

fn build(collection: &Weak<Collection>) {
    // A strong reference only for a chunk at a time: a dropped collection ends its builder.
    while let Some(collection) = collection.upgrade() {
        let stop = StopBuilding(&collection);
        let built = collection.build_chunk();
        if built.is_err() {
            // half built it would lack rows without a word; searches scan, the next commit tries again
            collection.state.write().vectors.set_graph(None);
        }
        let mut building = collection.building.lock();
        std::mem::forget(stop);
        if built.is_err() || !collection.graph_is_behind() {
            // under the lock, so that a commit either is seen here or finds nobody building
            *building = false;
            return;
        }
    }
}

/// Says that nobody builds any more, also when the builder panics.
struct StopBuilding<'a>(&'a Collection);

impl Drop for StopBuilding<'_> {
    fn drop(&mut self) {
        *self.0.building.lock() = false;
    }
}

fn read_put(record: &[u8], vectors: &[u8], dimension: usize) -> Result<Put> {
    let mut record = Record::read(record)?;
    let size = 4 * dimension;
    if vectors.is_empty() || !vectors.len().is_multiple_of(size) {
        let why =
            format!("{} bytes; must be n · {size} with n at least 1 (dimension {dimension})", vectors.len());
        return Err(Error::invalid("vectors", why));
    }
    let mut vectors = unpack(vectors);
    for (i, vector) in vectors.chunks_exact_mut(dimension).enumerate() {
        normalise(vector).map_err(|why| Error::invalid(&format!("vectors[{i}]"), why))?;
    }
    let encoded = Encoded::new(&mut record)?;
    Ok(Put { record, encoded, vectors })
}
