//! The lexical index as the snapshot stores it: byte strings, numbers as LEB128.

use std::collections::HashMap;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};
use serde_bytes::ByteBuf;

use super::postings::{MAX_SLOT, Posting, Postings};
use super::varint::{put, put_ascending, take, take_ascending};
use super::{Lexical, Slot};

#[derive(serde::Serialize, serde::Deserialize)]
struct Image {
    /// The hash of each term in the order of their numbers, 8 bytes each, little-endian.
    terms: ByteBuf,
    /// For each term: the number of postings (0 where the number is free), then for each the gap to the slot
    /// before, doubled, plus one when its count is above one and follows.
    postings: ByteBuf,
    /// For each slot: length and number of terms, 0 and 0 when it is free.
    slots: ByteBuf,
    /// For each slot the numbers of its terms, ascending, as gaps.
    forward: ByteBuf,
}

impl Serialize for Lexical {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (mut terms, mut postings) = (Vec::new(), Vec::new());
        for (term, list) in &self.lists {
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
        let (mut slots, mut forward) = (Vec::new(), Vec::new());
        for slot in &self.slots {
            put(&mut slots, u64::from(slot.length));
            put(&mut slots, u64::from(slot.terms));
            put_ascending(&mut forward, &self.numbers_of(*slot));
        }
        let bytes = [terms, postings, slots, forward].map(ByteBuf::from);
        let [terms, postings, slots, forward] = bytes;
        Image { terms, postings, slots, forward }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Lexical {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let image = Image::deserialize(deserializer)?;
        read(image).ok_or_else(|| D::Error::custom("the lexical index is not what was written"))
    }
}

/// None when the bytes contradict each other: a search over such an index could read out of bounds.
fn read(image: Image) -> Option<Lexical> {
    let mut lexical = Lexical::default();
    let (hashes, rest) = image.terms.as_chunks::<8>();
    if !rest.is_empty() || hashes.len() > u32::MAX as usize {
        return None;
    }
    let mut bytes = image.slots.as_slice();
    let mut forward = image.forward.as_slice();
    while !bytes.is_empty() {
        let length = u32::try_from(take(&mut bytes)?).ok()?;
        let terms = u32::try_from(take(&mut bytes)?).ok()?;
        let at = image.forward.len() - forward.len();
        let numbers = take_ascending(&mut forward, terms)?;
        if numbers.last().is_some_and(|number| *number as usize >= hashes.len()) {
            return None;
        }
        lexical.slots.push(Slot { length, terms, forward: if terms > 0 { at as u64 } else { 0 } });
        if terms > 0 {
            lexical.documents += 1;
            lexical.total_length += u64::from(length);
        }
    }
    if !forward.is_empty() || lexical.slots.len() > MAX_SLOT as usize + 1 {
        return None;
    }
    let mut held = vec![0u32; lexical.slots.len()];
    let mut bytes = image.postings.as_slice();
    let mut numbers = HashMap::with_capacity_and_hasher(hashes.len(), Default::default());
    lexical.lists.reserve_exact(hashes.len());
    for (number, hash) in (0..).zip(hashes) {
        let term = u64::from_le_bytes(*hash);
        let list = read_list(&mut bytes, &mut held)?;
        lexical.postings_bytes += list.bytes();
        match list.as_slice().is_empty() {
            true => lexical.free.push(number),
            false if numbers.insert(term, number).is_some() => return None,
            false => {}
        }
        lexical.lists.push((term, list));
    }
    lexical.numbers = numbers;
    lexical.forward = image.forward.into_vec();
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
        list.push(Posting::new(u32::try_from(slot).ok()?, count));
    }
    Some(Postings::from_sorted(list))
}
