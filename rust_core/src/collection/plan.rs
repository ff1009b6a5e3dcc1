//! How a search of one collection is carried out.
//!
//! The constants are those of `benches/core.py` at 384 dimensions. A scanned row takes 0.01 to 0.03 µs, the more
//! the fewer are allowed; a graph search about 2 µs a row asked for, divided by the share of rows allowed.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// Nothing is allowed.
    None,
    /// No more allowed than wanted: all of them.
    All,
    /// Exactly, over the allowed memories.
    Scan,
    /// Candidates from the graph, the words, the newest and the most confident.
    Graph {
        /// Rows to ask the graph for, which is also its effort.
        count: usize,
    },
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Plan::None => "none",
            Plan::All => "all",
            Plan::Scan => "scan",
            Plan::Graph { .. } => "graph",
        })
    }
}

/// From where on a graph is worth building and asking.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Vectors above which a collection gets a graph.
    pub graph_from: usize,
    /// Allowed memories up to which a scan beats the filtered graph, whatever the size.
    pub scan_allowed: u64,
    /// Memories of which so few are left to look at have their exact cosines computed at once, without a look
    /// at the high bytes first.
    pub few: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { graph_from: 30_000, scan_allowed: 20_000, few: 1024 }
    }
}

/// What the choice depends on.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub allowed: u64,
    pub memories: u64,
    /// Rows of vectors, and how many of them the graph holds.
    pub rows: usize,
    pub in_graph: usize,
    pub wanted: usize,
    /// Without a vector and a text every allowed memory is as good a candidate as any other.
    pub has_query: bool,
    /// A scan was asked for.
    pub exact: bool,
}

impl Plan {
    pub fn choose(size: Size, limits: Limits) -> Plan {
        let count = graph_count(size);
        match size.allowed {
            0 => Plan::None,
            allowed if allowed <= size.wanted as u64 => Plan::All,
            _ if !size.has_query || size.exact => Plan::Scan,
            _ if size.rows <= limits.graph_from => Plan::Scan,
            _ if size.in_graph < size.rows / 2 => Plan::Scan,
            allowed if allowed <= limits.scan_allowed => Plan::Scan,
            allowed if allowed as f64 <= 45.0 * (size.rows as f64).sqrt() => Plan::Scan,
            // a graph search costs about as much a row asked for as 45 rows scanned
            allowed if allowed <= 45 * count as u64 && count > 384 => Plan::Scan,
            _ => Plan::Graph { count },
        }
    }
}

fn graph_count(size: Size) -> usize {
    let effort = match size.allowed as f64 / size.memories.max(1) as f64 {
        // questions lie far from the texts they ask about: a graph needs more effort for them than for copies
        selectivity if selectivity >= 0.9 && size.rows > 200_000 => 384,
        selectivity if selectivity >= 0.2 => 256,
        _ => 128,
    };
    effort.max(4 * size.wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(allowed: u64, rows: usize, in_graph: usize, wanted: usize) -> Plan {
        let size =
            Size { allowed, memories: rows as u64, rows, in_graph, wanted, has_query: true, exact: false };
        Plan::choose(size, Limits::default())
    }

    #[test]
    fn the_plan_follows_the_allowed_count() {
        assert_eq!(choose(0, 1_000_000, 1_000_000, 8), Plan::None);
        assert_eq!(choose(8, 1_000_000, 1_000_000, 8), Plan::All);
        assert_eq!(choose(30_000, 30_000, 30_000, 8), Plan::Scan);
        assert_eq!(choose(45_000, 1_000_000, 1_000_000, 8), Plan::Scan);
        assert_eq!(choose(46_000, 1_000_000, 1_000_000, 8), Plan::Graph { count: 128 });
        assert_eq!(choose(300_000, 1_000_000, 1_000_000, 8), Plan::Graph { count: 256 });
        assert_eq!(choose(1_000_000, 1_000_000, 1_000_000, 8), Plan::Graph { count: 384 });
        assert_eq!(choose(100_000, 100_000, 100_000, 8), Plan::Graph { count: 256 });
        assert_eq!(choose(100_000, 100_000, 100_000, 100), Plan::Graph { count: 400 });
    }

    #[test]
    fn a_graph_that_lags_far_behind_or_a_very_large_top_k_is_scanned() {
        assert_eq!(choose(100_000, 100_000, 40_000, 8), Plan::Scan);
        assert_eq!(choose(100_000, 100_000, 100_000, 1_000), Plan::Scan);
    }

    #[test]
    fn a_search_without_a_query_looks_at_every_allowed_memory() {
        let size = Size {
            allowed: 900_000,
            memories: 1_000_000,
            rows: 1_000_000,
            in_graph: 1_000_000,
            wanted: 8,
            has_query: false,
            exact: false,
        };
        assert_eq!(Plan::choose(size, Limits::default()), Plan::Scan);
    }
}
