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
    let candidates = score_all(request, &targets, &found);
    let hits = rank(request, &targets, &found, candidates);
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

/// A candidate with what its score is made of.
struct Candidate {
    target: u32,
    /// Index into the target's found slots.
    index: u32,
    event_time: i64,
    in_window: bool,
    lexical: f64,
    support: f64,
    similarity: f64,
    gate: f64,
    recency: f64,
    confidence: f64,
    score: f64,
}

fn score_all(request: &Request, targets: &[Target], found: &[Found]) -> Vec<Candidate> {
    let weights = request.weights;
    let best = found.iter().map(|found| f64::from(found.best_lexical)).fold(0.0, f64::max);
    let ideal = found.iter().map(|found| f64::from(found.ideal_lexical)).fold(0.0, f64::max);
    let lexical_scale = score::lexical_scale(best, ideal);

    let mut candidates = Vec::with_capacity(found.iter().map(|found| found.candidates.len()).sum());
    for (t, (target, found)) in targets.iter().zip(found).enumerate() {
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
        for (i, &index) in found.candidates.iter().enumerate() {
            let support = match found.around.get(i) {
                Some(around) => {
                    scale.support(around.map(|near| if near == NONE { 0.0 } else { alone[near as usize] }))
                }
                None => 0.0,
            };
            let slot = found.slots[index as usize];
            let event_time = target.state.columns.event_time(slot);
            candidates.push(Candidate {
                target: t as u32,
                index,
                event_time,
                in_window: request.window.is_some_and(|window| window.contains(event_time)),
                lexical: lexical[index as usize],
                support,
                similarity: score::similarity(alone[index as usize], support),
                gate: 1.0,
                recency: score::recency(event_time, request.now, weights.half_life),
                confidence: target.state.columns.confidence(slot),
                score: 0.0,
            });
        }
    }
    let best = candidates.iter().map(|candidate| candidate.similarity).fold(0.0, f64::max);
    for candidate in &mut candidates {
        candidate.gate = score::gate(candidate.similarity, best, weights.gate);
        candidate.score = score::score(
            &weights,
            candidate.similarity,
            candidate.gate,
            candidate.recency,
            candidate.confidence,
        );
    }
    candidates
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
fn rank(request: &Request, targets: &[Target], found: &[Found], mut candidates: Vec<Candidate>) -> Vec<Hit> {
    let id = |candidate: &Candidate| {
        let target = candidate.target as usize;
        targets[target].state.columns.id(found[target].slots[candidate.index as usize])
    };
    let order = |a: &Candidate, b: &Candidate| -> Ordering {
        b.in_window
            .cmp(&a.in_window)
            .then_with(|| b.score.total_cmp(&a.score))
            .then_with(|| b.event_time.cmp(&a.event_time))
            .then_with(|| id(a).cmp(&id(b)))
    };
    if let Some(min_score) = request.min_score {
        candidates.retain(|candidate| candidate.score >= min_score);
    }
    if candidates.len() > request.top_k {
        candidates.select_nth_unstable_by(request.top_k, order);
        candidates.truncate(request.top_k);
    }
    candidates.sort_unstable_by(order);
    let hit = |candidate: &Candidate| {
        let found = &found[candidate.target as usize];
        Hit {
            collection: targets[candidate.target as usize].number,
            id: id(candidate),
            score: candidate.score,
            similarity: candidate.similarity,
            gate: candidate.gate,
            recency: candidate.recency,
            confidence: candidate.confidence,
            cosine: f64::from(found.cosines[candidate.index as usize]),
            lexical: candidate.lexical,
            support: candidate.support,
            passage: found.passages[candidate.index as usize],
            in_window: candidate.in_window,
            event_time: candidate.event_time,
        }
    };
    candidates.iter().map(hit).collect()
}
