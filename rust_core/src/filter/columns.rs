//! What filters look at: a bitmap for each value, a column for each time and number, all by slot.

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use roaring::RoaringBitmap;

use super::{Filter, Range};
use crate::types::{Id, Include, Record, Value};

/// `valid_until` of a memory that stays valid.
pub const NO_EXPIRY: i64 = i64::MAX;

const CONFIDENCE_BUCKETS: usize = 101;

/// Slots by value of one field.
type Postings<K> = HashMap<K, RoaringBitmap>;

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Text(String),
    Number(u64),
    Bool(bool),
    Time(i64),
}

/// The searchable fields of all slots. Entries of removed slots stay in the plain columns, unused.
#[derive(Default)]
pub struct Columns {
    live: RoaringBitmap,
    by_id: HashMap<Id, u32>,
    tags: Postings<String>,
    tools_used: Postings<String>,
    task_type: Postings<String>,
    outcome: Postings<String>,
    memory_type: Postings<String>,
    verification: Postings<String>,
    attributes: HashMap<String, Postings<Key>>,
    superseded: RoaringBitmap,
    may_expire: RoaringBitmap,
    by_event_time: BTreeSet<(i64, u32)>,
    by_confidence: Vec<RoaringBitmap>,
    ids: Vec<Id>,
    event_time: Vec<i64>,
    create_time: Vec<i64>,
    update_time: Vec<i64>,
    valid_until: Vec<i64>,
    confidence: Vec<f64>,
}

impl Columns {
    /// Adds the memory of the next slot; `None` leaves the slot dead.
    pub fn push(&mut self, record: Option<&Record>) {
        let slot = self.ids.len() as u32;
        let empty = Record::default();
        let fields = record.unwrap_or(&empty);
        self.ids.push(fields.id);
        self.event_time.push(fields.event_time);
        self.create_time.push(fields.create_time);
        self.update_time.push(fields.update_time);
        self.valid_until.push(fields.valid_until.unwrap_or(NO_EXPIRY));
        self.confidence.push(fields.confidence);
        let Some(record) = record else { return };

        self.live.insert(slot);
        self.by_id.insert(record.id, slot);
        self.by_event_time.insert((record.event_time, slot));
        if self.by_confidence.is_empty() {
            self.by_confidence.resize(CONFIDENCE_BUCKETS, RoaringBitmap::new());
        }
        self.by_confidence[bucket(record.confidence)].insert(slot);
        if !record.superseded_by.is_empty() {
            self.superseded.insert(slot);
        }
        if record.valid_until.is_some() {
            self.may_expire.insert(slot);
        }
        for tag in &record.tags {
            insert(&mut self.tags, tag, slot);
        }
        for tool in &record.tools_used {
            insert(&mut self.tools_used, tool, slot);
        }
        insert(&mut self.task_type, &record.task_type, slot);
        insert(&mut self.outcome, &record.outcome, slot);
        insert(&mut self.memory_type, &record.memory_type, slot);
        insert(&mut self.verification, &record.verification, slot);
        for (name, value) in &record.attributes {
            let values = match self.attributes.get_mut(name) {
                Some(values) => values,
                None => self.attributes.entry(name.clone()).or_default(),
            };
            values.entry(key(value)).or_default().insert(slot);
        }
    }

    /// Makes a slot dead; `record` is the one that was pushed.
    pub fn remove(&mut self, slot: u32, record: &Record) {
        self.live.remove(slot);
        self.by_id.remove(&record.id);
        self.by_event_time.remove(&(record.event_time, slot));
        self.by_confidence[bucket(record.confidence)].remove(slot);
        self.superseded.remove(slot);
        self.may_expire.remove(slot);
        for tag in &record.tags {
            withdraw(&mut self.tags, tag, slot);
        }
        for tool in &record.tools_used {
            withdraw(&mut self.tools_used, tool, slot);
        }
        withdraw(&mut self.task_type, &record.task_type, slot);
        withdraw(&mut self.outcome, &record.outcome, slot);
        withdraw(&mut self.memory_type, &record.memory_type, slot);
        withdraw(&mut self.verification, &record.verification, slot);
        for (name, value) in &record.attributes {
            if let Some(values) = self.attributes.get_mut(name) {
                withdraw(values, &key(value), slot);
                if values.is_empty() {
                    self.attributes.remove(name);
                }
            }
        }
    }

    pub fn live(&self) -> &RoaringBitmap {
        &self.live
    }

    pub fn slot(&self, id: &Id) -> Option<u32> {
        self.by_id.get(id).copied()
    }

    pub fn id(&self, slot: u32) -> Id {
        self.ids[slot as usize]
    }

    pub fn event_time(&self, slot: u32) -> i64 {
        self.event_time[slot as usize]
    }

    pub fn confidence(&self, slot: u32) -> f64 {
        self.confidence[slot as usize]
    }

    /// Live slots, newest event first.
    pub fn newest_first(&self) -> impl Iterator<Item = u32> {
        self.by_event_time.iter().rev().map(|(_, slot)| *slot)
    }

    /// Live slots, most confident first (in steps of a hundredth), later written first among equals.
    pub fn most_confident_first(&self) -> impl Iterator<Item = u32> {
        self.by_confidence.iter().rev().flat_map(|slots| slots.iter().rev())
    }

    /// Live memories less those the flags leave out.
    pub fn visible(&self, include: Include, now: i64) -> RoaringBitmap {
        let mut visible = self.live.clone();
        if !include.superseded {
            visible -= &self.superseded;
        }
        if !include.refuted
            && let Some(refuted) = self.verification.get("REFUTED")
        {
            visible -= refuted;
        }
        if !include.expired {
            visible -= self.pick(&self.may_expire, |slot| self.valid_until[slot] <= now);
        }
        visible
    }

    /// Live memories with event_time in a range.
    pub fn during(&self, contains: impl Fn(i64) -> bool) -> RoaringBitmap {
        self.pick(&self.live, |slot| contains(self.event_time[slot]))
    }

    /// The live memories a filter lets through.
    pub fn select(&self, filter: &Filter) -> RoaringBitmap {
        let mut parts: Vec<RoaringBitmap> = Vec::new();
        if filter.names_ids() {
            parts.push(filter.ids().filter_map(|id| self.slot(&id)).collect());
        }
        let fields = [
            (&filter.tags_any, &self.tags),
            (&filter.task_type, &self.task_type),
            (&filter.tools_used, &self.tools_used),
            (&filter.outcome, &self.outcome),
            (&filter.verification, &self.verification),
            (&filter.memory_type, &self.memory_type),
        ];
        for (wanted, postings) in fields {
            if !wanted.is_empty() {
                parts.push(any(wanted, postings));
            }
        }
        for tag in &filter.tags_all {
            parts.push(self.tags.get(tag).cloned().unwrap_or_default());
        }
        for (name, condition) in &filter.attributes {
            let mut matching = RoaringBitmap::new();
            for (key, slots) in self.attributes.get(name).into_iter().flatten() {
                if condition.matches(&value(key)) {
                    matching |= slots;
                }
            }
            parts.push(matching);
        }
        if !filter.any_of.is_empty() {
            let mut matching = RoaringBitmap::new();
            for inner in &filter.any_of {
                matching |= self.select(inner);
            }
            parts.push(matching);
        }
        if let Some(inner) = &filter.not {
            parts.push(&self.live - self.select(inner));
        }
        parts.sort_by_key(RoaringBitmap::len);
        let mut parts = parts.into_iter();
        // The columns are scanned last, over what the bitmaps left.
        let mut selected = parts.next().unwrap_or_else(|| self.live.clone());
        for part in parts {
            selected &= part;
        }
        let times = [
            (&filter.event_time, &self.event_time),
            (&filter.create_time, &self.create_time),
            (&filter.update_time, &self.update_time),
        ];
        for (range, column) in times {
            if let Some(range) = range {
                selected = self.pick(&selected, |slot| range.contains(column[slot]));
            }
        }
        if let Some(range) = &filter.confidence {
            let range: &Range<f64> = range;
            selected = self.pick(&selected, |slot| range.contains(self.confidence[slot]));
        }
        selected
    }

    /// Rough size in memory.
    pub fn bytes(&self) -> usize {
        let bitmaps = |postings: &Postings<String>| -> usize {
            postings.iter().map(|(name, slots)| name.len() + 64 + slots.serialized_size()).sum()
        };
        let attributes: usize = self
            .attributes
            .values()
            .flat_map(|values| values.values())
            .map(|slots| 64 + slots.serialized_size())
            .sum();
        // id twice, five numbers of 8 bytes, the tree and the map's own share
        self.ids.len() * (16 + 5 * 8)
            + self.by_id.len() * (24 + 32)
            + attributes
            + [
                &self.tags,
                &self.tools_used,
                &self.task_type,
                &self.outcome,
                &self.memory_type,
                &self.verification,
            ]
            .map(bitmaps)
            .iter()
            .sum::<usize>()
    }

    fn pick(&self, slots: &RoaringBitmap, holds: impl Fn(usize) -> bool) -> RoaringBitmap {
        let picked = slots.iter().filter(|slot| holds(*slot as usize));
        RoaringBitmap::from_sorted_iter(picked).expect("a bitmap iterates in order")
    }
}

fn any(wanted: &[String], postings: &Postings<String>) -> RoaringBitmap {
    let mut matching = RoaringBitmap::new();
    for name in wanted {
        if let Some(slots) = postings.get(name) {
            matching |= slots;
        }
    }
    matching
}

fn insert(postings: &mut Postings<String>, name: &str, slot: u32) {
    match postings.get_mut(name) {
        Some(slots) => {
            slots.insert(slot);
        }
        None => {
            postings.insert(name.to_owned(), RoaringBitmap::from_iter([slot]));
        }
    }
}

fn withdraw<K, Q>(postings: &mut Postings<K>, name: &Q, slot: u32)
where
    K: Eq + Hash + Borrow<Q>,
    Q: Eq + Hash + ?Sized,
{
    if let Some(slots) = postings.get_mut(name) {
        slots.remove(slot);
        if slots.is_empty() {
            postings.remove(name);
        }
    }
}

fn bucket(confidence: f64) -> usize {
    (confidence * (CONFIDENCE_BUCKETS - 1) as f64) as usize
}

fn key(value: &Value) -> Key {
    match value {
        Value::Text(text) => Key::Text(text.clone()),
        // −0 and 0 are one number
        Value::Number(number) => Key::Number((number + 0.0).to_bits()),
        Value::Bool(flag) => Key::Bool(*flag),
        Value::Time(time) => Key::Time(*time),
    }
}

fn value(key: &Key) -> Value {
    match key {
        Key::Text(text) => Value::Text(text.clone()),
        Key::Number(bits) => Value::Number(f64::from_bits(*bits)),
        Key::Bool(flag) => Value::Bool(*flag),
        Key::Time(time) => Value::Time(*time),
    }
}
