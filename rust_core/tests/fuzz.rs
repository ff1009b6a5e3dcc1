//! Damaged and random input for the decoders: it is refused or read, and never ends in a panic. A fixed number
//! of seeds in a test run; SILTSTONE_FUZZ_SEEDS=100000 goes on for a while.

mod common;

use std::fs;

use common::{Memory, Random, Request, apply, bytes, id};
use rust_core::collection::Limits;
use rust_core::index::Index;
use rust_core::types::Include;
use xxhash_rust::xxh3::xxh3_128;

fn seeds() -> u64 {
    std::env::var("SILTSTONE_FUZZ_SEEDS").map_or(300, |seeds| seeds.parse().expect("a number of seeds"))
}

/// Flips, overwrites, cuts out or repeats a few bytes.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..1 + random.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        let end = bytes.len().min(at + 1 + random.below(16));
        match random.below(5) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.pick(&[0, 1, 0x7f, 0x80, 0xc0, 0xdf, 0xff]),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            _ => bytes[at..end].iter_mut().for_each(|byte| *byte = random.next() as u8),
        }
    }
}

#[test]
fn a_damaged_filter_or_request_is_refused_or_read() {
    let index = Index::open(None).unwrap();
    index.create(1, 4, 0).unwrap();
    let memories: Vec<Memory> = (0..20).map(|n| Memory::random(&mut Random::new(n), n, 4)).collect();
    apply(&index, 1, 1, &memories, &[]);
    let mut filter = common::Filter { tags_any: vec!["db", "数据"], ..Default::default() };
    filter.attributes.insert("mysql", [("gte", "8.0"), ("lt", "9.1-rc1")].into());
    filter.event_time = Some([("gt", 5), ("lte", 900_000)].into());
    filter.confidence = Some([("gte", 0.25)].into());
    filter.not = Some(Box::new(filter.clone()));
    filter.any_of = vec![filter.clone(), common::Filter::default()];
    let mut request = Request::new(1, &[1.0, 0.5, -0.5, 0.25]);
    request.filter = Some(filter.clone());
    request.text = "数据库 timeout".to_owned();
    let (filter, request) = (rmp_serde::to_vec_named(&filter).unwrap(), bytes(&[request]));
    let mut read = 0;
    for seed in 0..seeds() {
        let random = &mut Random::new(seed);
        let (mut filter, mut request) = (filter.clone(), request.clone());
        damage(random, &mut filter);
        damage(random, &mut request);
        read += u64::from(index.select(1, &filter, 0, Include::ALL).is_ok());
        read += u64::from(index.search(&request).is_ok());
    }
    assert!(read > 0 && read < 2 * seeds(), "{read} of {} were read", 2 * seeds());
}

#[test]
fn a_damaged_snapshot_with_a_right_checksum_is_refused_or_read() {
    let directory = std::env::temp_dir().join(format!("rust-core-fuzz-{}", std::process::id()));
    let limits = Limits { graph_from: 50, scan_allowed: 10, few: 10 };
    let index = Index::with_limits(Some(directory.clone()), limits).unwrap();
    index.create(1, 4, 0).unwrap();
    let memories: Vec<Memory> = (0..80).map(|n| Memory::random(&mut Random::new(n), n, 4)).collect();
    apply(&index, 1, 1, &memories, &[]);
    apply(&index, 1, 2, &[], &[id(3), id(4)]);
    while index.status(1).unwrap().in_graph < index.status(1).unwrap().vectors {
        std::thread::yield_now();
    }
    index.snapshot(1).unwrap();
    let file = directory.join("1.snap");
    let whole = fs::read(&file).unwrap();
    let mut request = Request::new(1, &[1.0, 0.5, -0.5, 0.25]);
    request.text = "数据库 timeout".to_owned();
    let request = bytes(&[request]);
    let mut read = 0;
    for seed in 0..seeds() {
        let random = &mut Random::new(seed);
        let mut payload = whole[..whole.len() - 16].to_vec();
        damage(random, &mut payload);
        let checksum = xxh3_128(&payload).to_le_bytes();
        payload.extend(checksum);
        fs::write(&file, payload).unwrap();
        let again = Index::with_limits(Some(directory.clone()), limits).unwrap();
        if again.load(1, 4).is_ok_and(|seq| seq.is_some()) {
            read += 1;
            again.search(&request).unwrap();
            again.nearest(1, &common::pack(&[1.0, 0.5, -0.5, 0.25]), 5).unwrap();
            again.digest(1).unwrap();
        }
    }
    assert!(read > 0 && read < seeds(), "{read} of {} were read", seeds());
    fs::remove_dir_all(directory).unwrap();
}
