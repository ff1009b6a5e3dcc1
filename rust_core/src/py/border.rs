//! What every call across the border does: release the interpreter lock, catch panics, translate errors.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyKeyError, PyOSError, PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::error::{Error, Result};

/// Runs `work` without the interpreter lock.
pub fn guarded<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(result) => result.map_err(PyErr::from),
        Err(panic) => {
            let what = message(&*panic);
            Err(PyRuntimeError::new_err(format!(
                "the search core failed: {what}; this is a fault of Siltstone"
            )))
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    match panic.downcast_ref::<&str>() {
        Some(text) => text,
        None => panic.downcast_ref::<String>().map_or("no message", |text| text),
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> PyErr {
        match &error {
            Error::Invalid(_) => PyValueError::new_err(error.to_string()),
            Error::NotLoaded(_) => PyKeyError::new_err(error.to_string()),
            Error::Io { source, .. } => match source.raw_os_error() {
                // with its errno, so that a full disk can be told from others
                Some(errno) => PyOSError::new_err((errno, error.to_string())),
                None => PyOSError::new_err(error.to_string()),
            },
            Error::Internal(_) => PyRuntimeError::new_err(error.to_string()),
        }
    }
}

/// An integer argument: one that does not fit is a ValueError, as every bad argument is.
pub struct Int<T>(pub T);

impl<'a, 'py, T> FromPyObject<'a, 'py> for Int<T>
where
    T: FromPyObject<'a, 'py, Error = PyErr>,
{
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        object.extract().map(Int).map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(object.py()) {
                PyValueError::new_err(format!("{} is out of range for this argument", *object))
            } else {
                error
            }
        })
    }
}
