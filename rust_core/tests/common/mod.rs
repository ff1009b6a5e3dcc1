//! Random memories and the bytes the core reads.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::collections::BTreeMap;

use rust_core::types::{Id, Record, Value};
use serde::Serialize;
use serde_bytes::ByteBuf;

pub const WORDS: [&str; 12] = [
    "mysql",
    "timeout",
    "connection",
    "pool",
    "数据库",
    "连接",
    "超时",
    "deploy",
    "cache",
    "重启",
    "token",
    "nginx",
];
pub const TAGS: [&str; 4] = ["db", "net", "数据", "ci"];
pub const NOW: i64 = 1_000_000;

/// xorshift64*: the same numbers for the same seed everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, n: usize) -> usize {
        ((self.next() >> 33) % n as u64) as usize
    }

    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// About normal.
    pub fn normal(&mut self) -> f32 {
        ((0..12).map(|_| self.unit()).sum::<f64>() - 6.0) as f32
    }

    pub fn vector(&mut self, dimension: usize) -> Vec<f32> {
        (0..dimension).map(|_| self.normal()).collect()
    }
}

pub fn id(number: u64) -> Id {
    let mut id = [1; 16];
    id[8..].copy_from_slice(&number.to_be_bytes());
    id
}

#[derive(Clone)]
pub struct Memory {
    pub record: Record,
    pub vectors: Vec<Vec<f32>>,
}

impl Memory {
    pub fn random(random: &mut Random, number: u64, dimension: usize) -> Self {
        let words: Vec<&str> = (0..1 + random.below(8)).map(|_| random.pick(&WORDS)).collect();
        let mut record = Record {
            id: id(number),
            content: words.join(" "),
            tags: TAGS.iter().filter(|_| random.chance(0.4)).map(|tag| (*tag).to_owned()).collect(),
            task_type: random.pick(&["fix", "deploy", ""]).to_owned(),
            outcome: random.pick(&["SUCCESS", "FAILURE"]).to_owned(),
            memory_type: "SEMANTIC".to_owned(),
            verification: random.pick(&["PENDING", "CONFIRMED", "PENDING", "REFUTED"]).to_owned(),
            confidence: random.unit(),
            create_time: random.below(NOW as usize) as i64,
            event_time: random.below(NOW as usize + 1000) as i64,
            ..Record::default()
        };
        record.tags.sort_unstable();
        if random.chance(0.7) {
            record.sequence = random.pick(&["a", "乙", "c"]).to_owned();
            record.position = Some(random.below(30) as i64);
        }
        if random.chance(0.2) {
            record.valid_until = Some(random.below(2 * NOW as usize) as i64);
        }
        if random.chance(0.15) {
            record.superseded_by = "x".to_owned();
        }
        if random.chance(0.5) {
            let version = random.pick(&["5.7", "8.0", "8.0.30", "8.0.4", "9.1-rc1"]).to_owned();
            record.attributes.insert("mysql".to_owned(), Value::Text(version));
        }
        let vectors = (0..1 + random.below(3)).map(|_| random.vector(dimension)).collect();
        Memory { record, vectors }
    }

    pub fn packed(&self) -> (Vec<u8>, Vec<u8>) {
        let record = rmp_serde::to_vec_named(&self.record).unwrap();
        (record, pack(&self.vectors.concat()))
    }
}

pub fn pack(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Puts and removes in one commit.
pub fn apply(index: &rust_core::index::Index, collection: u64, seq: i64, puts: &[Memory], removes: &[Id]) {
    let packed: Vec<_> = puts.iter().map(Memory::packed).collect();
    let puts: Vec<(&[u8], &[u8])> =
        packed.iter().map(|(record, vectors)| (&record[..], &vectors[..])).collect();
    let removes: Vec<&[u8]> = removes.iter().map(|id| &id[..]).collect();
    index.apply(collection, seq, &puts, &removes).unwrap();
}

#[derive(Clone, Serialize)]
pub struct Target {
    pub collection: u64,
    pub vector: Option<ByteBuf>,
    pub background: f64,
}

#[derive(Clone, Copy, Serialize)]
pub struct Weights {
    pub similarity: f64,
    pub recency: f64,
    pub confidence: f64,
    pub lexical: f64,
    pub neighbours: f64,
    pub gate: f64,
    pub calibrate: bool,
    pub half_life: i64,
}

pub const BALANCED: Weights = Weights {
    similarity: 0.5,
    recency: 0.3,
    confidence: 0.2,
    lexical: 0.4,
    neighbours: 0.3,
    gate: 6.0,
    calibrate: true,
    half_life: 300_000,
};

type Bounds<T> = BTreeMap<&'static str, T>;

#[derive(Clone, Default, Serialize)]
pub struct Filter {
    pub tags_any: Vec<&'static str>,
    pub tags_all: Vec<&'static str>,
    pub task_type: Vec<&'static str>,
    pub ids: Vec<ByteBuf>,
    pub attributes: BTreeMap<&'static str, Bounds<&'static str>>,
    pub event_time: Option<Bounds<i64>>,
    pub confidence: Option<Bounds<f64>>,
    pub not: Option<Box<Filter>>,
    pub any_of: Vec<Filter>,
}

#[derive(Clone, Serialize)]
pub struct Request {
    pub targets: Vec<Target>,
    pub text: String,
    pub filter: Option<Filter>,
    pub now: i64,
    pub weights: Weights,
    pub top_k: usize,
    pub min_score: Option<f64>,
    pub include_superseded: bool,
    pub include_expired: bool,
    pub include_refuted: bool,
    pub window: Option<(Option<i64>, Option<i64>)>,
    pub explain: bool,
}

impl Request {
    pub fn new(collection: u64, vector: &[f32]) -> Self {
        let target = Target { collection, vector: Some(ByteBuf::from(pack(vector))), background: 0.1 };
        Request {
            targets: vec![target],
            text: String::new(),
            filter: None,
            now: NOW,
            weights: BALANCED,
            top_k: 10,
            min_score: None,
            include_superseded: false,
            include_expired: false,
            include_refuted: false,
            window: None,
            explain: false,
        }
    }
}

pub fn bytes(requests: &[Request]) -> Vec<u8> {
    rmp_serde::to_vec_named(requests).unwrap()
}
