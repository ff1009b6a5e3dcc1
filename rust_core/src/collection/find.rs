//! From a query to the memories worth scoring.

use std::time::{Duration, Instant};

use roaring::RoaringBitmap;

use super::plan::{Limits, Plan, Size};
use super::sequences::NONE;
use super::state::State;
use crate::filter::Filter;
use crate::lexical::LexicalQuery;
use crate::types::{Include, Window};
use crate::vector::Query;

/// Fewest lexical candidates under the graph plan.
const LEXICAL_CANDIDATES: usize = 40;

/// What one collection is asked.
pub struct Ask<'a> {
    /// Of the collection's dimension.
    pub vector: Option<&'a Query>,
    pub text: &'a str,
    pub filter: Option<&'a Filter>,
    pub now: i64,
    pub include: Include,
    pub window: Option<Window>,
    pub top_k: usize,
    /// Whether neighbours in a sequence count.
    pub neighbours: bool,
    /// Whether recency and confidence do: then the newest and the most confident are candidates.
    pub recency: bool,
    pub confidence: bool,
    /// Scan, whatever the size.
    pub exact: bool,
}

/// The memories to look at: those that may be returned, and those around them that support them.
pub struct Found {
    pub plan: Plan,
    /// Memories that the filter and the flags let through.
    pub allowed: u64,
    /// Ascending.
    pub slots: Vec<u32>,
    /// Those of `slots` that may be returned; None: all of them.
    pub returnable: Option<RoaringBitmap>,
    /// The memories that count as neighbours; None: all live ones.
    pub visible: Option<RoaringBitmap>,
    /// Whether neighbours count at all.
    pub supported: bool,
    /// BM25 of the slots that have any, by slot ascending.
    pub lexical: Vec<(u32, f32)>,
    /// The best BM25 score of any allowed memory.
    pub best_lexical: f32,
    /// The BM25 score of an ideal match.
    pub ideal_lexical: f32,
    /// Few enough to be measured exactly at once.
    pub few: bool,
    pub filtering: Duration,
    pub finding: Duration,
}

impl Found {
    pub fn may_return(&self, slot: u32) -> bool {
        self.returnable.as_ref().is_none_or(|returnable| returnable.contains(slot))
    }

    pub fn is_visible(&self, slot: u32) -> bool {
        self.visible.as_ref().is_none_or(|visible| visible.contains(slot))
    }

    pub fn candidates(&self) -> u64 {
        self.returnable.as_ref().map_or(self.slots.len() as u64, RoaringBitmap::len)
    }
}

impl State {
    /// Finds the memories that one search has to look at.
    pub fn find(&self, ask: &Ask, limits: Limits) -> Found {
        let start = Instant::now();
        let visible = self.columns.visible(ask.include, ask.now);
        let allowed = match ask.filter {
            Some(filter) => self.columns.select(filter) & &visible,
            None => visible.clone(),
        };
        let filtering = start.elapsed();
        let lexical = self.lexical.query(ask.text);
        let plan = self.plan(&allowed, ask, limits);
        let graph = matches!(plan, Plan::Graph { .. });
        let mut best_lexical = 0f32;
        let mut candidates = match plan {
            Plan::Graph { count } => {
                let (candidates, best) = self.candidates(&allowed, count, ask, &lexical);
                best_lexical = best;
                candidates
            }
            _ => allowed.clone(),
        };
        if let Some(window) = ask.window
            && graph
        {
            // The best of the window come first, so they must be found even where the rest outranks them.
            let inside = self.columns.during(|time| window.contains(time)) & &allowed;
            candidates |= match self.plan(&inside, ask, limits) {
                Plan::Graph { count } => self.candidates(&inside, count, ask, &lexical).0,
                _ => inside,
            };
        }

        let visible = (visible.len() != self.columns.live().len()).then_some(visible);
        let is_visible = |slot: u32| visible.as_ref().is_none_or(|visible| visible.contains(slot));
        let supported = ask.neighbours && !self.sequences.is_empty();
        if supported && graph {
            let near = candidates.iter().flat_map(|slot| self.sequences.around(slot, is_visible));
            let near: Vec<u32> = near.filter(|slot| *slot != NONE && allowed.contains(*slot)).collect();
            candidates.extend(near);
        }
        let live = self.columns.live().len();
        let all = candidates.len() == visible.as_ref().map_or(live, RoaringBitmap::len);
        let needed = if supported && !all {
            let mut needed = candidates.clone();
            let near = candidates.iter().flat_map(|slot| self.sequences.around(slot, is_visible));
            needed.extend(near.filter(|slot| *slot != NONE));
            Some(needed).filter(|needed| needed.len() > candidates.len())
        } else {
            None
        };
        let looked_at = needed.as_ref().unwrap_or(&candidates);
        let slots: Vec<u32> = match looked_at.max() {
            Some(last) if looked_at.len() == u64::from(last) + 1 => (0..=last).collect(),
            _ => looked_at.iter().collect(),
        };

        let everything = slots.len() as u64 == live;
        let lexical_scores = self.lexical.scores(&lexical, (!everything).then_some(looked_at));
        if !graph {
            let own = lexical_scores.iter().filter(|(slot, _)| needed.is_none() || allowed.contains(*slot));
            best_lexical = own.map(|(_, score)| *score).fold(0.0, f32::max);
        }
        Found {
            plan,
            allowed: allowed.len(),
            few: graph || slots.len() <= limits.few,
            returnable: needed.map(|_| candidates),
            slots,
            visible,
            supported,
            lexical: lexical_scores,
            best_lexical,
            ideal_lexical: self.lexical.ideal(&lexical),
            filtering,
            finding: start.elapsed() - filtering,
        }
    }

    pub(super) fn plan(&self, allowed: &RoaringBitmap, ask: &Ask, limits: Limits) -> Plan {
        let size = Size {
            allowed: allowed.len(),
            memories: self.columns.live().len(),
            rows: self.vectors.rows().len(),
            in_graph: self.vectors.rows_in_graph(),
            wanted: ask.top_k,
            has_query: ask.vector.is_some() || !ask.text.is_empty(),
            exact: ask.exact,
        };
        Plan::choose(size, limits)
    }

    /// The memories near in meaning, in words, the newest and the most confident, and the best BM25 score.
    fn candidates(
        &self,
        allowed: &RoaringBitmap,
        count: usize,
        ask: &Ask,
        lexical: &LexicalQuery,
    ) -> (RoaringBitmap, f32) {
        let wanted = 4 * ask.top_k;
        let mut candidates: Vec<u32> = match ask.vector {
            Some(vector) => self.near(vector, allowed, count),
            None => Vec::new(),
        };
        // every look into a bitmap costs as much as a posting
        let among = (allowed.len() != self.columns.live().len()).then_some(allowed);
        let matching = self.lexical.top(lexical, among, wanted.max(LEXICAL_CANDIDATES));
        let best = matching.first().map_or(0.0, |(_, score)| *score);
        candidates.extend(matching.into_iter().map(|(slot, _)| slot));
        if ask.recency {
            let newest = self.columns.newest_first().filter(|slot| allowed.contains(*slot));
            candidates.extend(newest.take(wanted));
        }
        if ask.confidence {
            let confident = self.columns.most_confident_first().filter(|slot| allowed.contains(*slot));
            candidates.extend(confident.take(wanted));
        }
        candidates.sort_unstable();
        candidates.dedup();
        (candidates.into_iter().collect(), best)
    }

    /// About `count` allowed slots nearest by the graph, and the best among the rows not yet in it.
    pub(super) fn near(&self, vector: &Query, allowed: &RoaringBitmap, count: usize) -> Vec<u32> {
        let Some(graph) = self.vectors.graph() else { return allowed.iter().collect() };
        let rows = self.vectors.rows().len();
        let in_graph = self.vectors.rows_in_graph();
        let lets_through = |slot: u32| allowed.contains(slot);
        let everything = allowed.len() == self.vectors.slots() as u64;
        let filter: Option<&dyn Fn(u32) -> bool> = if everything { None } else { Some(&lets_through) };
        // where the graph cannot answer, all that is allowed is looked at
        let Ok(found) = self.vectors.by_graph(graph, vector, count, filter) else {
            return allowed.iter().collect();
        };
        let mut slots: Vec<u32> = found.into_iter().map(|row| self.vectors.slot_of(row as usize)).collect();

        let mut rest: Vec<u32> = (in_graph..rows)
            .map(|row| self.vectors.slot_of(row))
            .filter(|slot| allowed.contains(*slot))
            .collect();
        rest.dedup();
        if rest.len() > count {
            let cosines = self.vectors.near(&[vector], &rest).remove(0);
            let mut ranked: Vec<(u32, f32)> = rest.into_iter().zip(cosines).collect();
            ranked.select_nth_unstable_by(count, |a, b| b.1.total_cmp(&a.1));
            ranked.truncate(count);
            rest = ranked.into_iter().map(|(slot, _)| slot).collect();
        }
        slots.extend(rest);
        slots.sort_unstable();
        slots.dedup();
        slots
    }
}
