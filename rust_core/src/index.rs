//! All collections of one data directory.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use parking_lot::{Mutex, RwLock};

use crate::collection::{Collection, Limits, State};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::request::Request;
use crate::search::{Search, search};
use crate::snapshot;
use crate::types::{Id, Include, MAX_DIMENSION, MAX_TOP_K, Output, Status};
use crate::vector::{BLOCK, Query, normalise, pack, unpack};

/// See the contract in rust_core.pyi; every method may be called from any number of threads.
pub struct Index {
    directory: Option<PathBuf>,
    limits: Limits,
    collections: RwLock<HashMap<u64, Arc<Collection>>>,
}

impl Index {
    pub fn open(directory: Option<PathBuf>) -> Result<Self> {
        Index::with_limits(directory, Limits::default())
    }

    /// With other limits than the measured ones: tests reach the graph with few vectors.
    pub fn with_limits(directory: Option<PathBuf>, limits: Limits) -> Result<Self> {
        if let Some(directory) = &directory {
            fs::create_dir_all(directory).and_then(|()| snapshot::clean(directory)).map_err(|error| {
                Error::io(format!("opening the directory {}", directory.display()), error)
            })?;
        }
        Ok(Index { directory, limits, collections: RwLock::default() })
    }

    pub fn create(&self, number: u64, dimension: usize, applied_seq: i64) -> Result<()> {
        check_dimension(dimension)?;
        // A snapshot of what is replaced must not come back after a crash; the caller hears when it may.
        let deleted = self.drop(number, true);
        let collection = Collection::new(number, State::new(dimension, applied_seq), self.limits);
        self.collections.write().insert(number, collection);
        deleted
    }

    pub fn load(&self, number: u64, dimension: usize) -> Result<Option<i64>> {
        check_dimension(dimension)?;
        // What is in memory is never older than its snapshot.
        if let Ok(collection) = self.get(number) {
            return Ok((collection.dimension == dimension).then(|| collection.read().applied_seq));
        }
        let Some(directory) = &self.directory else { return Ok(None) };
        let Some(state) = snapshot::read(&snapshot::path(directory, number), dimension)? else {
            return Ok(None);
        };
        let collection = Collection::new(number, state, self.limits);
        let mut collections = self.collections.write();
        let loaded = collections.entry(number).or_insert(collection);
        let seq = loaded.read().applied_seq;
        Ok((loaded.dimension == dimension).then_some(seq))
    }

    pub fn snapshot(&self, number: u64) -> Result<i64> {
        let Some(directory) = &self.directory else {
            return Err(Error::invalid("directory", "None; an index without a directory has no snapshots"));
        };
        let collection = self.get(number)?;
        let writing = collection.hold_writers();
        if writing.dropped {
            return Err(Error::NotLoaded(number));
        }
        let state = collection.read();
        snapshot::write(&snapshot::path(directory, number), &state)?;
        Ok(state.applied_seq)
    }

    pub fn drop(&self, number: u64, delete_snapshot: bool) -> Result<()> {
        let collection = self.collections.write().remove(&number);
        // Waits for a snapshot that is being written, and keeps a later one from writing.
        let _writing = collection.as_ref().map(|collection| {
            let mut writing = collection.hold_writers();
            writing.dropped = true;
            writing
        });
        match &self.directory {
            Some(directory) if delete_snapshot => snapshot::delete(&snapshot::path(directory, number)),
            _ => Ok(()),
        }
    }

    pub fn loaded(&self, number: u64) -> bool {
        self.collections.read().contains_key(&number)
    }

    pub fn apply(&self, number: u64, seq: i64, puts: &[(&[u8], &[u8])], removes: &[&[u8]]) -> Result<()> {
        let collection = self.get(number)?;
        let removes = removes
            .iter()
            .enumerate()
            .map(|(i, id)| read_id(id, &format!("removes[{i}]")))
            .collect::<Result<Vec<Id>>>()?;
        match catch_unwind(AssertUnwindSafe(|| collection.apply(seq, puts, &removes))) {
            Ok(Err(Error::Internal(why))) => {
                self.drop(number, false)?;
                Err(Error::Internal(why))
            }
            Ok(applied) => applied,
            Err(panic) => {
                // Half a commit may be in it: better not loaded than wrong.
                self.drop(number, false)?;
                resume_unwind(panic)
            }
        }
    }

    pub fn search(&self, requests: &[u8]) -> Result<Vec<Output>> {
        let requests = Request::read_all(requests)?;
        let mut named: HashMap<u64, Arc<Collection>> = HashMap::new();
        for target in requests.iter().flat_map(|request| &request.targets) {
            if let Entry::Vacant(place) = named.entry(target.collection) {
                place.insert(self.get(target.collection)?);
            }
        }
        let searches = requests
            .iter()
            .enumerate()
            .map(|(i, request)| {
                let of = |target: &crate::request::Target| Arc::clone(&named[&target.collection]);
                Search::new(request, request.targets.iter().map(of).collect(), &format!("requests[{i}]"))
            })
            .collect::<Result<Vec<Search>>>()?;
        // Those over the same collections go together, since one pass over the vectors serves a whole block.
        let mut order: Vec<usize> = (0..searches.len()).collect();
        order.sort_by_cached_key(|i| searches[*i].numbers());
        let blocks: Vec<&[usize]> = order.chunks(block_size(searches.len())).collect();
        let answers = in_parallel(blocks.len(), |b| {
            let block: Vec<&Search> = blocks[b].iter().map(|i| &searches[*i]).collect();
            Ok(search(&block))
        })?;
        let mut outputs: Vec<(usize, Output)> =
            order.iter().copied().zip(answers.into_iter().flatten()).collect();
        outputs.sort_unstable_by_key(|(i, _)| *i);
        Ok(outputs.into_iter().map(|(_, output)| output).collect())
    }

    pub fn select(&self, number: u64, filter: &[u8], now: i64, include: Include) -> Result<Vec<Id>> {
        let collection = self.get(number)?;
        let filter = Filter::read(filter)?;
        let state = collection.read();
        let mut slots = state.columns.visible(include, now);
        if let Some(filter) = &filter {
            slots &= state.columns.select(filter);
        }
        let mut ids: Vec<Id> = slots.iter().map(|slot| state.columns.id(slot)).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    pub fn nearest(&self, number: u64, vectors: &[u8], k: usize) -> Result<Vec<Vec<(Id, f32)>>> {
        let collection = self.get(number)?;
        if !(1..=MAX_TOP_K).contains(&k) {
            return Err(Error::invalid("k", format!("{k} is outside 1..={MAX_TOP_K}")));
        }
        let size = 4 * collection.dimension;
        if !vectors.len().is_multiple_of(size) {
            let why = format!(
                "{} bytes; must be a multiple of {size} (dimension {})",
                vectors.len(),
                collection.dimension
            );
            return Err(Error::invalid("vectors", why));
        }
        let mut vectors = unpack(vectors);
        for (i, vector) in vectors.chunks_exact_mut(collection.dimension).enumerate() {
            normalise(vector).map_err(|why| Error::invalid(&format!("vectors[{i}]"), why))?;
        }
        let queries: Vec<Query> = vectors.chunks_exact(collection.dimension).map(Query::new).collect();
        let blocks: Vec<&[Query]> = queries.chunks(block_size(queries.len())).collect();
        let found = in_parallel(blocks.len(), |b| {
            let block: Vec<&Query> = blocks[b].iter().collect();
            Ok(collection.read().nearest(&block, k, collection.limits()))
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    pub fn status(&self, number: u64) -> Result<Status> {
        Ok(self.get(number)?.read().status())
    }

    pub fn vectors_of(&self, number: u64, id: &[u8]) -> Result<Option<Vec<u8>>> {
        let id = read_id(id, "id")?;
        let collection = self.get(number)?;
        let state = collection.read();
        Ok(state.columns.slot(&id).map(|slot| pack(&state.vectors.of(slot))))
    }

    pub fn digest(&self, number: u64) -> Result<[u8; 16]> {
        Ok(self.get(number)?.read().digest().to_be_bytes())
    }

    fn get(&self, number: u64) -> Result<Arc<Collection>> {
        self.collections.read().get(&number).cloned().ok_or(Error::NotLoaded(number))
    }
}

fn check_dimension(dimension: usize) -> Result<()> {
    match dimension {
        1..=MAX_DIMENSION => Ok(()),
        _ => Err(Error::invalid("dimension", format!("{dimension} is outside 1..={MAX_DIMENSION}"))),
    }
}

fn read_id(bytes: &[u8], field: &str) -> Result<Id> {
    bytes.try_into().map_err(|_| Error::invalid(field, format!("{} bytes; an id has 16", bytes.len())))
}

/// How many of `count` queries go into one block: all cores are to have one before any has a full one.
fn block_size(count: usize) -> usize {
    count.div_ceil(cores()).clamp(1, BLOCK)
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, |n| n.get())
}

/// `work(0..count)` over the cores, results in order; the first error in order wins.
fn in_parallel<T: Send>(count: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let workers = cores().min(count);
    if workers <= 1 {
        return (0..count).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<Result<T>>>> = (0..count).map(|_| Mutex::new(None)).collect();
    thread::scope(|scope| {
        let take = || {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(place) = done.get(i) else { return };
                *place.lock() = Some(work(i));
            }
        };
        for _ in 1..workers {
            scope.spawn(take);
        }
        take();
    });
    done.into_iter()
        .map(|place| {
            place
                .into_inner()
                .unwrap_or_else(|| Err(Error::Internal("a search was not carried out".to_owned())))
        })
        .collect()
}
