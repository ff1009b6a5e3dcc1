//! The search core of Siltstone: hybrid scoring, dedup and filtered nearest neighbours over derived collections.
//!
//! `py → index → {search → ranking, snapshot} → collection → {vector, lexical, filter, score, dedup, tokens} → types → error`;
//! rooms of one row do not know each other. The Python border is behind the feature `python`.

pub mod collection;
pub mod dedup;
pub mod e5;
pub mod error;
pub mod filter;
pub mod index;
pub mod lexical;
mod ranking;
mod request;
pub mod score;
mod search;
mod snapshot;
pub mod tokens;
pub mod types;
pub mod vector;

#[cfg(feature = "python")]
mod py;
