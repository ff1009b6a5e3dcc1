//! Plain data that every room of the core shares.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};

/// The 16 bytes of a UUID.
pub type Id = [u8; 16];

/// Largest `dimension` of a collection.
pub const MAX_DIMENSION: usize = 4096;
/// Largest `top_k` of a search and `k` of `nearest`.
pub const MAX_TOP_K: usize = 10_000;

/// The value of an attribute: on the wire a string, a number, a bool, or `{"time": microseconds}`.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Number(f64),
    Bool(bool),
    Time(i64),
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Value::Text(text) => serializer.serialize_str(text),
            Value::Number(number) => serializer.serialize_f64(*number),
            Value::Bool(flag) => serializer.serialize_bool(*flag),
            Value::Time(time) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("time", time)?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct ValueVisitor;

        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a string, a number, a bool or {\"time\": microseconds}")
            }

            fn visit_str<E: de::Error>(self, v: &str) -> std::result::Result<Value, E> {
                Ok(Value::Text(v.to_owned()))
            }

            fn visit_bool<E: de::Error>(self, v: bool) -> std::result::Result<Value, E> {
                Ok(Value::Bool(v))
            }

            fn visit_i64<E: de::Error>(self, v: i64) -> std::result::Result<Value, E> {
                Ok(Value::Number(v as f64))
            }

            fn visit_u64<E: de::Error>(self, v: u64) -> std::result::Result<Value, E> {
                Ok(Value::Number(v as f64))
            }

            fn visit_f64<E: de::Error>(self, v: f64) -> std::result::Result<Value, E> {
                Ok(Value::Number(v))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Value, A::Error> {
                let time = match map.next_entry::<String, i64>()? {
                    Some((key, time)) if key == "time" => time,
                    _ => return Err(de::Error::custom("a map value must be {\"time\": integer}")),
                };
                if map.next_key::<String>()?.is_some() {
                    return Err(de::Error::custom("a map value must be {\"time\": integer}"));
                }
                Ok(Value::Time(time))
            }
        }

        deserializer.deserialize_any(ValueVisitor)
    }
}

/// The fields of a stored memory that a search can see. Unknown fields of the stored record are skipped.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    #[serde(with = "serde_bytes")]
    pub id: Id,
    pub content: String,
    pub tags: Vec<String>,
    pub tools_used: Vec<String>,
    pub task_type: String,
    pub outcome: String,
    pub memory_type: String,
    pub verification: String,
    pub sequence: String,
    pub position: Option<i64>,
    pub attributes: BTreeMap<String, Value>,
    /// 0..1
    pub confidence: f64,
    pub create_time: i64,
    pub update_time: i64,
    pub event_time: i64,
    pub valid_until: Option<i64>,
    pub superseded_by: String,
}

impl Record {
    /// Reads a record as the store keeps it, or in the canonical form.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut reader = rmp_serde::Deserializer::from_read_ref(bytes);
        let mut record: Record = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let path = error.path().to_string();
            Error::invalid(&format!("record.{path}"), error.into_inner())
        })?;
        if record.id == Id::default() {
            return Err(Error::invalid("record.id", "missing or all zero; a memory needs its 16 bytes"));
        }
        if !(0.0..=1.0).contains(&record.confidence) {
            return Err(Error::invalid(
                "record.confidence",
                format!("{} is outside 0..1", record.confidence),
            ));
        }
        for list in [&mut record.tags, &mut record.tools_used] {
            list.sort_unstable();
            list.dedup();
        }
        Ok(record)
    }

    /// The same bytes for equal records, whatever order their writer used.
    pub fn canonical(&self) -> Result<Vec<u8>> {
        rmp_serde::to_vec(self).map_err(|error| Error::Internal(format!("encoding a record: {error}")))
    }

    /// The run and the place in it, when the memory has both.
    pub fn place(&self) -> Option<(&str, i64)> {
        match self.position {
            Some(position) if !self.sequence.is_empty() => Some((&self.sequence, position)),
            _ => None,
        }
    }
}

/// The weights of a score, see `score`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    pub similarity: f64,
    pub recency: f64,
    pub confidence: f64,
    /// β: how far a full lexical match raises the similarity.
    pub lexical: f64,
    /// Support by a neighbour at distance one; a third of it at distance two.
    pub neighbours: f64,
    /// γ of the relevance gate.
    pub gate: f64,
    pub calibrate: bool,
    /// Microseconds, above 0.
    pub half_life: i64,
}

/// What a search leaves out unless it is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Include {
    pub superseded: bool,
    pub expired: bool,
    pub refuted: bool,
}

impl Include {
    pub const ALL: Include = Include { superseded: true, expired: true, refuted: true };
}

/// Half-open; None is open on that side.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Window(pub Option<i64>, pub Option<i64>);

impl Window {
    pub fn contains(&self, time: i64) -> bool {
        self.0.is_none_or(|start| time >= start) && self.1.is_none_or(|end| time < end)
    }
}

/// One hit with the parts of its score.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub collection: u64,
    pub id: Id,
    pub score: f64,
    pub similarity: f64,
    pub gate: f64,
    pub recency: f64,
    pub confidence: f64,
    /// Plain, of the best passage; −1..1.
    pub cosine: f64,
    pub lexical: f64,
    pub support: f64,
    pub passage: u32,
    pub in_window: bool,
    pub event_time: i64,
}

/// The answer to one search.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    pub hits: Vec<Hit>,
    /// all | scan | graph | none, joined by "+" over collections.
    pub plan: String,
    pub allowed: u64,
    pub candidates: u64,
    pub elapsed_us: u64,
    /// When it was asked for.
    pub stages: Option<Stages>,
}

/// Where the time of a search went, in microseconds. What a block of searches did at once counts for each of
/// them in equal parts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stages {
    /// Filter and flags, to a bitmap.
    pub filter: u64,
    /// Candidates from the graph, the words, the newest, the most confident; BM25 scores.
    pub candidates: u64,
    /// Scan of the high bytes.
    pub scan: u64,
    /// Exact cosines, scores, order.
    pub score: u64,
}

/// The state of one collection.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    pub applied_seq: i64,
    pub dimension: usize,
    pub memories: u64,
    pub vectors: u64,
    pub removed: u64,
    pub in_graph: u64,
    pub bytes: u64,
}
