//! `rust_core.E5`: argument conversion around `crate::e5::E5`.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyBytes;

use super::border::guarded;
use crate::e5::{self, Side};
use crate::vector::pack;

#[pyclass(frozen, module = "siltstone.rust_core")]
pub struct E5(e5::E5);

#[pymethods]
impl E5 {
    #[new]
    fn new(py: Python<'_>, path: String) -> PyResult<Self> {
        guarded(py, || e5::E5::load(path.as_ref())).map(E5)
    }

    #[getter]
    fn dimension(&self) -> usize {
        self.0.dimension()
    }

    #[pyo3(signature = (texts, *, query))]
    fn embed<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<PyBackedStr>,
        query: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
        let vectors = guarded(py, || Ok(pack(&self.0.embed(&texts, side(query)))))?;
        Ok(PyBytes::new(py, &vectors))
    }

    #[pyo3(signature = (text, *, query))]
    fn token_count(&self, py: Python<'_>, text: &str, query: bool) -> PyResult<usize> {
        guarded(py, || Ok(self.0.token_count(text, side(query))))
    }
}

fn side(query: bool) -> Side {
    if query { Side::Query } else { Side::Passage }
}
