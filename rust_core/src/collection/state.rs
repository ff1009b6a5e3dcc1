//! Everything one collection knows, without its locks.

use xxhash_rust::xxh3::xxh3_128;

use super::fields::{Encoded, Fields};
use super::sequences::Sequences;
use crate::error::{Error, Result};
use crate::filter::Columns;
use crate::lexical::Lexical;
use crate::types::{Id, Record, Status};
use crate::vector::{Graph, Rows, Vectors};

/// Slots of removed memories that may wait for reclaiming, whatever the size of the collection.
const FEW_REMOVED: u64 = 1_000;

/// Slots that the lexical index can number.
const MAX_SLOTS: usize = 1 << 26;

/// A memory that is fit to be put: checked, its vectors scaled to length one.
#[derive(Debug)]
pub struct Put {
    pub record: Record,
    pub encoded: Encoded,
    /// `n · dimension` numbers.
    pub vectors: Vec<f32>,
}

/// What a snapshot keeps of a state beside its lexical index.
pub struct Kept {
    pub applied_seq: i64,
    pub fields: Fields,
    pub first_rows: Vec<u32>,
    pub rows: Rows,
    /// Of the rows of live memories.
    pub sum: Vec<f64>,
    pub graph: Option<Graph>,
}

/// The memories of a collection by slot. A put takes a new slot, a removed memory leaves its slot dead.
pub struct State {
    pub applied_seq: i64,
    pub columns: Columns,
    pub sequences: Sequences,
    pub lexical: Lexical,
    pub vectors: Vectors,
    pub fields: Fields,
}

impl State {
    pub fn new(dimension: usize, applied_seq: i64) -> Self {
        State {
            applied_seq,
            columns: Columns::default(),
            sequences: Sequences::default(),
            lexical: Lexical::default(),
            vectors: Vectors::new(dimension),
            fields: Fields::default(),
        }
    }

    /// Puts a state together from what a snapshot keeps, but for the lexical index; the rest is derived. None
    /// when the parts do not fit.
    pub fn restore(dimension: usize, kept: Kept) -> Option<Self> {
        let mut state = State::new(dimension, kept.applied_seq);
        if kept.first_rows.len() != kept.fields.slots() + 1 {
            return None;
        }
        for slot in 0..kept.fields.slots() as u32 {
            let record = match kept.fields.is_live(slot) {
                true => Some(kept.fields.record(slot).ok()?),
                false => None,
            };
            if record.as_ref().is_some_and(|record| state.columns.slot(&record.id).is_some()) {
                return None;
            }
            state.columns.push(record.as_ref());
            if let Some(record) = &record {
                state.sequences.insert(slot, record);
            }
        }
        let live = |slot: u32| state.columns.live().contains(slot);
        state.vectors = Vectors::restore(dimension, kept.rows, kept.first_rows, live, kept.sum, kept.graph)?;
        state.fields = kept.fields;
        Some(state)
    }

    /// Removes, then puts; of several puts of one id the last counts. Nothing changes on an error.
    pub fn apply(&mut self, seq: i64, puts: &[Put], removes: &[Id]) -> Result<()> {
        let new_rows: usize = puts.iter().map(|put| put.vectors.len() / self.vectors.dimension()).sum();
        if self.vectors.rows().len() + new_rows > u32::MAX as usize
            || self.fields.slots() + puts.len() > MAX_SLOTS
        {
            let why =
                format!("{} more memories do not fit into one collection; use another namespace", puts.len());
            return Err(Error::invalid("puts", why));
        }
        for id in removes {
            self.remove(id)?;
        }
        for put in puts {
            self.remove(&put.record.id)?;
            let slot = self.fields.slots() as u32;
            self.fields.push(&put.encoded);
            self.columns.push(Some(&put.record));
            self.sequences.insert(slot, &put.record);
            self.lexical.add(slot, &put.record.content);
            self.vectors.push(&put.vectors);
        }
        if self.removed() > FEW_REMOVED.max(self.columns.live().len()) {
            self.compact()?;
        }
        self.applied_seq = seq;
        Ok(())
    }

    pub fn removed(&self) -> u64 {
        self.fields.slots() as u64 - self.columns.live().len()
    }

    /// The sum over memories of a hash of each: independent of their order.
    pub fn digest(&self) -> u128 {
        let mut sum = 0u128;
        let mut buffer = Vec::new();
        for slot in self.columns.live() {
            buffer.clear();
            buffer.extend_from_slice(&self.fields.hash(slot).to_le_bytes());
            for x in self.vectors.of(slot) {
                buffer.extend_from_slice(&x.to_le_bytes());
            }
            sum = sum.wrapping_add(xxh3_128(&buffer));
        }
        sum
    }

    pub fn status(&self) -> Status {
        Status {
            applied_seq: self.applied_seq,
            dimension: self.vectors.dimension(),
            memories: self.columns.live().len(),
            vectors: self.vectors.live_rows() as u64,
            removed: self.removed(),
            in_graph: self.vectors.rows_in_graph() as u64,
            bytes: (self.fields.bytes()
                + self.columns.bytes()
                + self.sequences.bytes()
                + self.lexical.bytes()
                + self.vectors.bytes()) as u64,
        }
    }

    fn remove(&mut self, id: &Id) -> Result<()> {
        let Some(slot) = self.columns.slot(id) else { return Ok(()) };
        let record = self.fields.record(slot)?;
        self.columns.remove(slot, &record);
        self.sequences.remove(slot, &record);
        self.lexical.remove(slot);
        self.vectors.remove(slot);
        self.fields.remove(slot);
        Ok(())
    }

    /// Numbers the live memories anew and drops the rest, the graph included (it is built again behind).
    fn compact(&mut self) -> Result<()> {
        let mut fresh = State::new(self.vectors.dimension(), self.applied_seq);
        let mut to = vec![u32::MAX; self.fields.slots()];
        for (new, slot) in (0..).zip(self.columns.live()) {
            let record = self.fields.record(slot)?;
            fresh.fields.push_from(&self.fields, slot);
            fresh.columns.push(Some(&record));
            fresh.sequences.insert(new, &record);
            fresh.vectors.push_from(&self.vectors, slot);
            to[slot as usize] = new;
        }
        fresh.lexical = std::mem::take(&mut self.lexical);
        fresh.lexical.renumber(&to);
        *self = fresh;
        Ok(())
    }
}
