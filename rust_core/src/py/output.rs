//! The answers as Python objects.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::types::{Hit, Output, Stages, Status};

#[pyclass(frozen, get_all, module = "siltstone.rust_core")]
pub struct CoreHit {
    collection: u64,
    id: Py<PyBytes>,
    score: f64,
    similarity: f64,
    gate: f64,
    recency: f64,
    confidence: f64,
    cosine: f64,
    lexical: f64,
    support: f64,
    passage: u32,
    in_window: bool,
}

impl CoreHit {
    fn new(py: Python<'_>, hit: Hit) -> Self {
        CoreHit {
            collection: hit.collection,
            id: PyBytes::new(py, &hit.id).unbind(),
            score: hit.score,
            similarity: hit.similarity,
            gate: hit.gate,
            recency: hit.recency,
            confidence: hit.confidence,
            cosine: hit.cosine,
            lexical: hit.lexical,
            support: hit.support,
            passage: hit.passage,
            in_window: hit.in_window,
        }
    }
}

#[pyclass(frozen, get_all, module = "siltstone.rust_core")]
pub struct SearchOutput {
    hits: Py<PyList>,
    plan: String,
    allowed: u64,
    candidates: u64,
    elapsed_us: u64,
    stages: Py<PyDict>,
}

impl SearchOutput {
    pub fn new(py: Python<'_>, output: Output) -> PyResult<Self> {
        let hits = output
            .hits
            .into_iter()
            .map(|hit| Py::new(py, CoreHit::new(py, hit)))
            .collect::<PyResult<Vec<_>>>()?;
        let stages = PyDict::new(py);
        if let Some(Stages { filter, candidates, scan, score }) = output.stages {
            for (name, took) in
                [("filter", filter), ("candidates", candidates), ("scan", scan), ("score", score)]
            {
                stages.set_item(name, took)?;
            }
        }
        Ok(SearchOutput {
            stages: stages.unbind(),
            hits: PyList::new(py, hits)?.unbind(),
            plan: output.plan,
            allowed: output.allowed,
            candidates: output.candidates,
            elapsed_us: output.elapsed_us,
        })
    }
}

#[pyclass(frozen, get_all, module = "siltstone.rust_core")]
pub struct CollectionStatus {
    applied_seq: i64,
    dimension: usize,
    memories: u64,
    vectors: u64,
    removed: u64,
    in_graph: u64,
    bytes: u64,
}

impl From<Status> for CollectionStatus {
    fn from(status: Status) -> Self {
        CollectionStatus {
            applied_seq: status.applied_seq,
            dimension: status.dimension,
            memories: status.memories,
            vectors: status.vectors,
            removed: status.removed,
            in_graph: status.in_graph,
            bytes: status.bytes,
        }
    }
}
