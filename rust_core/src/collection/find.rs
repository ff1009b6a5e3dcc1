//! From a query to the memories worth scoring, with their raw cosines and BM25 scores.

use roaring::RoaringBitmap;

use super::plan::{Limits, Plan, Size};
use super::sequences::NONE;
use super::state::State;
use crate::error::Result;
use crate::filter::Filter;
use crate::lexical::LexicalQuery;
use crate::types::{Id, Include, Window};

/// Fewest lexical candidates under the graph plan.
const LEXICAL_CANDIDATES: usize = 40;

/// What one collection is asked.
pub struct Query<'a> {
    /// Of length one and the collection's dimension.
    pub vector: Option<&'a [f32]>,
    pub text: &'a str,
    pub filter: Option<&'a Filter>,
    pub now: i64,
    pub include: Include,
    pub window: Option<Window>,
    pub top_k: usize,
    /// Whether neighbours in a sequence count.
    pub neighbours: bool,
}

/// The memories to score, by slot ascending, and those around them that support them.
pub struct Found {
    pub plan: Plan,
    /// Memories that the filter and the flags let through.
    pub allowed: u64,
    pub slots: Vec<u32>,
    /// Of the best passage of each slot; 0 without a query vector.
    pub cosines: Vec<f32>,
    pub passages: Vec<u32>,
    /// BM25 of each slot.
    pub lexical: Vec<f32>,
    /// Which of `slots` may be returned, as indexes into it.
    pub candidates: Vec<u32>,
    /// For each candidate the indexes into `slots` of its neighbours (see `Sequences::around`), NONE if none;
    /// empty when neighbours do not count.
    pub around: Vec<[u32; 4]>,
    /// The best BM25 score of any allowed memory.
    pub best_lexical: f32,
    /// The BM25 score of an ideal match.
    pub ideal_lexical: f32,
}

impl State {
    /// Finds the memories that one search has to score.
    pub fn find(&self, query: &Query, limits: Limits) -> Result<Found> {
        let visible = self.columns.visible(query.include, query.now);
        let allowed = match query.filter {
            Some(filter) => self.columns.select(filter) & &visible,
            None => visible.clone(),
        };
        let lexical = self.lexical.query(query.text);
        let plan = self.plan(&allowed, query, limits);
        let best_lexical = match plan {
            Plan::Graph { .. } => {
                self.lexical.top(&lexical, Some(&allowed), 1).first().map(|(_, score)| *score)
            }
            _ => None, // the scan meets it on its way
        };
        let mut candidates = self.candidates(&allowed, plan, query, &lexical)?;
        if let Some(window) = query.window {
            // The best of the window come first, so they must be found even where the rest outranks them.
            if matches!(plan, Plan::Graph { .. }) {
                let inside = self.columns.during(|time| window.contains(time)) & &allowed;
                let plan = self.plan(&inside, query, limits);
                candidates |= self.candidates(&inside, plan, query, &lexical)?;
            }
        }

        let supported = query.neighbours && !self.sequences.is_empty();
        let all_visible = visible.len() == self.columns.live().len();
        let is_visible = |slot: u32| all_visible || visible.contains(slot);
        if supported && matches!(plan, Plan::Graph { .. }) {
            let near: Vec<u32> = candidates
                .iter()
                .flat_map(|slot| self.sequences.around(slot, is_visible))
                .filter(|slot| *slot != NONE && allowed.contains(*slot))
                .collect();
            candidates.extend(near);
        }
        let mut needed = candidates.clone();
        let mut around = Vec::new();
        if supported {
            around = candidates.iter().map(|slot| self.sequences.around(slot, is_visible)).collect();
            if candidates.len() != visible.len() {
                needed.extend(around.iter().flatten().copied().filter(|slot| *slot != NONE));
            }
        }

        let slots: Vec<u32> = needed.iter().collect();
        let index = Positions::new(&slots, self.records().len());
        for slot in around.iter_mut().flatten() {
            if *slot != NONE {
                *slot = index.of(*slot);
            }
        }
        let (cosines, passages) = match query.vector {
            Some(vector) => self.vectors.best(vector, slots.iter().copied()),
            None => (vec![0.0; slots.len()], vec![0; slots.len()]),
        };
        let mut bm25 = vec![0.0; slots.len()];
        let mut best_scanned = 0f32;
        let (matching, scores) = self.lexical.scores(&lexical, Some(&needed));
        for (slot, score) in matching.into_iter().zip(scores) {
            bm25[index.of(slot) as usize] = score;
            if score > best_scanned && allowed.contains(slot) {
                best_scanned = score;
            }
        }
        Ok(Found {
            plan,
            allowed: allowed.len(),
            candidates: candidates.iter().map(|slot| index.of(slot)).collect(),
            slots,
            cosines,
            passages,
            lexical: bm25,
            around,
            best_lexical: best_lexical.unwrap_or(best_scanned),
            ideal_lexical: self.lexical.ideal(&lexical),
        })
    }

    /// The `k` live memories with the highest cosine, best first.
    pub fn nearest(&self, vector: &[f32], k: usize, limits: Limits) -> Result<Vec<(Id, f32)>> {
        let query = Query {
            vector: Some(vector),
            text: "",
            filter: None,
            now: 0,
            include: Include::ALL,
            window: None,
            top_k: k,
            neighbours: false,
        };
        let live = self.columns.live();
        let slots = match self.plan(live, &query, limits) {
            Plan::Graph { count } => self.near(vector, live, count)?,
            _ => live.iter().collect(),
        };
        let (cosines, _) = self.vectors.best(vector, slots.iter().copied());
        let mut found: Vec<(Id, f32)> =
            slots.iter().map(|slot| self.columns.id(*slot)).zip(cosines).collect();
        let order = |a: &(Id, f32), b: &(Id, f32)| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0));
        if found.len() > k {
            found.select_nth_unstable_by(k, order);
            found.truncate(k);
        }
        found.sort_unstable_by(order);
        Ok(found)
    }

    fn plan(&self, allowed: &RoaringBitmap, query: &Query, limits: Limits) -> Plan {
        let size = Size {
            allowed: allowed.len(),
            memories: self.columns.live().len(),
            rows: self.vectors.rows(),
            in_graph: self.vectors.rows_in_graph(),
            wanted: query.top_k,
            has_query: query.vector.is_some() || !query.text.is_empty(),
        };
        Plan::choose(size, limits)
    }

    fn candidates(
        &self,
        allowed: &RoaringBitmap,
        plan: Plan,
        query: &Query,
        lexical: &LexicalQuery,
    ) -> Result<RoaringBitmap> {
        let Plan::Graph { count } = plan else { return Ok(allowed.clone()) };
        let mut candidates = RoaringBitmap::new();
        if let Some(vector) = query.vector {
            candidates.extend(self.near(vector, allowed, count)?);
        }
        let wanted = 4 * query.top_k;
        let matching = self.lexical.top(lexical, Some(allowed), wanted.max(LEXICAL_CANDIDATES));
        candidates.extend(matching.into_iter().map(|(slot, _)| slot));
        let newest = self.columns.newest_first().filter(|slot| allowed.contains(*slot));
        candidates.extend(newest.take(wanted));
        let confident = self.columns.most_confident_first().filter(|slot| allowed.contains(*slot));
        candidates.extend(confident.take(wanted));
        Ok(candidates)
    }

    /// About `count` allowed slots nearest by the graph, and all of the best among the rows not yet in it.
    fn near(&self, vector: &[f32], allowed: &RoaringBitmap, count: usize) -> Result<Vec<u32>> {
        let Some(graph) = self.vectors.graph() else { return Ok(allowed.iter().collect()) };
        let rows = self.vectors.rows();
        let in_graph = self.vectors.rows_in_graph();
        // The builder may be ahead of what this state knows only after a compaction, never within one.
        let lets_through = |row: usize| row < rows && allowed.contains(self.vectors.slot_of(row));
        let everything = allowed.len() == self.records().len() as u64;
        let filter: Option<&dyn Fn(usize) -> bool> = if everything { None } else { Some(&lets_through) };
        let mut slots: Vec<u32> =
            graph.nearest(vector, count, filter)?.into_iter().map(|row| self.vectors.slot_of(row)).collect();

        let mut rest: Vec<u32> = (in_graph..rows)
            .map(|row| self.vectors.slot_of(row))
            .filter(|slot| allowed.contains(*slot))
            .collect();
        rest.dedup();
        if rest.len() > count {
            let (cosines, _) = self.vectors.best(vector, rest.iter().copied());
            let mut ranked: Vec<(u32, f32)> = rest.into_iter().zip(cosines).collect();
            ranked.select_nth_unstable_by(count, |a, b| b.1.total_cmp(&a.1));
            ranked.truncate(count);
            rest = ranked.into_iter().map(|(slot, _)| slot).collect();
        }
        slots.extend(rest);
        slots.sort_unstable();
        slots.dedup();
        Ok(slots)
    }
}

/// Where a slot stands in a list of slots: a dense table, since a scan asks for every slot.
struct Positions(Vec<u32>);

impl Positions {
    fn new(slots: &[u32], total: usize) -> Self {
        let mut table = vec![0; total];
        for (position, slot) in slots.iter().enumerate() {
            table[*slot as usize] = position as u32;
        }
        Positions(table)
    }

    /// `slot` must be in the list.
    fn of(&self, slot: u32) -> u32 {
        self.0[slot as usize]
    }
}
