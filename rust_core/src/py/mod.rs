//! The Python border: `siltstone.rust_core`. The contract and its docs are in rust_core.pyi.

mod border;
mod e5;
mod index;
mod output;

use pyo3::prelude::*;

use border::guarded;

#[pymodule]
mod rust_core {
    #[pymodule_export]
    use super::e5::E5;
    #[pymodule_export]
    use super::index::Index;
    #[pymodule_export]
    use super::output::{CollectionStatus, CoreHit, SearchOutput};
    #[pymodule_export]
    use super::{count_tokens, facts_differ, statements_differ, truncate_tokens};
}

#[pyfunction]
fn facts_differ(py: Python<'_>, a: &str, b: &str) -> PyResult<Option<String>> {
    guarded(py, || Ok(crate::dedup::facts_differ(a, b)))
}

#[pyfunction]
fn statements_differ(py: Python<'_>, a: &str, b: &str) -> PyResult<Option<String>> {
    guarded(py, || Ok(crate::dedup::statements_differ(a, b)))
}

#[pyfunction]
fn count_tokens(py: Python<'_>, text: &str) -> PyResult<usize> {
    guarded(py, || Ok(crate::tokens::count(text)))
}

#[pyfunction]
fn truncate_tokens(py: Python<'_>, text: &str, max_tokens: border::Int<usize>) -> PyResult<String> {
    guarded(py, || Ok(crate::tokens::truncate(text, max_tokens.0).to_owned()))
}
