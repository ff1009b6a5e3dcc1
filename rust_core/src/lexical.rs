//! BM25 over memories: S. Robertson, H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond",
//! 2009, with k1 = 1.2, b = 0.75 and idf = ln(1 + (N − df + 0.5) / (df + 0.5)). A write is visible at once.

mod image;
mod postings;
mod search;
#[cfg(test)]
mod tests;
mod tokenize;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use postings::{MAX_SLOT, Posting, Postings};
use tokenize::{Kind, tokenize};

/// A query's weight for single characters of a run: the pairs carry the evidence.
const CHARACTER_WEIGHT: f32 = 0.1;

/// Characters of a run in more memories than this, and in over 2 % of all, are not looked for next to pairs:
/// they would tell next to nothing and take most of the time.
const COMMON_CHARACTER: usize = 1000;

/// The inverted index of one collection. Slots are ordinals that the collection chooses, dense and at most
/// 67 million; a text without a single term (spaces, punctuation) takes no part.
#[derive(Default)]
pub struct Lexical {
    terms: HashMap<u64, Postings, BuildHasherDefault<TermHasher>>,
    slots: Vec<Slot>,
    /// Slots that hold a text.
    documents: u32,
    total_length: u64,
    postings_bytes: usize,
}

/// What a slot holds: its length in words and how many postings point to it; both 0 when it is free.
#[derive(Clone, Copy, Default)]
struct Slot {
    length: u32,
    terms: u32,
}

/// A tokenised query: terms with their weights (idf at the time, times their number in the query), the
/// heaviest first.
#[derive(Clone, Debug, Default)]
pub struct LexicalQuery {
    terms: Vec<(u64, f32)>,
}

impl LexicalQuery {
    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

impl Lexical {
    /// Indexes `text` under `slot`, in place of what the slot held.
    ///
    /// # Panics
    /// When `slot` is over 67,108,863.
    pub fn add(&mut self, slot: u32, text: &str) {
        assert!(slot <= MAX_SLOT, "slot {slot} is over {MAX_SLOT}, the most a collection can hold");
        if self.slot(slot).terms > 0 {
            self.sweep(slot);
        }
        let (counts, length) = count_terms(text);
        if counts.is_empty() {
            return;
        }
        let at = slot as usize;
        if at >= self.slots.len() {
            self.slots.resize(at + 1, Slot::default());
        }
        self.slots[at] = Slot { length, terms: counts.len() as u32 };
        self.documents += 1;
        self.total_length += u64::from(length);
        for (term, count) in counts {
            let posting = Posting::new(slot, count);
            self.terms
                .entry(term)
                .and_modify(|list| {
                    self.postings_bytes -= list.bytes();
                    list.insert(posting);
                    self.postings_bytes += list.bytes();
                })
                .or_insert(Postings::One(posting));
        }
    }

    /// Removes what `slot` holds; nothing happens when that is nothing. `text` is the one that was added.
    ///
    /// Another text would leave postings behind; that is noticed, and all terms are swept instead (slow).
    pub fn remove(&mut self, slot: u32, text: &str) {
        if self.slot(slot).terms == 0 {
            return;
        }
        let (counts, _) = count_terms(text);
        let mut removed = 0;
        for (term, _) in counts {
            removed += u32::from(self.remove_posting(term, slot));
        }
        if removed != self.slot(slot).terms {
            self.sweep(slot);
        } else {
            self.free(slot);
        }
    }

    /// Tokenises a query; its weights are of this moment.
    pub fn query(&self, text: &str) -> LexicalQuery {
        let mut tokens = Vec::new();
        tokenize(text, |term, kind| tokens.push((term, kind)));
        if tokens.iter().any(|(_, kind)| *kind != Kind::Stop) {
            tokens.retain(|(_, kind)| *kind != Kind::Stop);
        }
        let common = (self.documents as usize / 50).max(COMMON_CHARACTER);
        if tokens.iter().any(|(_, kind)| *kind == Kind::Full) {
            tokens.retain(|(term, kind)| *kind == Kind::Full || self.postings(*term).len() <= common);
        }
        tokens.sort_unstable();
        let mut terms: Vec<(u64, f32)> = tokens
            .chunk_by(|a, b| a.0 == b.0)
            .map(|same| {
                let times: f32 = same.iter().map(|(_, kind)| weight(*kind)).sum();
                (same[0].0, times * self.idf(same[0].0))
            })
            .collect();
        terms.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        LexicalQuery { terms }
    }

    /// The score of an imaginary memory of average length that holds every term of the query once, terms
    /// that no memory holds included. 0 for a query without terms.
    pub fn ideal(&self, query: &LexicalQuery) -> f32 {
        query.terms.iter().map(|(_, weight)| weight).sum()
    }

    /// Heap in use, roughly.
    pub fn bytes(&self) -> usize {
        let entry = size_of::<(u64, Postings)>() + 1;
        self.terms.capacity() * entry * 8 / 7
            + self.postings_bytes
            + self.slots.capacity() * size_of::<Slot>()
    }

    fn postings(&self, term: u64) -> &[Posting] {
        self.terms.get(&term).map_or(&[], Postings::as_slice)
    }

    fn idf(&self, term: u64) -> f32 {
        let holding = self.terms.get(&term).map_or(0, |list| list.as_slice().len()) as f32;
        let others = self.documents as f32 - holding;
        (1.0 + (others + 0.5) / (holding + 0.5)).ln()
    }

    fn slot(&self, slot: u32) -> Slot {
        self.slots.get(slot as usize).copied().unwrap_or_default()
    }

    fn remove_posting(&mut self, term: u64, slot: u32) -> bool {
        let Some(list) = self.terms.get_mut(&term) else {
            return false;
        };
        let before = list.bytes();
        let (found, empty) = list.remove(slot);
        self.postings_bytes = self.postings_bytes - before + list.bytes();
        if empty {
            self.terms.remove(&term);
        }
        found
    }

    fn sweep(&mut self, slot: u32) {
        let terms: Vec<u64> = self.terms.keys().copied().collect();
        for term in terms {
            self.remove_posting(term, slot);
        }
        self.free(slot);
    }

    fn free(&mut self, slot: u32) {
        let freed = std::mem::take(&mut self.slots[slot as usize]);
        self.documents -= 1;
        self.total_length -= u64::from(freed.length);
    }
}

fn weight(kind: Kind) -> f32 {
    match kind {
        Kind::Full | Kind::Stop => 1.0,
        Kind::Character => CHARACTER_WEIGHT,
    }
}

/// Each term of a text with its number of occurrences, and the text's length in words.
fn count_terms(text: &str) -> (Vec<(u64, u32)>, u32) {
    let mut terms = Vec::new();
    let length = tokenize(text, |term, _| terms.push(term));
    terms.sort_unstable();
    let counts = terms.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32));
    (counts.collect(), length)
}

/// Terms are hashes already.
#[derive(Default)]
struct TermHasher(u64);

impl Hasher for TermHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("terms are hashed as u64");
    }

    fn write_u64(&mut self, term: u64) {
        self.0 = term;
    }
}
