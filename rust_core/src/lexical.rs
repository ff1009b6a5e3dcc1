//! BM25 over memories: S. Robertson, H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond",
//! 2009, with k1 = 1.2, b = 0.75 and idf = ln(1 + (N − df + 0.5) / (df + 0.5)). A write is visible at once.

mod image;
mod postings;
mod search;
#[cfg(test)]
mod tests;
mod tokenize;
mod varint;

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
    /// The number of each term.
    numbers: HashMap<u64, u32, BuildHasherDefault<TermHasher>>,
    /// The term of each number, and where it occurs; nowhere when the number is free.
    lists: Vec<(u64, Postings)>,
    free: Vec<u32>,
    slots: Vec<Slot>,
    /// The numbers of each slot's terms, ascending, as gaps: what a removal takes out of the lists again.
    forward: Vec<u8>,
    /// Slots that hold a text.
    documents: u32,
    total_length: u64,
    postings_bytes: usize,
}

/// What a slot holds: its length in words, how many postings point to it, and where in `forward` their terms
/// are; all 0 when it is free.
#[derive(Clone, Copy, Default)]
struct Slot {
    length: u32,
    terms: u32,
    forward: u64,
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
        self.remove(slot);
        let (counts, length) = count_terms(text);
        if counts.is_empty() {
            return;
        }
        let at = slot as usize;
        if at >= self.slots.len() {
            self.slots.resize(at + 1, Slot::default());
        }
        self.slots[at] = Slot { length, terms: counts.len() as u32, forward: self.forward.len() as u64 };
        self.documents += 1;
        self.total_length += u64::from(length);
        let mut numbers: Vec<u32> = Vec::with_capacity(counts.len());
        for (term, count) in counts {
            let number = self.number(term);
            numbers.push(number);
            let list = &mut self.lists[number as usize].1;
            self.postings_bytes -= list.bytes();
            list.insert(Posting::new(slot, count));
            self.postings_bytes += list.bytes();
        }
        numbers.sort_unstable();
        varint::put_ascending(&mut self.forward, &numbers);
    }

    /// Removes what `slot` holds; nothing happens when that is nothing. The place its terms took in `forward`
    /// comes back with `renumber`.
    pub fn remove(&mut self, slot: u32) {
        let held = self.slot(slot);
        if held.terms == 0 {
            return;
        }
        for number in self.numbers_of(held) {
            let (term, list) = &mut self.lists[number as usize];
            self.postings_bytes -= list.bytes();
            list.remove(slot);
            self.postings_bytes += list.bytes();
            if list.as_slice().is_empty() {
                self.numbers.remove(term);
                self.free.push(number);
            }
        }
        self.slots[slot as usize] = Slot::default();
        self.documents -= 1;
        self.total_length -= u64::from(held.length);
    }

    /// Gives every slot a new number, `to[slot]`, in the same order; slots that hold nothing go.
    pub fn renumber(&mut self, to: &[u32]) {
        let mut slots = Vec::new();
        let mut forward = Vec::new();
        for (slot, held) in self.slots.iter().enumerate().filter(|(_, held)| held.terms > 0) {
            let numbers = self.numbers_of(*held);
            let new = to[slot] as usize;
            slots.resize(new + 1, Slot::default());
            slots[new] = Slot { forward: forward.len() as u64, ..*held };
            varint::put_ascending(&mut forward, &numbers);
        }
        (self.slots, self.forward) = (slots, forward);
        self.lists.iter_mut().for_each(|(_, list)| list.renumber(to));
        self.postings_bytes = self.lists.iter().map(|(_, list)| list.bytes()).sum();
    }

    /// Slots up to the last that holds a text.
    pub fn slots(&self) -> usize {
        self.slots.len()
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
        self.numbers.capacity() * (size_of::<(u64, u32)>() + 1) * 8 / 7
            + self.lists.len() * size_of::<(u64, Postings)>()
            + self.postings_bytes
            + self.slots.len() * size_of::<Slot>()
            + self.forward.len()
    }

    fn postings(&self, term: u64) -> &[Posting] {
        self.numbers.get(&term).map_or(&[], |number| self.lists[*number as usize].1.as_slice())
    }

    fn idf(&self, term: u64) -> f32 {
        let holding = self.postings(term).len() as f32;
        let others = self.documents as f32 - holding;
        (1.0 + (others + 0.5) / (holding + 0.5)).ln()
    }

    fn slot(&self, slot: u32) -> Slot {
        self.slots.get(slot as usize).copied().unwrap_or_default()
    }

    /// The number of a term, a new one where it has none.
    fn number(&mut self, term: u64) -> u32 {
        if let Some(number) = self.numbers.get(&term) {
            return *number;
        }
        let number = match self.free.pop() {
            Some(number) => {
                self.lists[number as usize].0 = term;
                number
            }
            None => {
                self.lists.push((term, Postings::default()));
                (self.lists.len() - 1) as u32
            }
        };
        self.numbers.insert(term, number);
        number
    }

    fn numbers_of(&self, held: Slot) -> Vec<u32> {
        let mut bytes = &self.forward[held.forward as usize..];
        varint::take_ascending(&mut bytes, held.terms).unwrap_or_default()
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
