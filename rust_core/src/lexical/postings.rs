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

/// Most terms of a collection occur once: those cost no allocation.
#[derive(Clone, Debug)]
pub enum Postings {
    One(Posting),
    /// Any number but one.
    Many(Vec<Posting>),
}

impl Default for Postings {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Postings {
    /// From postings that ascend by slot.
    pub fn from_sorted(list: Vec<Posting>) -> Self {
        match list[..] {
            [one] => Self::One(one),
            _ => Self::Many(list),
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
            Self::Many(list) if list.is_empty() => *self = Self::One(posting),
            // Slots mostly come in ascending order.
            Self::Many(list) if list.last().is_some_and(|last| *last < posting) => list.push(posting),
            Self::Many(list) => {
                let at = list.partition_point(|p| *p < posting);
                list.insert(at, posting);
            }
        }
    }

    /// Removes a slot's posting, if there is one.
    pub fn remove(&mut self, slot: u32) {
        match self {
            Self::One(posting) if posting.slot() == slot => *self = Self::default(),
            Self::One(_) => {}
            Self::Many(list) => {
                if let Ok(at) = list.binary_search_by_key(&slot, |p| p.slot()) {
                    list.remove(at);
                }
                if let [one] = list[..] {
                    *self = Self::One(one);
                }
            }
        }
    }

    /// Gives every slot its new number, which keeps their order; room beyond need goes.
    pub fn renumber(&mut self, to: &[u32]) {
        let renumbered = |posting: &Posting| Posting::new(to[posting.slot() as usize], posting.count());
        match self {
            Self::One(posting) => *posting = renumbered(posting),
            Self::Many(list) => *list = list.iter().map(renumbered).collect(),
        }
    }
}
