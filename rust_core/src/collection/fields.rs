//! What is kept of each memory's record beside the columns: its fields, the content left out, which is what
//! undoes a removal and what the columns are made from again; and a hash of the whole, for the digest.

use xxhash_rust::xxh3::xxh3_128;

use crate::error::Result;
use crate::types::Record;

/// The fields and the hash of one record.
#[derive(Debug)]
pub struct Encoded {
    fields: Vec<u8>,
    hash: u128,
}

impl Encoded {
    /// Of a record, which is left as it was.
    pub fn new(record: &mut Record) -> Result<Self> {
        let hash = xxh3_128(&record.canonical()?);
        let content = std::mem::take(&mut record.content);
        let fields = record.canonical();
        record.content = content;
        Ok(Encoded { fields: fields?, hash })
    }
}

/// The fields of all slots, one after the other. What a removed memory leaves stays until a compaction.
#[derive(Default)]
pub struct Fields {
    bytes: Vec<u8>,
    starts: Vec<u64>,
    /// 0: the slot is dead.
    lengths: Vec<u32>,
    hashes: Vec<u128>,
}

impl Fields {
    pub fn push(&mut self, encoded: &Encoded) {
        self.put(&encoded.fields, encoded.hash);
    }

    /// Appends what another slot holds elsewhere.
    pub fn push_from(&mut self, other: &Fields, slot: u32) {
        self.put(other.of(slot), other.hashes[slot as usize]);
    }

    fn put(&mut self, fields: &[u8], hash: u128) {
        self.starts.push(self.bytes.len() as u64);
        self.lengths.push(fields.len() as u32);
        self.bytes.extend_from_slice(fields);
        self.hashes.push(hash);
    }

    /// Overwrites what the slot held: an erased memory's tags are not to stay until a compaction.
    pub fn remove(&mut self, slot: u32) {
        let (start, length) = (self.starts[slot as usize] as usize, self.lengths[slot as usize] as usize);
        self.bytes[start..start + length].fill(0);
        (self.lengths[slot as usize], self.hashes[slot as usize]) = (0, 0);
    }

    /// The record of a live slot, without its content.
    pub fn record(&self, slot: u32) -> Result<Record> {
        Record::read(self.of(slot))
    }

    /// The hash of a live slot's whole record.
    pub fn hash(&self, slot: u32) -> u128 {
        self.hashes[slot as usize]
    }

    pub fn is_live(&self, slot: u32) -> bool {
        self.lengths[slot as usize] > 0
    }

    pub fn slots(&self) -> usize {
        self.lengths.len()
    }

    pub fn bytes(&self) -> usize {
        self.bytes.len() + self.slots() * (8 + 4 + 16)
    }

    /// What a snapshot keeps: the fields of the live slots, the length of each slot's, and their hashes.
    pub fn parts(&self) -> (Vec<u8>, &[u32], &[u128]) {
        let mut bytes = Vec::with_capacity(self.bytes.len());
        (0..self.slots() as u32).for_each(|slot| bytes.extend_from_slice(self.of(slot)));
        (bytes, &self.lengths, &self.hashes)
    }

    /// None when the parts do not fit together.
    pub fn from_parts(bytes: Vec<u8>, lengths: Vec<u32>, hashes: Vec<u128>) -> Option<Self> {
        let mut starts = Vec::with_capacity(lengths.len());
        let mut end = 0u64;
        for length in &lengths {
            starts.push(end);
            end += u64::from(*length);
        }
        let fits = end == bytes.len() as u64 && hashes.len() == lengths.len();
        fits.then_some(Fields { bytes, starts, lengths, hashes })
    }

    fn of(&self, slot: u32) -> &[u8] {
        let (start, length) = (self.starts[slot as usize] as usize, self.lengths[slot as usize] as usize);
        &self.bytes[start..start + length]
    }
}
