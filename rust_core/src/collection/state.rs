//! Everything one collection knows, without its locks.

use serde_bytes::ByteBuf;
use xxhash_rust::xxh3::xxh3_128;

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
    /// `n · dimension` numbers.
    pub vectors: Vec<f32>,
}

/// What a snapshot keeps of a state.
pub struct Kept {
    pub applied_seq: i64,
    pub records: Vec<ByteBuf>,
    pub lexical: Lexical,
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
    /// Each slot's record in canonical form, empty when dead: what a removal undoes, what a snapshot keeps.
    records: Vec<ByteBuf>,
}

impl State {
    pub fn new(dimension: usize, applied_seq: i64) -> Self {
        State {
            applied_seq,
            columns: Columns::default(),
            sequences: Sequences::default(),
            lexical: Lexical::default(),
            vectors: Vectors::new(dimension),
            records: Vec::new(),
        }
    }

    /// Puts a state together from what a snapshot keeps; the rest is derived. None when the parts do not fit.
    pub fn restore(dimension: usize, kept: Kept) -> Option<Self> {
        let mut state = State::new(dimension, kept.applied_seq);
        if kept.first_rows.len() != kept.records.len() + 1 {
            return None;
        }
        for (slot, bytes) in kept.records.iter().enumerate() {
            let record = match bytes.is_empty() {
                true => None,
                false => Some(Record::read(bytes).ok()?),
            };
            state.columns.push(record.as_ref());
            if let Some(record) = &record {
                state.sequences.insert(slot as u32, record);
            }
        }
        let live = |slot: u32| state.columns.live().contains(slot);
        state.vectors = Vectors::restore(dimension, kept.rows, kept.first_rows, live, kept.sum, kept.graph)?;
        state.records = kept.records;
        state.lexical = kept.lexical;
        Some(state)
    }

    /// Removes, then puts; of several puts of one id the last counts. Nothing changes on an error.
    pub fn apply(&mut self, seq: i64, puts: &[Put], removes: &[Id]) -> Result<()> {
        let encoded = puts.iter().map(|put| put.record.canonical()).collect::<Result<Vec<_>>>()?;
        let new_rows: usize = puts.iter().map(|put| put.vectors.len() / self.vectors.dimension()).sum();
        if self.vectors.rows().len() + new_rows > u32::MAX as usize
            || self.records.len() + puts.len() > MAX_SLOTS
        {
            let why =
                format!("{} more memories do not fit into one collection; use another namespace", puts.len());
            return Err(Error::invalid("puts", why));
        }
        for id in removes {
            self.remove(id)?;
        }
        for (put, bytes) in puts.iter().zip(encoded) {
            self.remove(&put.record.id)?;
            self.insert(&put.record, bytes);
            self.vectors.push(&put.vectors);
        }
        if self.removed() > FEW_REMOVED.max(self.columns.live().len()) {
            self.compact()?;
        }
        self.applied_seq = seq;
        Ok(())
    }

    /// The record of a live slot.
    pub fn record(&self, slot: u32) -> Result<Record> {
        Record::read(&self.records[slot as usize])
    }

    pub fn records(&self) -> &[ByteBuf] {
        &self.records
    }

    pub fn removed(&self) -> u64 {
        self.records.len() as u64 - self.columns.live().len()
    }

    /// The sum over memories of a hash of each: independent of their order.
    pub fn digest(&self) -> u128 {
        let mut sum = 0u128;
        let mut buffer = Vec::new();
        for slot in self.columns.live() {
            buffer.clear();
            buffer.extend_from_slice(&self.records[slot as usize]);
            for x in self.vectors.of(slot) {
                buffer.extend_from_slice(&x.to_le_bytes());
            }
            sum = sum.wrapping_add(xxh3_128(&buffer));
        }
        sum
    }

    pub fn status(&self) -> Status {
        let records: usize = self.records.iter().map(|record| record.len() + 24).sum();
        Status {
            applied_seq: self.applied_seq,
            dimension: self.vectors.dimension(),
            memories: self.columns.live().len(),
            vectors: self.vectors.live_rows() as u64,
            removed: self.removed(),
            in_graph: self.vectors.rows_in_graph() as u64,
            bytes: (records
                + self.columns.bytes()
                + self.sequences.bytes()
                + self.lexical.bytes()
                + self.vectors.bytes()) as u64,
        }
    }

    fn insert(&mut self, record: &Record, bytes: Vec<u8>) {
        let slot = self.records.len() as u32;
        self.records.push(ByteBuf::from(bytes));
        self.columns.push(Some(record));
        self.sequences.insert(slot, record);
        self.lexical.add(slot, &record.content);
    }

    fn remove(&mut self, id: &Id) -> Result<()> {
        let Some(slot) = self.columns.slot(id) else { return Ok(()) };
        let record = self.record(slot)?;
        self.columns.remove(slot, &record);
        self.sequences.remove(slot, &record);
        self.lexical.remove(slot, &record.content);
        self.vectors.remove(slot);
        self.records[slot as usize] = ByteBuf::new();
        Ok(())
    }

    /// Numbers the live memories anew and drops the rest, the graph included (it is built again behind).
    fn compact(&mut self) -> Result<()> {
        let mut fresh = State::new(self.vectors.dimension(), self.applied_seq);
        for slot in self.columns.live() {
            let record = self.record(slot)?;
            let bytes = self.records[slot as usize].to_vec();
            fresh.insert(&record, bytes);
            fresh.vectors.push_from(&self.vectors, slot);
        }
        *self = fresh;
        Ok(())
    }
}
