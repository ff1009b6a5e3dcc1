//! What can go wrong in the core.

use std::io;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A caller's argument is wrong; the text names the field, the value and the remedy.
    #[error("{0}")]
    Invalid(String),
    /// The collection was never created or loaded, or has been dropped.
    #[error("collection {0} is not loaded; create it or load it first")]
    NotLoaded(u64),
    /// The snapshot directory cannot be read or written.
    #[error("{context}: {source}")]
    Io { context: String, source: io::Error },
    /// A fault of ours.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    /// A refusal of `field` (a path such as `requests[2].weights.gate`).
    pub fn invalid(field: &str, why: impl std::fmt::Display) -> Self {
        Error::Invalid(format!("{field}: {why}"))
    }

    pub fn io(context: impl Into<String>, source: io::Error) -> Self {
        Error::Io { context: context.into(), source }
    }
}
