//! Nearest rows by a navigable graph: Y. Malkov, D. Yashunin, "Efficient and robust approximate nearest neighbor
//! search using Hierarchical Navigable Small World graphs", 2016.
//!
//! The graph holds links only; distances come from the high bytes of the rows. Links are atomic numbers, so a
//! search meets a list in the middle of a change and reads old or new links, each of them a row that is there.
//! Adding locks the list it changes; the shape (room for lists, the entry) is behind a lock of its own.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard, RwLock};

use super::kernels::Kernels;
use super::rows::{Probe, Query, Rows, Signed};

/// Links of a row on the upper levels, and on the lowest.
const LINKS: usize = 16;
const LOWEST_LINKS: usize = 2 * LINKS;
/// Candidates from which the links of a new row are chosen.
const EXPANSION: usize = 128;
const MAX_LEVEL: usize = 15;
const NONE: u32 = u32::MAX;
/// Rows whose lowest lists are allocated together.
const CHUNK: usize = 1024;
/// Locks over the lists of all rows.
const STRIPES: usize = 256;

/// See the head of this file.
pub struct Graph {
    shape: RwLock<Shape>,
    /// Rows 0..rows were offered; those that were dead at the time were left out.
    rows: AtomicUsize,
    stripes: Vec<Mutex<()>>,
    adding: Mutex<()>,
}

#[derive(Default)]
struct Shape {
    /// Lists of the lowest level, `CHUNK` rows each; NONE ends a list.
    lowest: Vec<Box<[AtomicU32]>>,
    /// Lists of the levels from 1 on, one after the other, of the rows that have any.
    upper: HashMap<u32, Box<[AtomicU32]>>,
    /// Where a search starts, and on which level.
    entry: Option<(u32, usize)>,
}

impl Shape {
    fn list(&self, row: u32, level: usize) -> &[AtomicU32] {
        if level == 0 {
            let (chunk, at) = (row as usize / CHUNK, row as usize % CHUNK);
            return &self.lowest[chunk][at * LOWEST_LINKS..(at + 1) * LOWEST_LINKS];
        }
        self.upper.get(&row).map_or(&[], |lists| lists.get((level - 1) * LINKS..level * LINKS).unwrap_or(&[]))
    }

    fn links(&self, row: u32, level: usize) -> impl Iterator<Item = u32> {
        self.list(row, level).iter().map(|link| link.load(Ordering::Acquire)).take_while(|link| *link != NONE)
    }
}

/// A row and its similarity in one number that orders as the similarity does; of equal ones the smaller row is
/// the better.
type Ranked = u64;

fn ranked(similarity: f32, row: u32) -> Ranked {
    let bits = similarity.to_bits();
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    u64::from(ordered) << 32 | u64::from(!row)
}

fn row_of(ranked: Ranked) -> u32 {
    !(ranked as u32)
}

/// What a search needs room for; kept by each thread, since making it would cost more than using it.
#[derive(Default)]
struct Room {
    /// One bit a row.
    seen: Vec<u64>,
    /// The words of `seen` that are not zero.
    touched: Vec<u32>,
    open: BinaryHeap<Ranked>,
    best: BinaryHeap<Reverse<Ranked>>,
    fresh: Vec<u32>,
    cosines: Vec<f32>,
}

thread_local! {
    static ROOM: Cell<Option<Box<Room>>> = const { Cell::new(None) };
}

impl Room {
    /// Lends this thread's room out, empty. A panic loses it, and the next caller starts with a new one.
    fn with<T>(rows: usize, work: impl FnOnce(&mut Room) -> T) -> T {
        let mut room = ROOM.take().unwrap_or_default();
        if room.seen.len() * 64 < rows {
            room.seen.resize(rows.div_ceil(64), 0);
        }
        let result = work(&mut room);
        room.clear();
        ROOM.set(Some(room));
        result
    }

    fn clear(&mut self) {
        for word in self.touched.drain(..) {
            self.seen[word as usize] = 0;
        }
        self.open.clear();
        self.best.clear();
    }

    /// Whether the row was not seen before.
    fn see(&mut self, row: u32) -> bool {
        let (word, bit) = (row / 64, 1u64 << (row % 64));
        let Some(seen) = self.seen.get_mut(word as usize) else { return false };
        if *seen == 0 {
            self.touched.push(word);
        }
        let fresh = *seen & bit == 0;
        *seen |= bit;
        fresh
    }
}

impl Default for Graph {
    fn default() -> Self {
        Graph::new()
    }
}

impl Graph {
    pub fn new() -> Self {
        let stripes = (0..STRIPES).map(|_| Mutex::new(())).collect();
        Graph { shape: RwLock::default(), rows: AtomicUsize::new(0), stripes, adding: Mutex::default() }
    }

    /// Rows 0..rows() were offered to the graph (dead ones were left out).
    pub fn rows(&self) -> usize {
        self.rows.load(Ordering::Acquire)
    }

    /// Held by whoever adds rows and publishes them, and by whoever takes an image: it is whole then.
    pub fn hold(&self) -> MutexGuard<'_, ()> {
        self.adding.lock()
    }

    /// Makes room for `rows` rows; the next calls of `add` may be from several threads, each with its own rows.
    pub fn reserve(&self, rows: usize) {
        let chunks = rows.div_ceil(CHUNK);
        if self.shape.read().lowest.len() < chunks {
            let lists = || (0..CHUNK * LOWEST_LINKS).map(|_| AtomicU32::new(NONE)).collect();
            self.shape.write().lowest.resize_with(chunks, lists);
        }
    }

    /// Says that all rows up to `rows` have been added.
    pub fn publish(&self, rows: usize) {
        self.rows.store(rows, Ordering::Release);
    }

    /// Links a row that `reserve` made room for and that was not added before.
    pub fn add(&self, kernels: Kernels, rows: &Rows, row: u32) {
        let level = level_of(row);
        let probe = rows.signed(row as usize);
        if level > 0 {
            let lists = (0..level * LINKS).map(|_| AtomicU32::new(NONE)).collect();
            let mut shape = self.shape.write();
            shape.upper.insert(row, lists);
            if shape.entry.is_none() {
                shape.entry = Some((row, level));
                return;
            }
        }
        let shape = self.shape.read();
        let Some((entry, top)) = shape.entry else {
            drop(shape);
            self.enter(row, level);
            // another thread may have entered first: then this row is still to be linked
            return match self.shape.read().entry {
                Some((entry, _)) if entry == row => {}
                _ => self.add(kernels, rows, row),
            };
        };
        Room::with(rows.len(), |room| {
            let mut at = entry;
            for level in (level + 1..=top).rev() {
                at = shape.climb(kernels, rows, &probe, at, level, room);
            }
            for level in (0..=level.min(top)).rev() {
                shape.spread(kernels, rows, &probe, at, level, EXPANSION, None, room);
                let mut found: Vec<Ranked> = room.best.drain().map(|Reverse(near)| near).collect();
                room.clear();
                found.sort_unstable_by_key(|near| Reverse(*near));
                found.retain(|near| row_of(*near) != row);
                at = found.first().map_or(at, |near| row_of(*near));
                let chosen = choose(kernels, rows, &found, LINKS);
                self.link(kernels, rows, &shape, row, &chosen, level);
            }
        });
        drop(shape);
        if level > top {
            self.enter(row, level);
        }
    }

    /// About `count` rows nearest to a query among those that `allowed` lets through (None: all), best first.
    pub fn nearest(
        &self,
        kernels: Kernels,
        rows: &Rows,
        query: &Query,
        count: usize,
        allowed: Option<&dyn Fn(u32) -> bool>,
    ) -> Vec<u32> {
        let shape = self.shape.read();
        let Some((mut at, top)) = shape.entry else { return Vec::new() };
        Room::with(rows.len(), |room| {
            for level in (1..=top).rev() {
                at = shape.climb(kernels, rows, query, at, level, room);
            }
            shape.spread(kernels, rows, query, at, 0, count, allowed, room);
            let mut found: Vec<Ranked> = room.best.drain().map(|Reverse(near)| near).collect();
            found.sort_unstable_by_key(|near| Reverse(*near));
            found.into_iter().map(row_of).collect()
        })
    }

    pub fn bytes(&self) -> usize {
        let shape = self.shape.read();
        shape.lowest.len() * CHUNK * LOWEST_LINKS * 4 + shape.upper.len() * (4 * LINKS + 48)
    }

    /// All links as a snapshot keeps them: rows, entry and its level, the lowest lists, then of each row with
    /// upper lists its number, its levels and its links.
    pub fn image(&self) -> Vec<u32> {
        let _held = self.hold();
        let shape = self.shape.read();
        let rows = self.rows();
        let (entry, top) = shape.entry.unwrap_or((NONE, 0));
        let mut image = vec![rows as u32, entry, top as u32];
        let load = |link: &AtomicU32| link.load(Ordering::Acquire);
        image.extend(shape.lowest.iter().flat_map(|chunk| chunk.iter()).take(rows * LOWEST_LINKS).map(load));
        let mut upper: Vec<_> = shape.upper.iter().filter(|(row, _)| (**row as usize) < rows).collect();
        upper.sort_unstable_by_key(|(row, _)| **row);
        for (row, lists) in upper {
            image.extend([*row, (lists.len() / LINKS) as u32]);
            image.extend(lists.iter().map(load));
        }
        image
    }

    /// A graph over the first of `rows` rows from its image; None when the image contradicts itself.
    pub fn from_image(image: &[u32], rows: usize) -> Option<Self> {
        let (&[held, entry, top], mut rest) = image.split_first_chunk::<3>()?;
        let held = held as usize;
        let lowest = rest.split_off(..held.checked_mul(LOWEST_LINKS)?)?;
        let sound = |link: &u32| *link == NONE || (*link as usize) < held;
        if held > rows || !lowest.iter().all(sound) {
            return None;
        }
        let graph = Graph::new();
        let mut shape = Shape::default();
        for lists in lowest.chunks(CHUNK * LOWEST_LINKS) {
            let mut chunk: Vec<AtomicU32> = lists.iter().map(|link| AtomicU32::new(*link)).collect();
            chunk.resize_with(CHUNK * LOWEST_LINKS, || AtomicU32::new(NONE));
            shape.lowest.push(chunk.into());
        }
        while let Some((&[row, levels], after)) = rest.split_first_chunk::<2>() {
            rest = after;
            if row as usize >= held || !(1..=MAX_LEVEL).contains(&(levels as usize)) {
                return None;
            }
            let lists = rest.split_off(..levels as usize * LINKS)?;
            if !lists.iter().all(sound) {
                return None;
            }
            shape.upper.insert(row, lists.iter().map(|link| AtomicU32::new(*link)).collect());
        }
        let levels = shape.upper.get(&entry).map_or(0, |lists| lists.len() / LINKS);
        shape.entry = match entry {
            NONE if top == 0 => None,
            _ if (entry as usize) < held && levels == top as usize => Some((entry, levels)),
            _ => return None,
        };
        if !rest.is_empty() {
            return None;
        }
        *graph.shape.write() = shape;
        graph.publish(held);
        Some(graph)
    }

    /// Makes a row the entry if it reaches higher than the present one.
    fn enter(&self, row: u32, level: usize) {
        let mut shape = self.shape.write();
        if shape.entry.is_none_or(|(_, top)| level > top) {
            shape.entry = Some((row, level));
        }
    }

    fn stripe(&self, row: u32) -> &Mutex<()> {
        &self.stripes[row as usize % STRIPES]
    }

    /// Links a row with those chosen, both ways.
    fn link(&self, kernels: Kernels, rows: &Rows, shape: &Shape, row: u32, chosen: &[u32], level: usize) {
        {
            let _held = self.stripe(row).lock();
            // Rows that are added at the same time may have linked themselves to this one already.
            let list = shape.list(row, level);
            let mut all: Vec<u32> = shape.links(row, level).collect();
            all.extend(chosen.iter().filter(|link| !all.contains(link)).copied().collect::<Vec<_>>());
            write(list, &all[..all.len().min(list.len())]);
        }
        for near in chosen {
            let _held = self.stripe(*near).lock();
            let list = shape.list(*near, level);
            let mut all: Vec<u32> = shape.links(*near, level).collect();
            if all.contains(&row) {
                continue;
            }
            if let Some(free) = list.get(all.len()) {
                free.store(row, Ordering::Release);
                continue;
            }
            all.push(row);
            let probe = rows.signed(*near as usize);
            let mut cosines = Vec::with_capacity(all.len());
            rows.near(kernels, &probe, &all, &mut cosines);
            let mut found: Vec<Ranked> =
                all.iter().zip(cosines).map(|(row, cosine)| ranked(cosine, *row)).collect();
            found.sort_unstable_by_key(|near| Reverse(*near));
            write(list, &choose(kernels, rows, &found, list.len()));
        }
    }
}

impl Shape {
    /// The row nearest to the probe that is reached by going from better to better.
    fn climb<P: Probe>(
        &self,
        kernels: Kernels,
        rows: &Rows,
        probe: &P,
        from: u32,
        level: usize,
        room: &mut Room,
    ) -> u32 {
        room.cosines.clear();
        rows.near(kernels, probe, &[from], &mut room.cosines);
        let mut best = ranked(room.cosines[0], from);
        loop {
            room.fresh.clear();
            room.fresh.extend(self.links(row_of(best), level));
            room.fresh.iter().for_each(|row| rows.prefetch(*row as usize));
            room.cosines.clear();
            rows.near(kernels, probe, &room.fresh, &mut room.cosines);
            let each = room.fresh.iter().zip(&room.cosines).map(|(row, cosine)| ranked(*cosine, *row));
            match each.max() {
                Some(better) if better > best => best = better,
                _ => return row_of(best),
            }
        }
    }

    /// Leaves in `room.best` the `count` nearest rows met on the way from `from`, until no open row is nearer
    /// than the farthest of them.
    #[expect(
        clippy::too_many_arguments,
        reason = "the loop at the heart of every search and every insertion"
    )]
    fn spread<P: Probe>(
        &self,
        kernels: Kernels,
        rows: &Rows,
        probe: &P,
        from: u32,
        level: usize,
        count: usize,
        allowed: Option<&dyn Fn(u32) -> bool>,
        room: &mut Room,
    ) {
        room.see(from);
        room.fresh.clear();
        room.fresh.push(from);
        loop {
            room.cosines.clear();
            rows.near(kernels, probe, &room.fresh, &mut room.cosines);
            for (row, cosine) in room.fresh.iter().zip(&room.cosines) {
                let near = ranked(*cosine, *row);
                let full = room.best.len() >= count;
                if full && room.best.peek().is_some_and(|worst| near < worst.0) {
                    continue;
                }
                room.open.push(near);
                if allowed.is_none_or(|allowed| allowed(*row)) {
                    if full {
                        room.best.pop();
                    }
                    room.best.push(Reverse(near));
                }
            }
            loop {
                let Some(next) = room.open.pop() else { return };
                if room.best.len() >= count && room.best.peek().is_some_and(|worst| next < worst.0) {
                    return;
                }
                let mut fresh = std::mem::take(&mut room.fresh);
                fresh.clear();
                fresh.extend(self.links(row_of(next), level).filter(|row| room.see(*row)));
                room.fresh = fresh;
                if !room.fresh.is_empty() {
                    break;
                }
            }
            room.fresh.iter().for_each(|row| rows.prefetch(*row as usize));
        }
    }
}

/// At most `limit` of the candidates (best first) as links: each nearer to the base than to any link before it,
/// so that the links point into different directions.
fn choose(kernels: Kernels, rows: &Rows, candidates: &[Ranked], limit: usize) -> Vec<u32> {
    let mut chosen = Vec::with_capacity(limit);
    let mut left: Vec<(u32, Ranked)> = candidates.iter().map(|near| (row_of(*near), *near)).collect();
    let (mut ids, mut cosines) = (Vec::new(), Vec::new());
    while let Some(&(next, _)) = left.first()
        && chosen.len() < limit
    {
        chosen.push(next);
        left.remove(0);
        if chosen.len() == limit {
            break;
        }
        let probe: Signed = rows.signed(next as usize);
        ids.clear();
        ids.extend(left.iter().map(|(row, _)| *row));
        cosines.clear();
        rows.near(kernels, &probe, &ids, &mut cosines);
        let mut each = cosines.iter();
        left.retain(|(row, near)| each.next().is_some_and(|cosine| ranked(*cosine, *row) < *near));
    }
    chosen
}

/// Overwrites a list. A search that reads meanwhile sees links of before or after.
fn write(list: &[AtomicU32], links: &[u32]) {
    for (place, link) in list.iter().zip(links.iter().copied().chain(std::iter::repeat(NONE))) {
        place.store(link, Ordering::Release);
    }
}

/// One row in `LINKS` on each next level, by a hash of its number: the same graph for the same order.
fn level_of(row: u32) -> usize {
    let hash = xxhash_rust::xxh3::xxh3_64(&row.to_le_bytes());
    (hash.trailing_zeros() as usize / LINKS.trailing_zeros() as usize).min(MAX_LEVEL)
}

#[cfg(test)]
mod tests {
    use super::super::normalise;
    use super::*;

    fn rows(count: usize, dimension: usize) -> Rows {
        let mut rows = Rows::new(dimension);
        let mut state = 88_172_645_463_325_252u64;
        for _ in 0..count {
            let mut vector: Vec<f32> = (0..dimension)
                .map(|_| {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    (state >> 40) as f32 / (1 << 24) as f32 - 0.5
                })
                .collect();
            normalise(&mut vector).unwrap();
            rows.push(&vector);
        }
        rows
    }

    fn graph(rows: &Rows, threads: usize) -> Graph {
        let graph = Graph::new();
        graph.reserve(rows.len());
        std::thread::scope(|scope| {
            for first in 0..threads {
                let graph = &graph;
                scope.spawn(move || {
                    for row in (first..rows.len()).step_by(threads) {
                        graph.add(Kernels::here(), rows, row as u32);
                    }
                });
            }
        });
        graph.publish(rows.len());
        graph
    }

    fn recall(rows: &Rows, graph: &Graph, allowed: Option<&dyn Fn(u32) -> bool>) -> f64 {
        let kernels = Kernels::here();
        let all: Vec<u32> =
            (0..rows.len() as u32).filter(|row| allowed.is_none_or(|allowed| allowed(*row))).collect();
        let mut found = 0;
        for row in (0..rows.len()).step_by(50) {
            let query = Query::new(&rows.plain(row));
            let mut cosines = Vec::new();
            rows.near(kernels, &query, &all, &mut cosines);
            let mut exact: Vec<(u32, f32)> = all.iter().copied().zip(cosines).collect();
            exact.sort_unstable_by(|a, b| b.1.total_cmp(&a.1));
            let near = graph.nearest(kernels, rows, &query, 64, allowed);
            assert!(near.iter().all(|row| allowed.is_none_or(|allowed| allowed(*row))));
            found += exact[..10].iter().filter(|(row, _)| near.contains(row)).count();
        }
        found as f64 / (10 * rows.len().div_ceil(50)) as f64
    }

    #[test]
    fn a_graph_built_by_one_or_many_threads_finds_the_nearest() {
        let rows = rows(4_000, 16);
        for threads in [1, 4] {
            let graph = graph(&rows, threads);
            let even = |row: u32| row.is_multiple_of(2);
            assert!(recall(&rows, &graph, None) > 0.98, "{threads} threads");
            assert!(recall(&rows, &graph, Some(&even)) > 0.98, "{threads} threads, filtered");
        }
    }

    #[test]
    fn an_image_brings_the_graph_back_and_a_damaged_one_is_refused() {
        let rows = rows(1_500, 16);
        let graph = graph(&rows, 1);
        let image = graph.image();
        let again = Graph::from_image(&image, rows.len()).unwrap();
        let query = Query::new(&rows.plain(7));
        let near = |graph: &Graph| graph.nearest(Kernels::here(), &rows, &query, 20, None);
        assert_eq!(near(&again), near(&graph));
        assert_eq!(again.image(), image);
        assert!(Graph::from_image(&image, 1_499).is_none());
        for cut in [0, 2, 3, 100, image.len() - 1] {
            assert!(Graph::from_image(&image[..cut], rows.len()).is_none(), "cut at {cut}");
        }
        for at in [1, 2, 3, 50, image.len() - 1] {
            let mut damaged = image.clone();
            damaged[at] = 1_500;
            assert!(Graph::from_image(&damaged, rows.len()).is_none(), "damaged at {at}");
        }
        assert!(Graph::from_image(&Graph::new().image(), 0).is_some());
    }

    #[test]
    fn the_order_of_similarities_is_that_of_their_ranks() {
        let sorted = [-1.0f32, -0.5, -0.0, 0.0, 1e-20, 0.25, 1.0];
        for pair in sorted.windows(2) {
            assert!(ranked(pair[0], 5) <= ranked(pair[1], 5), "{pair:?}");
        }
        assert!(ranked(0.5, 1) > ranked(0.5, 2));
        assert_eq!(row_of(ranked(-0.3, 77)), 77);
    }
}
