//! The lexical index as the snapshot stores it: three byte strings, numbers as LEB128.

use std::collections::HashMap;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};
use serde_bytes::ByteBuf;

use super::postings::{MAX_SLOT, Posting, Postings};
use super::{Lexical, Slot};

#[derive(serde::Serialize, serde::Deserialize)]
struct Image {
    /// Ascending hashes, 8 bytes each, little-endian.
    terms: ByteBuf,
    /// For each term: the number of postings, then for each the gap to the slot before, doubled, plus one
    /// when its count is above one and follows.
    postings: ByteBuf,
    /// For each slot: length and number of terms, 0 and 0 when it is free.
    slots: ByteBuf,
}

impl Serialize for Lexical {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sorted: Vec<_> = self.terms.iter().collect();
        sorted.sort_unstable_by_key(|(term, _)| **term);
        let (mut terms, mut postings, mut slots) = (Vec::new(), Vec::new(), Vec::new());
        for (term, list) in sorted {
            terms.extend_from_slice(&term.to_le_bytes());
            let list = list.as_slice();
            put(&mut postings, list.len() as u64);
            let mut before = 0;
            for posting in list {
                let gap = u64::from(posting.slot() - before);
                before = posting.slot();
                match posting.count() {
                    1 => put(&mut postings, gap << 1),
                    count => {
                        put(&mut postings, gap << 1 | 1);
                        put(&mut postings, u64::from(count));
                    }
                }
            }
        }
        for slot in &self.slots {
            put(&mut slots, u64::from(slot.length));
            put(&mut slots, u64::from(slot.terms));
        }
        Image { terms: terms.into(), postings: postings.into(), slots: slots.into() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Lexical {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let image = Image::deserialize(deserializer)?;
        read(&image).ok_or_else(|| D::Error::custom("the lexical index is not what was written"))
    }
}

/// None when the bytes contradict each other: a search over such an index could read out of bounds.
fn read(image: &Image) -> Option<Lexical> {
    let mut lexical = Lexical::default();
    let mut bytes = image.slots.as_slice();
    while !bytes.is_empty() {
        let length = u32::try_from(take(&mut bytes)?).ok()?;
        let terms = u32::try_from(take(&mut bytes)?).ok()?;
        lexical.slots.push(Slot { length, terms });
        if terms > 0 {
            lexical.documents += 1;
            lexical.total_length += u64::from(length);
        }
    }
    let (hashes, rest) = image.terms.as_chunks::<8>();
    if !rest.is_empty() {
        return None;
    }
    let mut held = vec![0u32; lexical.slots.len()];
    let mut bytes = image.postings.as_slice();
    let mut terms = HashMap::with_capacity_and_hasher(hashes.len(), Default::default());
    for hash in hashes {
        let list = read_list(&mut bytes, &mut held)?;
        lexical.postings_bytes += list.bytes();
        if terms.insert(u64::from_le_bytes(*hash), list).is_some() {
            return None;
        }
    }
    lexical.terms = terms;
    let same = held.iter().zip(&lexical.slots).all(|(held, slot)| *held == slot.terms);
    (bytes.is_empty() && same).then_some(lexical)
}

fn read_list(bytes: &mut &[u8], held: &mut [u32]) -> Option<Postings> {
    let length = usize::try_from(take(bytes)?).ok()?;
    if length > held.len() {
        return None;
    }
    let mut list = Vec::with_capacity(length);
    let mut slot = 0u64;
    for at in 0..length {
        let coded = take(bytes)?;
        let gap = coded >> 1;
        if gap == 0 && at > 0 {
            return None;
        }
        slot = slot.checked_add(gap)?;
        let count = if coded & 1 == 1 { take(bytes)? } else { 1 };
        let count = u32::try_from(count).ok().filter(|count| *count > 0)?;
        *held.get_mut(usize::try_from(slot).ok()?)? += 1;
        list.push(Posting::new(u32::try_from(slot).ok().filter(|slot| *slot <= MAX_SLOT)?, count));
    }
    Postings::from_sorted(list)
}

fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
