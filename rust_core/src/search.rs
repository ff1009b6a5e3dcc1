//! One search over one or several collections: find, put on one scale, score, rank.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::RwLockReadGuard;

use crate::collection::{Collection, Found, NONE, Query, State};
use crate::error::{Error, Result};
use crate::request::Request;
use crate::score::{self, Scale};
use crate::types::{Hit, Include, Output};
use crate::vector::{normalise, unpack};

/// A collection that is searched, its state held still.
struct Target<'a> {
    number: u64,
    state: RwLockReadGuard<'a, State>,
    vector: Option<Vec<f32>>,
    usual_background: f64,
}

/// Answers a request whose targets are `collections`, in order; `path` names it in refusals.
pub fn search(request: &Request, collections: &[Arc<Collection>], path: &str) -> Result<Output> {
    let start = Instant::now();
    let targets = lock(request, collections, path)?;
    let found = targets
        .iter()
        .zip(collections)
        .map(|(target, collection)| {
            let query = Query {
                vector: target.vector.as_deref(),
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
            };
            target.state.find(&query, collection.limits())
        })
        .collect::<Result<Vec<_>>>()?;
    let hits = rank(request, &targets, &found);
    let plans: Vec<String> = found.iter().map(|found| found.plan.to_string()).collect();
    Ok(Output {
        hits,
        plan: plans.join("+"),
        allowed: found.iter().map(|found| found.allowed).sum(),
        candidates: found.iter().map(|found| found.candidates.len() as u64).sum(),
        elapsed_us: start.elapsed().as_micros() as u64,
    })
}

/// Locks the collections in order of their number, whatever their order in the request: two searches over the
/// same pair with a writer waiting at each would lock each other out otherwise.
fn lock<'a>(request: &Request, collections: &'a [Arc<Collection>], path: &str) -> Result<Vec<Target<'a>>> {
    let mut order: Vec<usize> = (0..collections.len()).collect();
    order.sort_unstable_by_key(|i| collections[*i].number);
    let mut targets: Vec<Option<Target>> = collections.iter().map(|_| None).collect();
    for i in order {
        let (wanted, collection) = (&request.targets[i], &collections[i]);
        let vector = match &wanted.vector {
            None => None,
            Some(bytes) => {
                let field = format!("{path}.targets[{i}].vector");
                if bytes.len() != 4 * collection.dimension {
                    let why = format!(
                        "{} bytes; dimension {} needs {}",
                        bytes.len(),
                        collection.dimension,
                        4 * collection.dimension
                    );
                    return Err(Error::invalid(&field, why));
                }
                let mut vector = unpack(bytes);
                normalise(&mut vector).map_err(|why| Error::invalid(&field, why))?;
                Some(vector)
            }
        };
        targets[i] = Some(Target {
            number: collection.number,
            state: collection.read(),
            vector,
            usual_background: wanted.background,
        });
    }
    Ok(targets.into_iter().flatten().collect())
}

/// What makes the similarities of one target's found memories.
struct Similarities {
    /// Of each found slot, 0..1.
    lexical: Vec<f64>,
    /// Of each candidate.
    support: Vec<f64>,
    similarity: Vec<f64>,
}

fn similarities(request: &Request, targets: &[Target], found: &[Found]) -> Vec<Similarities> {
    let weights = request.weights;
    let best = found.iter().map(|found| f64::from(found.best_lexical)).fold(0.0, f64::max);
    let ideal = found.iter().map(|found| f64::from(found.ideal_lexical)).fold(0.0, f64::max);
    let lexical_scale = score::lexical_scale(best, ideal);
    let of_target = |(target, found): (&Target, &Found)| {
        let background = match (&target.vector, weights.calibrate) {
            (Some(_), true) => Some(background(target, targets)),
            _ => None,
        };
        let scale = Scale { background, lexical: lexical_scale, weights };
        let lexical: Vec<f64> = found.lexical.iter().map(|bm25| scale.lexical(f64::from(*bm25))).collect();
        let alone: Vec<f64> = found
            .cosines
            .iter()
            .zip(&lexical)
            .map(|(cosine, lexical)| scale.alone(f64::from(*cosine), *lexical))
            .collect();
        let of_neighbour = |near: u32| if near == NONE { 0.0 } else { alone[near as usize] };
        let support: Vec<f64> = match found.around.is_empty() {
            true => vec![0.0; found.candidates.len()],
            false => found.around.iter().map(|around| scale.support(around.map(of_neighbour))).collect(),
        };
        let similarity = found
            .candidates
            .iter()
            .zip(&support)
            .map(|(index, support)| score::similarity(alone[*index as usize], *support))
            .collect();
        Similarities { lexical, support, similarity }
    };
    targets.iter().zip(found).map(of_target).collect()
}

/// The query's own background, over all targets of one model: those of the same dimension and usual background.
fn background(target: &Target, targets: &[Target]) -> f64 {
    let (mut dots, mut rows, mut memories) = (0.0, 0, 0);
    for other in targets {
        let same_model = other.state.vectors.dimension() == target.state.vectors.dimension()
            && other.usual_background == target.usual_background;
        if let Some(vector) = &other.vector
            && same_model
        {
            dots += other.state.vectors.dot_with_sum(vector);
            rows += other.state.vectors.live_rows();
            memories += other.state.columns.live().len();
        }
    }
    let mean = if rows == 0 { 0.0 } else { dots / rows as f64 };
    score::query_background(mean, memories, target.usual_background)
}

/// The top_k: inside the window first, then by score, newer event_time, smaller id.
fn rank(request: &Request, targets: &[Target], found: &[Found]) -> Vec<Hit> {
    let weights = &request.weights;
    let similarities = similarities(request, targets, found);
    let best = similarities.iter().flat_map(|of| &of.similarity).copied().fold(0.0, f64::max);
    let mut top = Top::new(request.top_k);
    for ((target, found), of) in targets.iter().zip(found).zip(&similarities) {
        let columns = &target.state.columns;
        for (i, &index) in found.candidates.iter().enumerate() {
            let slot = found.slots[index as usize];
            let similarity = of.similarity[i];
            let event_time = columns.event_time(slot);
            let in_window = request.window.is_some_and(|window| window.contains(event_time));
            let gate = score::gate(similarity, best, weights.gate);
            let confidence = columns.confidence(slot);
            // Most candidates fall short even with full recency, which spares them the rest.
            let at_most = score::score(weights, similarity, gate, 1.0, confidence);
            if top.is_beyond(in_window, at_most) {
                continue;
            }
            let recency = score::recency(event_time, request.now, weights.half_life);
            let score = score::score(weights, similarity, gate, recency, confidence);
            if request.min_score.is_some_and(|least| score < least) {
                continue;
            }
            top.push(Hit {
                collection: target.number,
                id: columns.id(slot),
                score,
                similarity,
                gate,
                recency,
                confidence,
                cosine: f64::from(found.cosines[index as usize]),
                lexical: of.lexical[index as usize],
                support: of.support[i],
                passage: found.passages[index as usize],
                in_window,
                event_time,
            });
        }
    }
    top.into_sorted()
}

/// Keeps the best `k` of many hits.
struct Top {
    k: usize,
    kept: Vec<Hit>,
    /// The k-th best of those seen up to the last pruning.
    worst: Option<(bool, f64)>,
}

impl Top {
    fn new(k: usize) -> Self {
        Top { k, kept: Vec::new(), worst: None }
    }

    /// Whether a hit with at most this score cannot be among the best.
    fn is_beyond(&self, in_window: bool, at_most: f64) -> bool {
        self.worst.is_some_and(|(worst_in_window, worst)| {
            (!in_window && worst_in_window) || (in_window == worst_in_window && at_most < worst)
        })
    }

    fn push(&mut self, hit: Hit) {
        self.kept.push(hit);
        if self.kept.len() >= 2 * self.k + 16 {
            self.prune();
        }
    }

    fn prune(&mut self) {
        if self.kept.len() > self.k {
            let (_, last, _) = self.kept.select_nth_unstable_by(self.k - 1, order);
            self.worst = Some((last.in_window, last.score));
            self.kept.truncate(self.k);
        }
    }

    fn into_sorted(mut self) -> Vec<Hit> {
        self.prune();
        self.kept.sort_unstable_by(order);
        self.kept
    }
}

fn order(a: &Hit, b: &Hit) -> Ordering {
    b.in_window
        .cmp(&a.in_window)
        .then_with(|| b.score.total_cmp(&a.score))
        .then_with(|| b.event_time.cmp(&a.event_time))
        .then_with(|| a.id.cmp(&b.id))
}
