//! Which memories stand next to each other in a chat or a trajectory.

use std::collections::{BTreeMap, HashMap};

use crate::types::{Id, Record};

/// Slot number for "none".
pub const NONE: u32 = u32::MAX;

/// Live memories of each sequence in order of position (of equal positions: of id), with the next and previous
/// of each slot kept at hand, since a search asks for them for every memory it scores.
#[derive(Default)]
pub struct Sequences {
    runs: HashMap<String, BTreeMap<(i64, Id), u32>>,
    /// (previous, next) of each slot.
    links: Vec<[u32; 2]>,
}

impl Sequences {
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub fn insert(&mut self, slot: u32, record: &Record) {
        let Some((sequence, position)) = record.place() else { return };
        let run = match self.runs.get_mut(sequence) {
            Some(run) => run,
            None => self.runs.entry(sequence.to_owned()).or_default(),
        };
        let key = (position, record.id);
        let previous = run.range(..key).next_back().map_or(NONE, |(_, slot)| *slot);
        let next = run.range(key..).next().map_or(NONE, |(_, slot)| *slot);
        run.insert(key, slot);
        if self.links.len() <= slot as usize {
            self.links.resize(slot as usize + 1, [NONE; 2]);
        }
        self.links[slot as usize] = [previous, next];
        self.join(previous, slot);
        self.join(slot, next);
    }

    pub fn remove(&mut self, slot: u32, record: &Record) {
        let Some((sequence, position)) = record.place() else { return };
        if let Some(run) = self.runs.get_mut(sequence) {
            run.remove(&(position, record.id));
            if run.is_empty() {
                self.runs.remove(sequence);
            }
        }
        let [previous, next] = std::mem::replace(&mut self.links[slot as usize], [NONE; 2]);
        if previous != NONE {
            self.links[previous as usize][1] = next;
        }
        if next != NONE {
            self.links[next as usize][0] = previous;
        }
    }

    /// The visible slots before and after a slot at distance one, then at distance two; NONE where there is
    /// none. Others are passed over as if they were not there.
    pub fn around(&self, slot: u32, visible: impl Fn(u32) -> bool) -> [u32; 4] {
        let mut found = [NONE; 4];
        for direction in [0, 1] {
            let mut at = slot;
            let mut distance = 0;
            while distance < 2 {
                at = match self.links.get(at as usize) {
                    Some(links) => links[direction],
                    None => NONE,
                };
                if at == NONE {
                    break;
                }
                if visible(at) {
                    found[2 * distance + direction] = at;
                    distance += 1;
                }
            }
        }
        found
    }

    pub fn bytes(&self) -> usize {
        let entries: usize = self.runs.values().map(BTreeMap::len).sum();
        self.links.capacity() * 8 + entries * 40 + self.runs.len() * 64
    }

    fn join(&mut self, before: u32, after: u32) {
        if before != NONE {
            self.links[before as usize][1] = after;
        }
        if after != NONE {
            self.links[after as usize][0] = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(position: i64) -> Record {
        Record {
            id: [position as u8 + 1; 16],
            sequence: "会话".to_owned(),
            position: Some(position),
            ..Record::default()
        }
    }

    fn run(positions: &[i64]) -> Sequences {
        let mut sequences = Sequences::default();
        for (slot, position) in positions.iter().enumerate() {
            sequences.insert(slot as u32, &record(*position));
        }
        sequences
    }

    #[test]
    fn order_is_by_position_whatever_the_order_of_writing() {
        let sequences = run(&[40, 10, 30, 20, 50]);
        assert_eq!(sequences.around(2, |_| true), [3, 0, 1, 4]);
        assert_eq!(sequences.around(1, |_| true), [NONE, 3, NONE, 2]);
    }

    #[test]
    fn removed_and_hidden_memories_are_passed_over() {
        let mut sequences = run(&[10, 20, 30, 40, 50]);
        assert_eq!(sequences.around(2, |slot| slot != 1), [0, 3, NONE, 4]);
        sequences.remove(3, &record(40));
        assert_eq!(sequences.around(2, |_| true), [1, 4, 0, NONE]);
        for (slot, position) in [(0, 10), (1, 20), (2, 30), (4, 50)] {
            sequences.remove(slot, &record(position));
        }
        assert!(sequences.is_empty());
    }

    #[test]
    fn memories_without_a_place_have_no_neighbours() {
        let mut sequences = run(&[10, 20]);
        sequences.insert(2, &Record { id: [9; 16], sequence: "会话".to_owned(), ..Record::default() });
        sequences.insert(3, &Record { id: [8; 16], position: Some(1), ..Record::default() });
        assert_eq!(sequences.around(2, |_| true), [NONE; 4]);
        assert_eq!(sequences.around(3, |_| true), [NONE; 4]);
        assert_eq!(sequences.around(0, |_| true), [NONE, 1, NONE, NONE]);
    }
}
