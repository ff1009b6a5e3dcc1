//! The memories nearest to a vector by plain cosine: the candidates of dedup.

use super::find::Ask;
use super::plan::{Limits, Plan};
use super::state::State;
use crate::types::{Id, Include};
use crate::vector::Query;

/// Fewest memories whose exact cosine is computed after a scan.
const RESCORED: usize = 40;

impl State {
    /// For each of up to `BLOCK` queries the `k` live memories with the highest cosine, best first.
    pub fn nearest(&self, queries: &[&Query], k: usize, limits: Limits) -> Vec<Vec<(Id, f32)>> {
        let live = self.columns.live();
        let Some(first) = queries.first() else { return Vec::new() };
        let ask = Ask {
            vector: Some(first),
            text: "",
            filter: None,
            now: 0,
            include: Include::ALL,
            window: None,
            top_k: k,
            neighbours: false,
            recency: false,
            confidence: false,
            exact: false,
        };
        let candidates: Vec<Vec<u32>> = match self.plan(live, &ask, limits) {
            Plan::Graph { count } => queries.iter().map(|query| self.near(query, live, count)).collect(),
            _ => {
                let slots: Vec<u32> = live.iter().collect();
                let cosines = self.vectors.near(queries, &slots);
                let each = queries.iter().zip(cosines);
                each.map(|(query, cosines)| self.best_of_scan(query, &slots, &cosines, k)).collect()
            }
        };
        queries.iter().zip(candidates).map(|(query, slots)| self.rank(query, &slots, k)).collect()
    }

    /// The slots that may be among the `k` best once their exact cosines are known.
    fn best_of_scan(&self, query: &Query, slots: &[u32], cosines: &[f32], k: usize) -> Vec<u32> {
        let count = RESCORED.max(4 * k);
        if slots.len() <= count {
            return slots.to_vec();
        }
        let mut order: Vec<f32> = cosines.to_vec();
        let nth =
            |order: &mut Vec<f32>, n: usize| *order.select_nth_unstable_by(n - 1, |a, b| b.total_cmp(a)).1;
        let rescored = nth(&mut order, count);
        order.truncate(count);
        let reach = nth(&mut order, k) - 2.0 * self.vectors.margin(query);
        let least = rescored.min(reach);
        slots.iter().zip(cosines).filter(|(_, cosine)| **cosine >= least).map(|(slot, _)| *slot).collect()
    }

    fn rank(&self, query: &Query, slots: &[u32], k: usize) -> Vec<(Id, f32)> {
        slots.iter().for_each(|slot| self.vectors.prefetch(*slot));
        let mut found: Vec<(Id, f32)> =
            slots.iter().map(|slot| (self.columns.id(*slot), self.vectors.best(query, *slot).0)).collect();
        let order = |a: &(Id, f32), b: &(Id, f32)| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0));
        if found.len() > k {
            found.select_nth_unstable_by(k, order);
            found.truncate(k);
        }
        found.sort_unstable_by(order);
        found
    }
}
