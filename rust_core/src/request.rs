//! What a search asks, read from msgpack and checked.

use serde::Deserialize;
use serde_bytes::ByteBuf;

use crate::error::{Error, Result};
use crate::filter::{Filter, MAX_DEPTH, join, unreadable};
use crate::score;
use crate::types::{MAX_TOP_K, Weights, Window};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
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
    pub window: Option<Window>,
    /// Whether the time of each stage is wanted.
    pub explain: bool,
    /// Scan, whatever the size.
    #[serde(default)]
    pub exact: bool,
}

/// One namespace to search.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub collection: u64,
    pub vector: Option<ByteBuf>,
    /// The embedding model's usual cosine of unrelated texts.
    pub background: f64,
}

impl Request {
    /// Reads a batch. A fault names its place, as `requests[2].weights.gate: …`.
    pub fn read_all(bytes: &[u8]) -> Result<Vec<Request>> {
        let mut reader = rmp_serde::Deserializer::from_read_ref(bytes);
        reader.set_max_depth(MAX_DEPTH);
        let requests: Vec<Request> = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let path = join("requests", &error.path().to_string());
            unreadable(&path, error.into_inner())
        })?;
        for (i, request) in requests.iter().enumerate() {
            request.check(&format!("requests[{i}]"))?;
        }
        Ok(requests)
    }

    fn check(&self, path: &str) -> Result<()> {
        if self.targets.is_empty() {
            return Err(Error::invalid(&format!("{path}.targets"), "empty; name at least one collection"));
        }
        for (i, target) in self.targets.iter().enumerate() {
            let path = format!("{path}.targets[{i}]");
            if !(-1.0..=1.0).contains(&target.background) {
                let why = format!("{} is no cosine", target.background);
                return Err(Error::invalid(&format!("{path}.background"), why));
            }
            if self.targets[..i].iter().any(|other| other.collection == target.collection) {
                let why = format!("{} is named twice", target.collection);
                return Err(Error::invalid(&format!("{path}.collection"), why));
            }
        }
        if !(1..=MAX_TOP_K).contains(&self.top_k) {
            let why = format!("{} is outside 1..={MAX_TOP_K}", self.top_k);
            return Err(Error::invalid(&format!("{path}.top_k"), why));
        }
        if self.min_score.is_some_and(f64::is_nan) {
            return Err(Error::invalid(&format!("{path}.min_score"), "NaN is no score"));
        }
        if let Some(filter) = &self.filter {
            filter.check(&format!("{path}.filter"))?;
        }
        score::check(&self.weights, &format!("{path}.weights"))
    }
}
