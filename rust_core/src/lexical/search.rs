//! Scoring, a term at a time. Once the terms still to come cannot lift a new memory into the top k, only the
//! memories already met are scored on: H. Turtle, J. Flood, "Query evaluation: strategies and
//! optimizations", 1995 (max_score).

use std::cell::Cell;

use roaring::RoaringBitmap;

use super::postings::{Posting, Postings};
use super::{Lexical, LexicalQuery, Slot};

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// Sums that rounding may have moved are not cut off.
const ROUNDING: f32 = 1.0001;

thread_local! {
    /// Zeroing a sum for each memory would cost more than most searches.
    static SUMS: Cell<Sums> = const { Cell::new(Sums { sums: Vec::new(), met: Vec::new() }) };
}

/// Scores by slot, all zero but those of the slots in `met`. A slot that is not allowed is met once and
/// stays at minus infinity.
#[derive(Default)]
struct Sums {
    sums: Vec<f32>,
    met: Vec<u32>,
}

impl Sums {
    /// Lends this thread's sums out. A panic loses them, and the next caller starts with fresh ones.
    fn with<T>(slots: usize, work: impl FnOnce(&mut Sums) -> T) -> T {
        let mut sums = SUMS.take();
        if sums.sums.len() < slots {
            sums.sums.resize(slots, 0.0);
        }
        let result = work(&mut sums);
        for slot in sums.met.drain(..) {
            sums.sums[slot as usize] = 0.0;
        }
        SUMS.set(sums);
        result
    }

    fn get(&self, slot: u32) -> f32 {
        self.sums[slot as usize]
    }

    /// The k-th best sum, 0 when fewer are met.
    fn kth_best(&self, k: usize, room: &mut Vec<f32>) -> f32 {
        room.clear();
        room.extend(
            self.met
                .iter()
                .map(|&slot| self.get(slot))
                .filter(|sum| *sum > 0.0),
        );
        if room.len() < k {
            return 0.0;
        }
        *room.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1
    }
}

impl Lexical {
    /// The `k` best (slot, score) among the allowed (None: all), best first, ties by slot. Only memories
    /// that hold a term of the query; scores are above 0 and have no upper bound.
    pub fn top(
        &self,
        query: &LexicalQuery,
        allowed: Option<&RoaringBitmap>,
        k: usize,
    ) -> Vec<(u32, f32)> {
        if k == 0 {
            return Vec::new();
        }
        Sums::with(self.slots.len(), |sums| {
            let mut best = self.best(query, allowed, k, sums);
            let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
            if best.len() > k {
                best.select_nth_unstable_by(k - 1, order);
                best.truncate(k);
            }
            best.sort_unstable_by(order);
            best
        })
    }

    /// Every allowed memory that holds a term of the query: slots, ascending, and their scores.
    pub fn scores(
        &self,
        query: &LexicalQuery,
        allowed: Option<&RoaringBitmap>,
    ) -> (Vec<u32>, Vec<f32>) {
        Sums::with(self.slots.len(), |sums| {
            for &(term, weight) in &query.terms {
                self.accumulate(term, weight, allowed, sums);
            }
            let mut slots: Vec<u32> = sums
                .met
                .iter()
                .copied()
                .filter(|&slot| sums.get(slot) > 0.0)
                .collect();
            slots.sort_unstable();
            let scores = slots.iter().map(|&slot| sums.get(slot)).collect();
            (slots, scores)
        })
    }

    /// A superset of the top k with final scores.
    fn best(
        &self,
        query: &LexicalQuery,
        allowed: Option<&RoaringBitmap>,
        k: usize,
        sums: &mut Sums,
    ) -> Vec<(u32, f32)> {
        let mut to_come: f32 = query
            .terms
            .iter()
            .map(|(_, weight)| weight * (K1 + 1.0))
            .sum();
        let mut room = Vec::new();
        for (at, &(term, weight)) in query.terms.iter().enumerate() {
            let occurrences = self.postings(term).len();
            // Finding the k-th best costs about as much as a list of that length.
            if occurrences > sums.met.len() {
                let kth = sums.kth_best(k, &mut room);
                if to_come * ROUNDING < kth {
                    return self.finish(&query.terms[at..], to_come, kth, sums);
                }
            }
            self.accumulate(term, weight, allowed, sums);
            to_come -= weight * (K1 + 1.0);
        }
        let met = sums.met.iter().map(|&slot| (slot, sums.get(slot)));
        met.filter(|(_, sum)| *sum > 0.0).collect()
    }

    /// Adds the remaining terms to the memories that may still be among the best.
    fn finish(&self, terms: &[(u64, f32)], to_come: f32, kth: f32, sums: &Sums) -> Vec<(u32, f32)> {
        let met = sums.met.iter().map(|&slot| (slot, sums.get(slot)));
        let mut open: Vec<(u32, f32)> = met
            .filter(|(_, sum)| (sum + to_come) * ROUNDING >= kth)
            .collect();
        open.sort_unstable_by_key(|(slot, _)| *slot);
        let part = self.saturation();
        for &(term, weight) in terms {
            let mut list = self.postings(term);
            for (slot, sum) in &mut open {
                list = skip_to(list, *slot);
                match list.first() {
                    None => break,
                    Some(posting) if posting.slot() == *slot => *sum += weight * part.of(*posting),
                    Some(_) => {}
                }
            }
        }
        open
    }

    fn accumulate(&self, term: u64, weight: f32, allowed: Option<&RoaringBitmap>, sums: &mut Sums) {
        let mut list = self.postings(term);
        let part = self.saturation();
        let mut add = |posting: Posting, denied: bool| {
            let slot = posting.slot();
            let sum = &mut sums.sums[slot as usize];
            if *sum == 0.0 {
                sums.met.push(slot);
                if denied {
                    *sum = f32::NEG_INFINITY;
                }
            }
            *sum += weight * part.of(posting);
        };
        match allowed {
            None => list.iter().for_each(|posting| add(*posting, false)),
            // A search in the list is dearer than a look into the bitmap.
            Some(allowed) if allowed.len() * 4 < list.len() as u64 => {
                for slot in allowed {
                    list = skip_to(list, slot);
                    match list.first() {
                        None => break,
                        Some(posting) if posting.slot() == slot => add(*posting, false),
                        Some(_) => {}
                    }
                }
            }
            Some(allowed) => list
                .iter()
                .for_each(|p| add(*p, !allowed.contains(p.slot()))),
        }
    }

    fn postings(&self, term: u64) -> &[Posting] {
        self.terms.get(&term).map_or(&[], Postings::as_slice)
    }

    fn saturation(&self) -> Saturation<'_> {
        let average = self.total_length as f32 / self.documents.max(1) as f32;
        Saturation {
            slots: &self.slots,
            per_word: K1 * B / average,
        }
    }
}

/// What a posting contributes, the weight aside: tf · (k1 + 1) / (tf + k1 · (1 − b + b · length / average)).
#[derive(Clone, Copy)]
struct Saturation<'a> {
    slots: &'a [Slot],
    per_word: f32,
}

impl Saturation<'_> {
    fn of(self, posting: Posting) -> f32 {
        let count = posting.count() as f32;
        let length = self.slots[posting.slot() as usize].length as f32;
        count * (K1 + 1.0) / (count + K1 * (1.0 - B) + self.per_word * length)
    }
}

/// The postings from `slot` on; steps that double, then a binary search, since the next one is often near.
fn skip_to(list: &[Posting], slot: u32) -> &[Posting] {
    let mut bound = 1;
    while bound < list.len() && list[bound - 1].slot() < slot {
        bound *= 2;
    }
    let start = bound / 2;
    let end = bound.min(list.len());
    &list[start + list[start..end].partition_point(|p| p.slot() < slot)..]
}
