//! Where one term occurs: a slot and how often, packed into 32 bits, ascending by slot.

/// Bits for the number of occurrences. At 63 of them BM25 is within 2 % of its limit, so more are not told
/// apart.
const COUNT_BITS: u32 = 6;
const MAX_COUNT: u32 = (1 << COUNT_BITS) - 1;

/// The largest slot a posting can hold: 67 million memories a collection.
pub const MAX_SLOT: u32 = u32::MAX >> COUNT_BITS;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Posting(u32);

impl Posting {
    pub fn new(slot: u32, count: u32) -> Self {
        debug_assert!(slot <= MAX_SLOT && count > 0);
        Self(slot << COUNT_BITS | count.min(MAX_COUNT))
    }

    pub fn slot(self) -> u32 {
        self.0 >> COUNT_BITS
    }

    pub fn count(self) -> u32 {
        self.0 & MAX_COUNT
    }
}

/// Never empty. Most terms of a collection occur once: those cost no allocation.
#[derive(Clone, Debug)]
pub enum Postings {
    One(Posting),
    Many(Vec<Posting>),
}

impl Postings {
    /// From postings that ascend by slot; None when there are none.
    pub fn from_sorted(list: Vec<Posting>) -> Option<Self> {
        match list.len() {
            0 => None,
            1 => Some(Self::One(list[0])),
            _ => Some(Self::Many(list)),
        }
    }

    pub fn as_slice(&self) -> &[Posting] {
        match self {
            Self::One(posting) => std::slice::from_ref(posting),
            Self::Many(list) => list,
        }
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Many(list) => list.capacity() * size_of::<Posting>(),
        }
    }

    /// Adds a posting of a slot that has none.
    pub fn insert(&mut self, posting: Posting) {
        match self {
            Self::One(first) => {
                let mut list = vec![*first, posting];
                list.sort_unstable();
                *self = Self::Many(list);
            }
            // Slots mostly come in ascending order.
            Self::Many(list) if list.last().is_none_or(|last| *last < posting) => list.push(posting),
            Self::Many(list) => {
                let at = list.partition_point(|p| *p < posting);
                list.insert(at, posting);
            }
        }
    }

    /// Removes a slot's posting. Returns whether there was one, and whether nothing is left (then drop
    /// the whole).
    pub fn remove(&mut self, slot: u32) -> (bool, bool) {
        match self {
            Self::One(posting) => {
                let found = posting.slot() == slot;
                (found, found)
            }
            Self::Many(list) => {
                let Ok(at) = list.binary_search_by_key(&slot, |p| p.slot()) else {
                    return (false, false);
                };
                list.remove(at);
                if list.len() == 1 {
                    *self = Self::One(list[0]);
                } else if list.len() < list.capacity() / 4 {
                    list.shrink_to(list.len() * 2);
                }
                (true, false)
            }
        }
    }
}
