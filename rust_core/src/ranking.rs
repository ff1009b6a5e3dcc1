//! From found memories to the best by score.
//!
//! After a scan only rounded cosines are known. The best of them are weighed exactly; what their k-th best score
//! asks of a similarity, turned back through every part of the score, tells which others could still be among
//! the best, and those are weighed too. The answer is the top_k of all, not of a sample.

use std::cmp::Ordering;

use crate::collection::{Found, NONE, State};
use crate::request::Request;
use crate::score::{self, Scale};
use crate::types::{Hit, Weights};
use crate::vector::Query;

/// Fewest memories that are weighed after a scan.
const WEIGHED: usize = 40;
/// Halvings until a similarity is known to a billionth.
const HALVINGS: usize = 30;
/// What float32 may round away.
const ROUNDING: f64 = 1e-6;
/// Memories whose vectors are fetched ahead of their use.
const AHEAD: usize = 4;

/// A memory whose similarity is known exactly.
struct Weighed {
    /// Into the slots found.
    index: usize,
    similarity: f64,
    support: f64,
    in_window: bool,
}

/// What one search found in one collection.
pub struct Side<'a> {
    number: u64,
    state: &'a State,
    vector: Option<&'a Query>,
    found: Found,
    /// Of each slot: rounded, or exact where `known` says so.
    cosines: Vec<f32>,
    /// One bit a slot; empty when every cosine is exact.
    known: Vec<u64>,
    /// The similarities by the rounded cosines, neighbours aside; empty when every cosine is exact.
    rounded: Vec<f32>,
    /// How far those may be off.
    margin: f64,
    scale: Scale,
    weighed: Vec<Weighed>,
    /// One bit a slot: whether it is in `weighed`.
    done: Vec<u64>,
}

impl<'a> Side<'a> {
    /// `cosines` of a scan, or none where they are to be computed exactly at once.
    pub fn new(
        number: u64,
        state: &'a State,
        vector: Option<&'a Query>,
        found: Found,
        cosines: Vec<f32>,
        scale: Scale,
    ) -> Self {
        let words = found.slots.len().div_ceil(64);
        let (known, weighed, done) = (Vec::new(), Vec::new(), vec![0; words]);
        let rounded = Vec::new();
        let mut side =
            Side { number, state, vector, found, cosines, known, rounded, margin: 0.0, scale, weighed, done };
        match vector {
            None => side.cosines = vec![0.0; side.found.slots.len()],
            Some(query) if side.cosines.is_empty() => side.measure_all(query),
            Some(query) => {
                side.known = vec![0; words];
                let band = 1.0 - scale.background.unwrap_or(0.0);
                side.margin = f64::from(state.vectors.margin(query)) / band + ROUNDING;
                side.round();
            }
        }
        side
    }

    fn is_exact(&self) -> bool {
        self.known.is_empty()
    }

    fn measure_all(&mut self, query: &Query) {
        let (vectors, slots) = (&self.state.vectors, &self.found.slots);
        self.cosines = slots
            .iter()
            .enumerate()
            .map(|(i, slot)| {
                if let Some(ahead) = slots.get(i + AHEAD) {
                    vectors.prefetch(*ahead);
                }
                vectors.best(query, *slot).0
            })
            .collect();
    }

    fn round(&mut self) {
        let background = self.scale.background.map_or(0.0, |background| background as f32);
        let band = 1.0 / (1.0 - background);
        let similarity = |cosine: &f32| ((cosine.max(0.0) - background) * band).clamp(0.0, 1.0);
        self.rounded = self.cosines.iter().map(similarity).collect();
        let mut index = 0;
        for (slot, bm25) in &self.found.lexical {
            while self.found.slots[index] < *slot {
                index += 1;
            }
            let raised =
                self.scale.alone(f64::from(self.cosines[index]), self.scale.lexical(f64::from(*bm25)));
            self.rounded[index] = raised as f32;
        }
    }

    /// Where a slot stands among those found.
    fn index_of(&self, slot: u32) -> Option<usize> {
        let slots = &self.found.slots;
        match slots.get(slot as usize) {
            Some(there) if *there == slot => Some(slot as usize),
            _ => slots.binary_search(&slot).ok(),
        }
    }

    fn lexical(&self, index: usize) -> f64 {
        let (lexical, slot) = (&self.found.lexical, self.found.slots[index]);
        let at = match lexical.len() == self.found.slots.len() {
            true => Ok(index),
            false => lexical.binary_search_by_key(&slot, |(slot, _)| *slot),
        };
        at.map_or(0.0, |at| self.scale.lexical(f64::from(lexical[at].1)))
    }

    /// Exactly.
    fn cosine(&mut self, index: usize) -> f64 {
        if let (Some(query), false) = (self.vector, self.is_exact())
            && (self.known[index / 64] >> (index % 64)) & 1 == 0
        {
            self.known[index / 64] |= 1 << (index % 64);
            self.cosines[index] = self.state.vectors.best(query, self.found.slots[index]).0;
        }
        f64::from(self.cosines[index])
    }

    /// The similarity of a memory, its neighbours aside.
    fn alone(&mut self, index: usize) -> f64 {
        let cosine = self.cosine(index);
        self.scale.alone(cosine, self.lexical(index))
    }

    /// The neighbours of a memory; those of one that is itself here as a neighbour only may be missing.
    fn around(&self, index: usize) -> [Option<usize>; 4] {
        let found = &self.found;
        let around = self.state.sequences.around(found.slots[index], |slot| found.is_visible(slot));
        around.map(|slot| if slot == NONE { None } else { self.index_of(slot) })
    }

    fn in_window(&self, index: usize, request: &Request) -> bool {
        let time = self.state.columns.event_time(self.found.slots[index]);
        request.window.is_some_and(|window| window.contains(time))
    }

    /// Weighs those of `indexes` that may be returned and were not weighed before.
    fn weigh(&mut self, indexes: impl Iterator<Item = usize>, request: &Request) {
        let mut fresh: Vec<usize> = Vec::new();
        for index in indexes {
            let (word, bit) = (index / 64, 1u64 << (index % 64));
            if self.done[word] & bit == 0 && self.found.may_return(self.found.slots[index]) {
                self.done[word] |= bit;
                fresh.push(index);
            }
        }
        for (i, index) in fresh.iter().copied().enumerate() {
            if let Some(ahead) = fresh.get(i + AHEAD)
                && !self.is_exact()
            {
                self.state.vectors.prefetch(self.found.slots[*ahead]);
            }
            let support = match self.found.supported {
                false => 0.0,
                true => {
                    let around = self.around(index).map(|near| near.map_or(0.0, |near| self.alone(near)));
                    self.scale.support(around)
                }
            };
            let similarity = score::similarity(self.alone(index), support);
            let in_window = self.in_window(index, request);
            self.weighed.push(Weighed { index, similarity, support, in_window });
        }
    }

    /// The `count` with the best rounded similarity of a class (see `Class`).
    fn first(&self, count: usize, class: Class, request: &Request) -> Vec<usize> {
        let order = |a: &(f32, usize), b: &(f32, usize)| b.0.total_cmp(&a.0);
        let mut best: Vec<(f32, usize)> = Vec::with_capacity(2 * count);
        let mut floor = f32::NEG_INFINITY;
        for (index, similarity) in self.rounded.iter().enumerate() {
            if *similarity <= floor || !self.is_of(index, class, request) {
                continue;
            }
            best.push((*similarity, index));
            if best.len() == 2 * count {
                floor = best.select_nth_unstable_by(count - 1, order).1.0;
                best.truncate(count);
            }
        }
        if best.len() > count {
            best.select_nth_unstable_by(count - 1, order);
            best.truncate(count);
        }
        best.into_iter().map(|(_, index)| index).collect()
    }

    fn is_of(&self, index: usize, class: Class, request: &Request) -> bool {
        self.found.may_return(self.found.slots[index])
            && class.is_none_or(|inside| self.in_window(index, request) == inside)
    }

    /// Those of a class whose similarity may be `least` or more.
    fn reaching(&self, least: f64, class: Class, request: &Request) -> Vec<usize> {
        let weight = if self.found.supported { self.scale.weights.neighbours } else { 0.0 };
        let alone = (self.scale.alone_for(least, weight) - self.margin) as f32;
        let hot = self.rounded.iter().enumerate().filter(|(_, similarity)| **similarity >= alone);
        let mut reaching: Vec<usize> = hot.map(|(index, _)| index).collect();
        if self.found.supported && reaching.len() < self.rounded.len() {
            let near: Vec<usize> = reaching.iter().flat_map(|index| self.around(*index)).flatten().collect();
            reaching.extend(near);
        }
        reaching.retain(|index| self.is_of(*index, class, request));
        reaching
    }
}

impl Scale {
    /// The largest similarity alone with which a memory whose neighbours have no more than that themselves stays
    /// at or below `similarity`.
    fn alone_for(&self, similarity: f64, neighbours: f64) -> f64 {
        if neighbours == 0.0 {
            return similarity;
        }
        least(|alone| score::similarity(alone, self.support([alone; 4])) >= similarity)
    }
}

/// The least number of 0..1 from which on `holds`; 1 when that is nowhere.
fn least(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    if holds(low) {
        return low;
    }
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if holds(middle) { high = middle } else { low = middle }
    }
    low
}

/// Inside the window, outside of it, or, without one, all alike (None).
type Class = Option<bool>;

/// The top_k: inside the window first, then by score, newer event_time, smaller id.
pub fn rank(request: &Request, sides: &mut [Side]) -> Vec<Hit> {
    let classes: &[Class] = if request.window.is_some() { &[Some(true), Some(false)] } else { &[None] };
    let count = WEIGHED.max(4 * request.top_k);
    for side in sides.iter_mut() {
        if side.is_exact() {
            side.weigh(0..side.found.slots.len(), request);
        } else {
            for class in classes {
                side.weigh(side.first(count, *class, request).into_iter(), request);
            }
        }
    }
    if sides.iter().any(|side| !side.is_exact()) {
        // The best similarity decides over all gates, so it is made sure of first.
        let best = best_similarity(sides);
        weigh_reaching(sides, best, None, request);
        let best = best_similarity(sides);
        for class in classes {
            let kth = kth_score(request, sides, best, *class);
            let reached = |similarity: f64| score_at_most(&request.weights, similarity, best) >= kth;
            weigh_reaching(sides, least(reached), *class, request);
        }
    }
    let best = best_similarity(sides);
    choose(request, sides, best)
}

fn weigh_reaching(sides: &mut [Side], least: f64, class: Class, request: &Request) {
    for side in sides.iter_mut().filter(|side| !side.is_exact()) {
        side.weigh(side.reaching(least, class, request).into_iter(), request);
    }
}

fn best_similarity(sides: &[Side]) -> f64 {
    sides.iter().flat_map(|side| &side.weighed).map(|weighed| weighed.similarity).fold(0.0, f64::max)
}

/// The score of a memory of this similarity were it of this moment and certain.
fn score_at_most(weights: &Weights, similarity: f64, best: f64) -> f64 {
    let gate = score::gate(similarity, best, weights.gate).min(1.0);
    score::score(weights, similarity, gate, 1.0, 1.0) + 1e-9
}

/// What a memory of a class needs to be among the top_k of those weighed so far, and to be returned at all.
fn kth_score(request: &Request, sides: &[Side], best: f64, class: Class) -> f64 {
    let (weights, mut scores) = (&request.weights, Vec::new());
    for side in sides {
        let columns = &side.state.columns;
        for weighed in
            side.weighed.iter().filter(|weighed| class.is_none_or(|class| weighed.in_window == class))
        {
            let slot = side.found.slots[weighed.index];
            let gate = score::gate(weighed.similarity, best, weights.gate);
            let recency = score::recency(columns.event_time(slot), request.now, weights.half_life);
            scores.push(score::score(weights, weighed.similarity, gate, recency, columns.confidence(slot)));
        }
    }
    let least = request.min_score.unwrap_or(f64::NEG_INFINITY);
    if scores.len() < request.top_k {
        return least;
    }
    scores.select_nth_unstable_by(request.top_k - 1, |a, b| b.total_cmp(a)).1.max(least)
}

fn choose(request: &Request, sides: &mut [Side], best: f64) -> Vec<Hit> {
    let weights = &request.weights;
    let mut top = Top::new(request.top_k);
    for (number, side) in sides.iter().enumerate() {
        let columns = &side.state.columns;
        for (place, weighed) in side.weighed.iter().enumerate() {
            let slot = side.found.slots[weighed.index];
            let (similarity, in_window) = (weighed.similarity, weighed.in_window);
            let gate = score::gate(similarity, best, weights.gate);
            let confidence = columns.confidence(slot);
            // Most candidates fall short even with full recency, which spares them the rest.
            let at_most = score::score(weights, similarity, gate, 1.0, confidence);
            if top.is_beyond(in_window, at_most) {
                continue;
            }
            let event_time = columns.event_time(slot);
            let recency = score::recency(event_time, request.now, weights.half_life);
            let score = score::score(weights, similarity, gate, recency, confidence);
            if request.min_score.is_some_and(|least| score < least) {
                continue;
            }
            let from = (number, place);
            top.push(Chosen { from, id: columns.id(slot), score, gate, recency, in_window, event_time });
        }
    }
    top.into_sorted().into_iter().map(|chosen| hit(&mut sides[chosen.from.0], chosen)).collect()
}

fn hit(side: &mut Side, chosen: Chosen) -> Hit {
    let Weighed { index, similarity, support, .. } = side.weighed[chosen.from.1];
    let slot = side.found.slots[index];
    let passage = side.vector.map_or(0, |query| side.state.vectors.passage(query, slot));
    Hit {
        collection: side.number,
        id: chosen.id,
        score: chosen.score,
        similarity,
        gate: chosen.gate,
        recency: chosen.recency,
        confidence: side.state.columns.confidence(slot),
        cosine: side.cosine(index),
        lexical: side.lexical(index),
        support,
        passage,
        in_window: chosen.in_window,
        event_time: chosen.event_time,
    }
}

/// A hit in the making.
struct Chosen {
    /// Which side, and where in what it weighed.
    from: (usize, usize),
    id: crate::types::Id,
    score: f64,
    gate: f64,
    recency: f64,
    in_window: bool,
    event_time: i64,
}

/// Keeps the best `k` of many.
struct Top {
    k: usize,
    kept: Vec<Chosen>,
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

    fn push(&mut self, chosen: Chosen) {
        self.kept.push(chosen);
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

    fn into_sorted(mut self) -> Vec<Chosen> {
        self.prune();
        self.kept.sort_unstable_by(order);
        self.kept
    }
}

fn order(a: &Chosen, b: &Chosen) -> Ordering {
    b.in_window
        .cmp(&a.in_window)
        .then_with(|| b.score.total_cmp(&a.score))
        .then_with(|| b.event_time.cmp(&a.event_time))
        .then_with(|| a.id.cmp(&b.id))
}
