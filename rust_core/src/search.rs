//! A block of searches, each over one or several collections: find, scan together, score, rank.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::RwLockReadGuard;

use crate::collection::{Ask, Collection, Found, State};
use crate::error::{Error, Result};
use crate::ranking::{Side, rank};
use crate::request::Request;
use crate::score;
use crate::types::{Include, Output, Stages};
use crate::vector::{BLOCK, Query, normalise, unpack};

/// A checked request with the collections it names, in the order of its targets.
pub struct Search<'a> {
    request: &'a Request,
    collections: Vec<Arc<Collection>>,
    vectors: Vec<Option<Query>>,
}

impl<'a> Search<'a> {
    /// `path` names the request in refusals.
    pub fn new(request: &'a Request, collections: Vec<Arc<Collection>>, path: &str) -> Result<Self> {
        let vectors = request
            .targets
            .iter()
            .zip(&collections)
            .enumerate()
            .map(|(i, (target, collection))| {
                let Some(bytes) = &target.vector else { return Ok(None) };
                let field = format!("{path}.targets[{i}].vector");
                let dimension = collection.dimension;
                if bytes.len() != 4 * dimension {
                    let why = format!("{} bytes; dimension {dimension} needs {}", bytes.len(), 4 * dimension);
                    return Err(Error::invalid(&field, why));
                }
                let mut vector = unpack(bytes);
                normalise(&mut vector).map_err(|why| Error::invalid(&field, why))?;
                Ok(Some(Query::new(&vector)))
            })
            .collect::<Result<_>>()?;
        Ok(Search { request, collections, vectors })
    }

    /// The numbers of the collections it looks at: searches over the same ones are best answered together.
    pub fn numbers(&self) -> Vec<u64> {
        self.collections.iter().map(|collection| collection.number).collect()
    }

    fn ask(&self, target: usize) -> Ask<'_> {
        let request = self.request;
        Ask {
            vector: self.vectors[target].as_ref(),
            text: &request.text,
            filter: request.filter.as_ref(),
            now: request.now,
            include: Include {
                superseded: request.include_superseded,
                expired: request.include_expired,
                refuted: request.include_refuted,
            },
            window: request.window,
            top_k: request.top_k,
            neighbours: request.weights.neighbours > 0.0,
            recency: request.weights.recency > 0.0,
            confidence: request.weights.confidence > 0.0,
            exact: request.exact,
        }
    }
}

/// One search over one collection.
struct Part<'a> {
    search: usize,
    target: usize,
    state: &'a State,
    found: Found,
    /// By the high bytes, of each slot; empty when they are few or there is no vector.
    cosines: Vec<f32>,
    scanning: Duration,
}

/// Answers up to `BLOCK` searches, in order.
pub fn search(searches: &[&Search]) -> Vec<Output> {
    let states = Locked::new(searches);
    let mut parts: Vec<Part> = Vec::new();
    for (number, search) in searches.iter().enumerate() {
        for (target, collection) in search.collections.iter().enumerate() {
            let state = states.of(collection);
            let found = state.find(&search.ask(target), collection.limits());
            let (cosines, scanning) = (Vec::new(), Duration::ZERO);
            parts.push(Part { search: number, target, state, found, cosines, scanning });
        }
    }
    scan(searches, &mut parts);
    let mut parts = parts.into_iter().peekable();
    let mut answer = |(number, search): (usize, &&Search)| {
        let mut own = Vec::new();
        while let Some(part) = parts.next_if(|part| part.search == number) {
            own.push(part);
        }
        answer(search, own)
    };
    searches.iter().enumerate().map(&mut answer).collect()
}

/// Fills in the cosines of all parts that need a scan, one pass over the rows for those that look at the same.
fn scan(searches: &[&Search], parts: &mut [Part]) {
    let vector = |part: &Part| searches[part.search].vectors[part.target].as_ref();
    let mut waiting: Vec<usize> =
        (0..parts.len()).filter(|i| !parts[*i].found.few && vector(&parts[*i]).is_some()).collect();
    while let Some(first) = waiting.first().copied() {
        let same = |i: &usize| {
            std::ptr::eq(parts[*i].state, parts[first].state)
                && parts[*i].found.slots == parts[first].found.slots
        };
        let (mut together, mut others): (Vec<usize>, Vec<usize>) = waiting.iter().partition(|i| same(i));
        others.extend(together.split_off(together.len().min(BLOCK)));
        let start = Instant::now();
        let queries: Vec<&Query> = together.iter().filter_map(|i| vector(&parts[*i])).collect();
        let cosines = parts[first].state.vectors.near(&queries, &parts[first].found.slots);
        let each = start.elapsed() / together.len() as u32;
        for (i, cosines) in together.into_iter().zip(cosines) {
            (parts[i].cosines, parts[i].scanning) = (cosines, each);
        }
        waiting = others;
    }
}

fn answer(search: &Search, parts: Vec<Part>) -> Output {
    let start = Instant::now();
    let plans: Vec<String> = parts.iter().map(|part| part.found.plan.to_string()).collect();
    let total = |of: fn(&Part) -> Duration| parts.iter().map(of).sum::<Duration>().as_micros() as u64;
    let mut stages = Stages {
        filter: total(|part| part.found.filtering),
        candidates: total(|part| part.found.finding),
        scan: total(|part| part.scanning),
        score: 0,
    };
    let allowed = parts.iter().map(|part| part.found.allowed).sum();
    let candidates = parts.iter().map(|part| part.found.candidates()).sum();
    let best = parts.iter().map(|part| f64::from(part.found.best_lexical)).fold(0.0, f64::max);
    let ideal = parts.iter().map(|part| f64::from(part.found.ideal_lexical)).fold(0.0, f64::max);
    let backgrounds: Vec<Option<f64>> = parts.iter().map(|part| background(search, part, &parts)).collect();
    let weights = search.request.weights;
    let mut sides: Vec<Side> = parts
        .into_iter()
        .zip(backgrounds)
        .map(|(part, background)| {
            let scale = score::Scale { background, lexical: score::lexical_scale(best, ideal), weights };
            let number = search.collections[part.target].number;
            let vector = search.vectors[part.target].as_ref();
            Side::new(number, part.state, vector, part.found, part.cosines, scale)
        })
        .collect();
    let hits = rank(search.request, &mut sides);
    stages.score = start.elapsed().as_micros() as u64;
    let elapsed_us = stages.filter + stages.candidates + stages.scan + stages.score;
    let stages = search.request.explain.then_some(stages);
    Output { hits, plan: plans.join("+"), allowed, candidates, elapsed_us, stages }
}

/// The query's own background, over all parts of one model: those of the same dimension and usual background.
/// None where cosines are taken as they are.
fn background(search: &Search, part: &Part, parts: &[Part]) -> Option<f64> {
    search.vectors[part.target].as_ref().filter(|_| search.request.weights.calibrate)?;
    let usual = |part: &Part| search.request.targets[part.target].background;
    let (mut dots, mut rows, mut memories) = (0.0, 0, 0);
    for other in parts {
        let vectors = &other.state.vectors;
        let same_model = vectors.dimension() == part.state.vectors.dimension() && usual(other) == usual(part);
        if let Some(vector) = &search.vectors[other.target]
            && same_model
        {
            dots += vectors.dot_with_sum(vector);
            rows += vectors.live_rows();
            memories += other.state.columns.live().len();
        }
    }
    let mean = if rows == 0 { 0.0 } else { dots / rows as f64 };
    Some(score::query_background(mean, memories, usual(part)))
}

/// The collections of a block, their states held still. They are locked in order of their number, whatever
/// their order in the requests: two searches over the same pair with a writer waiting at each would lock each
/// other out otherwise.
struct Locked<'a>(Vec<(u64, RwLockReadGuard<'a, State>)>);

impl<'a> Locked<'a> {
    fn new(searches: &'a [&Search]) -> Self {
        let mut collections: Vec<&Arc<Collection>> =
            searches.iter().flat_map(|search| &search.collections).collect();
        collections.sort_unstable_by_key(|collection| collection.number);
        collections.dedup_by_key(|collection| collection.number);
        Locked(collections.into_iter().map(|collection| (collection.number, collection.read())).collect())
    }

    fn of(&self, collection: &Collection) -> &State {
        let at = self.0.partition_point(|(number, _)| *number < collection.number);
        &self.0[at].1
    }
}
