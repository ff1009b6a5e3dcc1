//! Scoring, a term at a time, the weightiest first.
//!
//! Once the terms still to come cannot lift a new memory into the top k, only the memories already met are
//! scored on: H. Turtle, J. Flood, "Query evaluation: strategies and optimizations", 1995 (max_score). Where
//! that does not happen, a frequent term would touch a good part of all memories anyway, and keeping account
//! of which costs more than a look at all sums in the end.

use std::cell::Cell;

use roaring::RoaringBitmap;

use super::postings::Posting;
use super::{Lexical, LexicalQuery, Slot};

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// Sums that rounding may have moved are not cut off.
const ROUNDING: f32 = 1.0001;

/// A share of all slots, one in so many: more postings than that, and nobody keeps account of them.
const DENSE: usize = 16;

thread_local! {
    /// Fresh zeros for each search would cost more than most searches.
    static SUMS: Cell<Sums> =
        const { Cell::new(Sums { by_slot: Vec::new(), met: Vec::new(), dense: false }) };
}

/// Scores by slot.
#[derive(Default)]
struct Sums {
    /// 0 where no term occurs so far, minus infinity where a memory was met and is not allowed.
    by_slot: Vec<f32>,
    /// The slots whose sums are not 0, unless `dense`.
    met: Vec<u32>,
    dense: bool,
}

impl Sums {
    /// Lends this thread's sums out. A panic loses them, and the next caller starts with fresh ones.
    fn with<T>(slots: usize, work: impl FnOnce(&mut Sums) -> T) -> T {
        let mut sums = SUMS.take();
        if sums.by_slot.len() < slots {
            sums.by_slot.resize(slots, 0.0);
        }
        let result = work(&mut sums);
        if sums.dense {
            sums.by_slot[..slots].fill(0.0);
            sums.dense = false;
        }
        for slot in sums.met.drain(..) {
            sums.by_slot[slot as usize] = 0.0;
        }
        SUMS.set(sums);
        result
    }

    fn of(&self, slot: u32) -> f32 {
        self.by_slot[slot as usize]
    }

    fn each_met(&self) -> impl Iterator<Item = (u32, f32)> {
        self.met.iter().map(|&slot| (slot, self.of(slot)))
    }

    /// The `k`-th best sum of those met, 0 when they are fewer.
    fn kth_best(&self, k: usize, room: &mut Vec<f32>) -> f32 {
        room.clear();
        room.extend(self.each_met().map(|(_, sum)| sum).filter(|sum| *sum > 0.0));
        if room.len() < k {
            return 0.0;
        }
        *room.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1
    }
}

impl Lexical {
    /// The `k` best (slot, score) among the allowed (None: all), best first, ties by slot. Only memories
    /// that hold a term of the query; scores are above 0 and have no upper bound.
    pub fn top(&self, query: &LexicalQuery, allowed: Option<&RoaringBitmap>, k: usize) -> Vec<(u32, f32)> {
        if k == 0 {
            return Vec::new();
        }
        let may = |slot| allowed.is_none_or(|allowed| allowed.contains(slot));
        Sums::with(self.slots.len(), |sums| {
            if let Some(open) = self.sum_up(query, allowed, k, sums) {
                best_of(open.into_iter(), may, k)
            } else if sums.dense {
                let all = &sums.by_slot[..self.slots.len()];
                best_of((0..).zip(all.iter().copied()), may, k)
            } else {
                best_of(sums.each_met(), may, k)
            }
        })
    }

    /// Every allowed memory that holds a term of the query: (slot, score), by slot ascending.
    pub fn scores(&self, query: &LexicalQuery, allowed: Option<&RoaringBitmap>) -> Vec<(u32, f32)> {
        Sums::with(self.slots.len(), |sums| {
            for &(term, weight) in &query.terms {
                self.add_met(term, weight, allowed, sums);
            }
            // Sorting many costs more than a look at all.
            if sums.met.len() > self.slots.len() / DENSE {
                let all = sums.by_slot[..self.slots.len()].iter().copied();
                return (0..).zip(all).filter(|(_, sum)| *sum > 0.0).collect();
            }
            sums.met.sort_unstable();
            sums.each_met().filter(|(_, sum)| *sum > 0.0).collect()
        })
    }

    /// Leaves the scores in `sums`, or returns those of the memories that may be among the best.
    fn sum_up(
        &self,
        query: &LexicalQuery,
        allowed: Option<&RoaringBitmap>,
        k: usize,
        sums: &mut Sums,
    ) -> Option<Vec<(u32, f32)>> {
        let most = |weight: f32| weight * (K1 + 1.0);
        let mut to_come: f32 = query.terms.iter().map(|(_, weight)| most(*weight)).sum();
        let mut room = Vec::new();
        for (at, &(term, weight)) in query.terms.iter().enumerate() {
            let occurrences = self.postings(term).len();
            // Finding the k-th best costs about as much as a list of that length.
            if occurrences > sums.met.len() && !sums.dense {
                let kth = sums.kth_best(k, &mut room);
                if to_come * ROUNDING < kth {
                    return Some(self.finish(&query.terms[at..], to_come, kth, sums));
                }
                sums.dense = sums.met.len() + occurrences > self.slots.len() / DENSE;
            }
            if sums.dense && few(allowed, occurrences).is_none() {
                let part = self.saturation();
                for &posting in self.postings(term) {
                    sums.by_slot[posting.slot() as usize] += weight * part.of(posting);
                }
            } else {
                self.add_met(term, weight, allowed, sums);
            }
            to_come -= most(weight);
        }
        None
    }

    /// Adds the remaining terms to the memories that may still be among the best.
    fn finish(&self, terms: &[(u64, f32)], to_come: f32, kth: f32, sums: &Sums) -> Vec<(u32, f32)> {
        let may_reach = |sum: f32| (sum + to_come) * ROUNDING >= kth;
        let mut open: Vec<(u32, f32)> = sums.each_met().filter(|met| may_reach(met.1)).collect();
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

    /// Adds a term to the sums and to the account of the memories met.
    fn add_met(&self, term: u64, weight: f32, allowed: Option<&RoaringBitmap>, sums: &mut Sums) {
        let mut list = self.postings(term);
        let part = self.saturation();
        let Sums { by_slot, met, .. } = sums;
        let mut add = |posting: Posting, allowed: Option<&RoaringBitmap>| {
            let slot = posting.slot();
            let sum = &mut by_slot[slot as usize];
            if *sum == 0.0 {
                met.push(slot);
                if allowed.is_some_and(|allowed| !allowed.contains(slot)) {
                    *sum = f32::NEG_INFINITY;
                }
            }
            *sum += weight * part.of(posting);
        };
        if let Some(allowed) = few(allowed, list.len()) {
            for slot in allowed {
                list = skip_to(list, slot);
                match list.first() {
                    None => break,
                    Some(posting) if posting.slot() == slot => add(*posting, None),
                    Some(_) => {}
                }
            }
        } else {
            list.iter().for_each(|posting| add(*posting, allowed));
        }
    }

    fn saturation(&self) -> Saturation<'_> {
        let average = self.total_length as f32 / self.documents.max(1) as f32;
        Saturation { slots: &self.slots, per_word: K1 * B / average }
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

/// The allowed slots when they are so few that each is better searched for in a list of `postings`.
fn few(allowed: Option<&RoaringBitmap>, postings: usize) -> Option<&RoaringBitmap> {
    allowed.filter(|allowed| allowed.len() * 4 < postings as u64)
}

/// The `k` best of those that `may`, best first, ties by slot.
fn best_of(sums: impl Iterator<Item = (u32, f32)>, may: impl Fn(u32) -> bool, k: usize) -> Vec<(u32, f32)> {
    let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    let mut best: Vec<(u32, f32)> = Vec::new();
    let mut floor = f32::MIN_POSITIVE;
    for (slot, sum) in sums {
        if sum >= floor && may(slot) {
            best.push((slot, sum));
            if best.len() == k.saturating_mul(2) {
                floor = best.select_nth_unstable_by(k - 1, order).1.1;
                best.truncate(k);
            }
        }
    }
    best.sort_unstable_by(order);
    best.truncate(k);
    best
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
