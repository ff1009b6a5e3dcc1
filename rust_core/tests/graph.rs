//! The graph plan against the exact scan, and writers, searches and snapshots at once.

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{Memory, Random, Request, apply, bytes, id};
use rust_core::collection::Limits;
use rust_core::index::Index;
use rust_core::types::Record;

const DIMENSION: usize = 32;

/// Memories around 40 centres.
fn clustered(random: &mut Random, numbers: std::ops::Range<u64>) -> Vec<Memory> {
    let centres: Vec<Vec<f32>> = (0..40).map(|i| Random::new(1000 + i).vector(DIMENSION)).collect();
    numbers
        .map(|number| {
            let centre = &centres[random.below(40)];
            let vector = centre.iter().map(|x| x + 0.7 * random.normal()).collect();
            let record = Record {
                id: id(number),
                content: format!("记忆 {number}"),
                tags: vec![["a", "b", "c"][number as usize % 3].to_owned()],
                confidence: random.unit(),
                event_time: number as i64,
                ..Record::default()
            };
            Memory { record, vectors: vec![vector] }
        })
        .collect()
}

fn limits(graph_from: usize) -> Limits {
    Limits { graph_from, scan_allowed: 100, few: 100 }
}

fn wait_for_graph(index: &Index) {
    let start = Instant::now();
    loop {
        let status = index.status(1).unwrap();
        if status.in_graph == status.vectors + status.removed {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no whole graph after a minute: {status:?}");
        thread::yield_now();
    }
}

fn requests(random: &mut Random, count: usize, filtered: bool) -> Vec<Request> {
    clustered(random, 0..count as u64)
        .iter()
        .map(|memory| {
            let mut request = Request::new(1, &memory.vectors[0]);
            if filtered {
                let tags_any = vec!["a", "b"];
                request.filter = Some(common::Filter { tags_any, ..Default::default() });
            }
            request
        })
        .collect()
}

fn ids(index: &Index, requests: &[Request], plan: &str) -> Vec<Vec<[u8; 16]>> {
    let outputs = index.search(&bytes(requests)).unwrap();
    assert!(outputs.iter().all(|output| output.plan == plan), "{}", outputs[0].plan);
    outputs.iter().map(|output| output.hits.iter().map(|hit| hit.id).collect()).collect()
}

fn recall(found: &[Vec<[u8; 16]>], exact: &[Vec<[u8; 16]>]) -> f64 {
    let hits = found.iter().zip(exact).map(|(f, e)| e.iter().filter(|id| f.contains(id)).count());
    hits.sum::<usize>() as f64 / exact.iter().map(Vec::len).sum::<usize>() as f64
}

#[test]
fn the_graph_finds_what_the_scan_finds() {
    let random = &mut Random::new(11);
    let memories = clustered(random, 0..8_000);
    let scanned = Index::open(None).unwrap();
    let graphed = Index::with_limits(None, limits(2_000)).unwrap();
    for index in [&scanned, &graphed] {
        index.create(1, DIMENSION, 0).unwrap();
        for (i, chunk) in memories.chunks(1_000).enumerate() {
            apply(index, 1, i as i64 + 1, chunk, &[]);
        }
        // some are replaced and some removed, which leaves dead rows in the graph
        apply(index, 1, 100, &memories[..300], &[id(400), id(401), id(402)]);
    }
    wait_for_graph(&graphed);
    for filtered in [false, true] {
        let requests = requests(random, 100, filtered);
        let recall = recall(&ids(&graphed, &requests, "graph"), &ids(&scanned, &requests, "scan"));
        assert!(recall >= 0.99, "recall {recall}, filtered: {filtered}");
    }
    let queries: Vec<u8> =
        memories[500..550].iter().flat_map(|memory| common::pack(&memory.vectors[0])).collect();
    let (found, exact) = (graphed.nearest(1, &queries, 5).unwrap(), scanned.nearest(1, &queries, 5).unwrap());
    for (i, (found, exact)) in found.iter().zip(&exact).enumerate() {
        assert_eq!(found[0].0, id(500 + i as u64));
        assert_eq!(found[0], exact[0]);
    }
}

#[test]
fn what_the_graph_does_not_hold_yet_is_found_all_the_same() {
    let random = &mut Random::new(12);
    let index = Index::with_limits(None, limits(1_000)).unwrap();
    index.create(1, DIMENSION, 0).unwrap();
    let memories = clustered(random, 0..3_000);
    for (seq, chunk) in memories.chunks(50).enumerate() {
        apply(&index, 1, seq as i64 + 1, chunk, &[]);
        let last = &chunk[49];
        let hits = &index.search(&bytes(&[Request::new(1, &last.vectors[0])])).unwrap()[0].hits;
        assert!(hits.iter().any(|hit| hit.id == last.record.id && hit.cosine > 0.999), "commit {seq}");
    }
}

#[test]
fn a_window_is_searched_even_where_the_rest_outranks_it() {
    let random = &mut Random::new(13);
    let index = Index::with_limits(None, limits(1_000)).unwrap();
    index.create(1, DIMENSION, 0).unwrap();
    apply(&index, 1, 1, &clustered(random, 0..4_000), &[]);
    wait_for_graph(&index);
    for request in &mut requests(random, 20, false) {
        request.window = Some((Some(1_000), Some(1_020)));
        let output = index.search(&bytes(std::slice::from_ref(request))).unwrap().remove(0);
        assert_eq!(output.plan, "graph");
        let inside = output.hits.iter().filter(|hit| (1_000..1_020).contains(&hit.event_time)).count();
        assert_eq!(inside, 10, "the window holds 20 memories, top_k is 10");
    }
}

#[test]
fn a_snapshot_keeps_the_graph() {
    let directory = std::env::temp_dir().join(format!("rust-core-graph-{}", std::process::id()));
    let random = &mut Random::new(14);
    let index = Index::with_limits(Some(directory.clone()), limits(1_000)).unwrap();
    index.create(1, DIMENSION, 0).unwrap();
    apply(&index, 1, 7, &clustered(random, 0..3_000), &[]);
    wait_for_graph(&index);
    index.snapshot(1).unwrap();
    let again = Index::with_limits(Some(directory.clone()), limits(1_000)).unwrap();
    assert_eq!(again.load(1, DIMENSION).unwrap(), Some(7));
    assert_eq!(again.status(1).unwrap().in_graph, 3_000);
    let requests = requests(random, 50, false);
    assert_eq!(ids(&again, &requests, "graph"), ids(&index, &requests, "graph"));
    assert_eq!(again.digest(1).unwrap(), index.digest(1).unwrap());
    apply(&again, 1, 8, &clustered(random, 3_000..3_500), &[]);
    wait_for_graph(&again);
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn writers_searches_and_snapshots_get_along() {
    let directory = std::env::temp_dir().join(format!("rust-core-stress-{}", std::process::id()));
    let index = Index::with_limits(Some(directory.clone()), limits(500)).unwrap();
    for collection in [1, 2] {
        index.create(collection, DIMENSION, 0).unwrap();
        apply(&index, collection, 1, &clustered(&mut Random::new(collection), 0..600), &[]);
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for worker in 0..8u64 {
            let (index, done) = (&index, &done);
            scope.spawn(move || {
                let random = &mut Random::new(100 + worker);
                while !done.load(Ordering::Relaxed) {
                    let mut batch = requests(random, 4, worker % 2 == 0);
                    let mut order = [1, 2];
                    order.rotate_left(worker as usize % 2);
                    for request in &mut batch {
                        let target = request.targets[0].clone();
                        request.targets =
                            order.map(|collection| common::Target { collection, ..target.clone() }).to_vec();
                    }
                    for output in index.search(&bytes(&batch)).unwrap() {
                        assert_eq!(output.hits.len(), 10);
                        assert!(output.hits.iter().all(|hit| hit.score.is_finite()));
                    }
                }
            });
        }
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                index.snapshot(1).unwrap();
                index.snapshot(2).unwrap();
            }
        });
        let random = &mut Random::new(77);
        for seq in 2..=60 {
            for collection in [1, 2] {
                let first = random.below(1_500) as u64;
                let removes: Vec<_> = (0..20).map(|_| id(random.below(1_500) as u64)).collect();
                apply(&index, collection, seq, &clustered(random, first..first + 60), &removes);
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    for collection in [1, 2] {
        index.snapshot(collection).unwrap();
        let again = Index::with_limits(Some(directory.clone()), limits(500)).unwrap();
        assert_eq!(again.load(collection, DIMENSION).unwrap(), Some(60));
        assert_eq!(again.digest(collection).unwrap(), index.digest(collection).unwrap());
    }
    std::fs::remove_dir_all(directory).unwrap();
}
