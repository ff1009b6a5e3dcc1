//! Filters as data: which memories may be returned.

mod columns;
mod version;

pub use columns::{Columns, NO_EXPIRY};

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_bytes::ByteBuf;

use crate::error::{Error, Result};
use crate::types::{Id, Value};

/// Deepest nesting of `not` and `any_of`.
pub const MAX_NESTING: usize = 16;
/// msgpack levels that a filter of `MAX_NESTING` inside a list of requests needs, with room for its values.
pub const MAX_DEPTH: usize = 2 * MAX_NESTING + 16;

/// Every part that is given must hold; an empty list, nil or an absent key is "not given".
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Filter {
    #[serde(deserialize_with = "nil_as_empty")]
    pub tags_any: Vec<String>,
    #[serde(deserialize_with = "nil_as_empty")]
    pub tags_all: Vec<String>,
    #[serde(deserialize_with = "nil_as_empty")]
    pub task_type: Vec<String>,
    #[serde(deserialize_with = "nil_as_empty")]
    pub tools_used: Vec<String>,
    #[serde(deserialize_with = "nil_as_empty")]
    pub outcome: Vec<String>,
    #[serde(deserialize_with = "nil_as_empty")]
    pub verification: Vec<String>,
    #[serde(deserialize_with = "nil_as_empty")]
    pub memory_type: Vec<String>,
    #[serde(deserialize_with = "nil_as_empty")]
    ids: Vec<ByteBuf>,
    #[serde(deserialize_with = "nil_as_empty")]
    pub attributes: BTreeMap<String, Condition>,
    pub event_time: Option<Range<i64>>,
    pub create_time: Option<Range<i64>>,
    pub update_time: Option<Range<i64>>,
    pub confidence: Option<Range<f64>>,
    pub not: Option<Box<Filter>>,
    #[serde(deserialize_with = "nil_as_empty")]
    pub any_of: Vec<Filter>,
}

/// Bounds of a number or a time; all that are given must hold.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range<T> {
    pub gt: Option<T>,
    pub gte: Option<T>,
    pub lt: Option<T>,
    pub lte: Option<T>,
}

impl<T: PartialOrd + Copy> Range<T> {
    pub fn contains(&self, value: T) -> bool {
        self.gt.is_none_or(|bound| value > bound)
            && self.gte.is_none_or(|bound| value >= bound)
            && self.lt.is_none_or(|bound| value < bound)
            && self.lte.is_none_or(|bound| value <= bound)
    }

    fn bounds(&self) -> [(&'static str, Option<T>); 4] {
        [("gt", self.gt), ("gte", self.gte), ("lt", self.lt), ("lte", self.lte)]
    }
}

/// Bounds of one attribute.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    pub eq: Option<Value>,
    pub gt: Option<Value>,
    pub gte: Option<Value>,
    pub lt: Option<Value>,
    pub lte: Option<Value>,
}

impl Condition {
    pub fn matches(&self, value: &Value) -> bool {
        let holds = |bound: &Option<Value>, wanted: fn(Ordering) -> bool| match bound {
            None => true,
            Some(bound) => value_order(value, bound).is_some_and(wanted),
        };
        self.eq.as_ref().is_none_or(|bound| value == bound)
            && holds(&self.gt, Ordering::is_gt)
            && holds(&self.gte, Ordering::is_ge)
            && holds(&self.lt, Ordering::is_lt)
            && holds(&self.lte, Ordering::is_le)
    }

    fn bounds(&self) -> [(&'static str, &Option<Value>); 5] {
        [("eq", &self.eq), ("gt", &self.gt), ("gte", &self.gte), ("lt", &self.lt), ("lte", &self.lte)]
    }
}

/// None when the two are of different kinds. Texts compare as versions when both look like one.
fn value_order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => Some(version::compare(a, b).unwrap_or_else(|| a.cmp(b))),
        (Value::Number(a), Value::Number(b)) => a.partial_cmp(b),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Time(a), Value::Time(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

impl Filter {
    /// Reads a filter from msgpack: nil (None) or a map.
    pub fn read(bytes: &[u8]) -> Result<Option<Filter>> {
        let mut reader = rmp_serde::Deserializer::from_read_ref(bytes);
        reader.set_max_depth(MAX_DEPTH);
        let filter: Option<Filter> = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let path = error.path().to_string();
            unreadable(&join("filter", &path), error.into_inner())
        })?;
        if let Some(filter) = &filter {
            filter.check("filter")?;
        }
        Ok(filter)
    }

    /// Refuses what no reader of the format can: nesting, ids of a wrong length, bounds that are no numbers.
    pub fn check(&self, path: &str) -> Result<()> {
        self.check_at(path, 1)
    }

    pub fn ids(&self) -> impl Iterator<Item = Id> {
        self.ids.iter().filter_map(|id| id.as_slice().try_into().ok())
    }

    pub fn names_ids(&self) -> bool {
        !self.ids.is_empty()
    }

    fn check_at(&self, path: &str, level: usize) -> Result<()> {
        if level > MAX_NESTING {
            return Err(Error::invalid(path, format!("nested deeper than {MAX_NESTING} filters")));
        }
        for (i, id) in self.ids.iter().enumerate() {
            if id.len() != 16 {
                let why = format!("{} bytes; an id has 16", id.len());
                return Err(Error::invalid(&format!("{path}.ids[{i}]"), why));
            }
        }
        if let Some(range) = &self.confidence {
            for (name, bound) in range.bounds() {
                if bound.is_some_and(f64::is_nan) {
                    return Err(Error::invalid(&format!("{path}.confidence.{name}"), "NaN is no bound"));
                }
            }
        }
        for (name, condition) in &self.attributes {
            let path = format!("{path}.attributes.{name}");
            if condition.bounds().iter().all(|(_, bound)| bound.is_none()) {
                return Err(Error::invalid(&path, "no bound; give eq, gt, gte, lt or lte"));
            }
            for (bound_name, bound) in condition.bounds() {
                if matches!(bound, Some(Value::Number(number)) if number.is_nan()) {
                    return Err(Error::invalid(&format!("{path}.{bound_name}"), "NaN is no bound"));
                }
            }
        }
        if let Some(inner) = &self.not {
            inner.check_at(&format!("{path}.not"), level + 1)?;
        }
        for (i, inner) in self.any_of.iter().enumerate() {
            inner.check_at(&format!("{path}.any_of[{i}]"), level + 1)?;
        }
        Ok(())
    }
}

/// A refusal of bytes that are not what they should be, with nesting named as such.
pub fn unreadable(path: &str, error: rmp_serde::decode::Error) -> Error {
    match error {
        rmp_serde::decode::Error::DepthLimitExceeded => {
            Error::invalid(path, format!("nested deeper than {MAX_NESTING} filters"))
        }
        other => Error::invalid(path, other),
    }
}

/// `filter` + `any_of[2].tags` → `filter.any_of[2].tags`; the root's own path is ".".
pub fn join(root: &str, path: &str) -> String {
    match path {
        "." | "" => root.to_owned(),
        _ if path.starts_with('[') => format!("{root}{path}"),
        _ => format!("{root}.{path}"),
    }
}

fn nil_as_empty<'de, D, T>(deserializer: D) -> std::result::Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Option<Value> {
        Some(Value::Text(text.to_owned()))
    }

    const OPEN: Condition = Condition { eq: None, gt: None, gte: None, lt: None, lte: None };

    #[test]
    fn texts_compare_as_versions_only_when_both_look_like_one() {
        let between = Condition { gte: text("8.0"), lt: text("9"), ..OPEN };
        for (value, expected) in
            [("8.0", true), ("8.0.30", true), ("10.1", false), ("5.7", false), ("eight", false)]
        {
            assert_eq!(between.matches(&text(value).unwrap()), expected, "{value}");
        }
        let names = Condition { gt: text("mysql"), ..OPEN };
        assert!(names.matches(&text("postgres").unwrap()) && !names.matches(&text("mariadb").unwrap()));
    }

    #[test]
    fn a_value_of_another_kind_does_not_match() {
        let values = [Value::Text("1".to_owned()), Value::Number(1.0), Value::Bool(true), Value::Time(1)];
        for (i, bound) in values.iter().enumerate() {
            for (j, value) in values.iter().enumerate() {
                let at_least = Condition { gte: Some(bound.clone()), ..OPEN };
                let equal = Condition { eq: Some(bound.clone()), ..OPEN };
                assert_eq!(at_least.matches(value), i == j, "{value:?} >= {bound:?}");
                assert_eq!(equal.matches(value), i == j, "{value:?} = {bound:?}");
            }
        }
    }

    #[test]
    fn nil_is_not_given_and_bounds_are_open_or_closed() {
        assert!(Filter::read(b"\xc0").unwrap().is_none());
        let filter = Filter::read(b"\x82\xa8tags_any\xc0\xa3not\xc0").unwrap().unwrap();
        assert!(filter.tags_any.is_empty() && filter.not.is_none());
        let range = Range { gt: Some(1), gte: None, lt: None, lte: Some(3) };
        assert_eq!([1, 2, 3, 4].map(|x| range.contains(x)), [false, true, true, false]);
    }
}
