//! `rust_core.Index`: argument conversion around `crate::index::Index`.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::border::{Int, guarded};
use super::output::{CollectionStatus, SearchOutput};
use crate::index;
use crate::types::Include;

/// (id, cosine), best first.
type Near<'py> = Vec<(Bound<'py, PyBytes>, f32)>;

#[pyclass(frozen, module = "siltstone.rust_core")]
pub struct Index(index::Index);

#[pymethods]
impl Index {
    #[new]
    #[pyo3(signature = (directory = None))]
    fn new(py: Python<'_>, directory: Option<String>) -> PyResult<Self> {
        guarded(py, || index::Index::open(directory.map(Into::into))).map(Index)
    }

    fn create(
        &self,
        py: Python<'_>,
        collection: Int<u64>,
        dimension: Int<usize>,
        applied_seq: Int<i64>,
    ) -> PyResult<()> {
        guarded(py, || self.0.create(collection.0, dimension.0, applied_seq.0))
    }

    fn load(&self, py: Python<'_>, collection: Int<u64>, dimension: Int<usize>) -> PyResult<Option<i64>> {
        guarded(py, || self.0.load(collection.0, dimension.0))
    }

    fn snapshot(&self, py: Python<'_>, collection: Int<u64>) -> PyResult<i64> {
        guarded(py, || self.0.snapshot(collection.0))
    }

    #[pyo3(signature = (collection, *, delete_snapshot = false))]
    fn drop(&self, py: Python<'_>, collection: Int<u64>, delete_snapshot: bool) -> PyResult<()> {
        guarded(py, || self.0.drop(collection.0, delete_snapshot))
    }

    fn loaded(&self, py: Python<'_>, collection: Int<u64>) -> PyResult<bool> {
        guarded(py, || Ok(self.0.loaded(collection.0)))
    }

    fn apply(
        &self,
        py: Python<'_>,
        collection: Int<u64>,
        seq: Int<i64>,
        puts: Vec<(PyBackedBytes, PyBackedBytes)>,
        removes: Vec<PyBackedBytes>,
    ) -> PyResult<()> {
        guarded(py, || {
            let puts: Vec<(&[u8], &[u8])> =
                puts.iter().map(|(record, vectors)| (&**record, &**vectors)).collect();
            let removes: Vec<&[u8]> = removes.iter().map(|id| &**id).collect();
            self.0.apply(collection.0, seq.0, &puts, &removes)
        })
    }

    fn search(&self, py: Python<'_>, requests: &[u8]) -> PyResult<Vec<SearchOutput>> {
        let outputs = guarded(py, || self.0.search(requests))?;
        outputs.into_iter().map(|output| SearchOutput::new(py, output)).collect()
    }

    #[pyo3(signature = (
        collection, filter, now, *, include_superseded = true, include_expired = true, include_refuted = true
    ))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of the Python method")]
    fn select<'py>(
        &self,
        py: Python<'py>,
        collection: Int<u64>,
        filter: &[u8],
        now: Int<i64>,
        include_superseded: bool,
        include_expired: bool,
        include_refuted: bool,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let include =
            Include { superseded: include_superseded, expired: include_expired, refuted: include_refuted };
        let ids = guarded(py, || self.0.select(collection.0, filter, now.0, include))?;
        Ok(ids.iter().map(|id| PyBytes::new(py, id)).collect())
    }

    fn nearest<'py>(
        &self,
        py: Python<'py>,
        collection: Int<u64>,
        vectors: &[u8],
        k: Int<usize>,
    ) -> PyResult<Vec<Near<'py>>> {
        let found = guarded(py, || self.0.nearest(collection.0, vectors, k.0))?;
        let with_bytes = |hits: Vec<([u8; 16], f32)>| {
            hits.into_iter().map(|(id, cosine)| (PyBytes::new(py, &id), cosine)).collect()
        };
        Ok(found.into_iter().map(with_bytes).collect())
    }

    fn status(&self, py: Python<'_>, collection: Int<u64>) -> PyResult<CollectionStatus> {
        guarded(py, || self.0.status(collection.0)).map(Into::into)
    }

    fn vectors_of<'py>(
        &self,
        py: Python<'py>,
        collection: Int<u64>,
        id: &[u8],
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let vectors = guarded(py, || self.0.vectors_of(collection.0, id))?;
        Ok(vectors.map(|bytes| PyBytes::new(py, &bytes)))
    }

    fn digest<'py>(&self, py: Python<'py>, collection: Int<u64>) -> PyResult<Bound<'py, PyBytes>> {
        let digest = guarded(py, || self.0.digest(collection.0))?;
        Ok(PyBytes::new(py, &digest))
    }
}
