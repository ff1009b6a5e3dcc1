//! The core against a dictionary and the formulas of the score in plain code.

mod common;

use std::collections::BTreeMap;

use common::{
    BALANCED, Filter, Memory, NOW, Random, Request, TAGS, Target, WORDS, Weights, apply, bytes, id, pack,
};
use rust_core::collection::Limits;
use rust_core::index::Index;
use rust_core::lexical::Lexical;
use rust_core::types::{Hit, Id, Value};
use serde_bytes::ByteBuf;

const DIMENSION: usize = 6;

type Dictionary = BTreeMap<Id, Memory>;

fn matches(filter: &Filter, memory: &Memory) -> bool {
    let record = &memory.record;
    let has = |tag: &&str| record.tags.iter().any(|own| own == tag);
    let within = |bounds: &BTreeMap<&'static str, f64>, x: f64| {
        bounds.iter().all(|(name, bound)| match *name {
            "gt" => x > *bound,
            "gte" => x >= *bound,
            "lt" => x < *bound,
            _ => x <= *bound,
        })
    };
    (filter.tags_any.is_empty() || filter.tags_any.iter().any(has))
        && filter.tags_all.iter().all(has)
        && (filter.task_type.is_empty() || filter.task_type.contains(&record.task_type.as_str()))
        && (filter.ids.is_empty() || filter.ids.iter().any(|id| id.as_slice() == record.id))
        && filter.attributes.iter().all(|(name, bounds)| match record.attributes.get(*name) {
            Some(Value::Text(version)) => bounds.iter().all(|(bound_name, bound)| {
                let order = rank(version).cmp(&rank(bound));
                match *bound_name {
                    "gte" => order.is_ge(),
                    "lt" => order.is_lt(),
                    _ => version == bound,
                }
            }),
            _ => false,
        })
        && filter.event_time.as_ref().is_none_or(|bounds| {
            let bounds = bounds.iter().map(|(name, bound)| (*name, *bound as f64)).collect();
            within(&bounds, record.event_time as f64)
        })
        && filter.confidence.as_ref().is_none_or(|bounds| within(bounds, record.confidence))
        && filter.not.as_ref().is_none_or(|inner| !matches(inner, memory))
        && (filter.any_of.is_empty() || filter.any_of.iter().any(|inner| matches(inner, memory)))
}

/// The versions that occur, in their order.
fn rank(version: &str) -> usize {
    ["5.7", "8.0", "8.0.4", "8.0.30", "9.1-rc1", "9.1"].iter().position(|known| *known == version).unwrap()
}

fn random_filter(random: &mut Random, depth: usize) -> Filter {
    let mut filter = Filter::default();
    match random.below(if depth < 3 { 9 } else { 7 }) {
        0 => filter.tags_any = vec![random.pick(&TAGS), random.pick(&TAGS)],
        1 => filter.tags_all = vec![random.pick(&TAGS), random.pick(&TAGS)],
        2 => filter.task_type = vec![random.pick(&["fix", "deploy", "nothing"])],
        3 => {
            filter.event_time =
                Some([(random.pick(&["gt", "gte", "lt", "lte"]), random.below(NOW as usize) as i64)].into())
        }
        4 => filter.confidence = Some([("gte", random.unit() * 0.5), ("lt", 0.9)].into()),
        5 => {
            let bounds = random.pick(&[[("gte", "8.0"), ("lt", "9.1")], [("eq", "8.0"), ("gte", "8.0")]]);
            filter.attributes = [("mysql", bounds.into())].into();
        }
        6 => filter.ids = (0..20).map(|_| ByteBuf::from(id(random.below(120) as u64))).collect(),
        7 => filter.not = Some(Box::new(random_filter(random, depth + 1))),
        _ => filter.any_of = (0..3).map(|_| random_filter(random, depth + 1)).collect(),
    }
    filter
}

fn unit(vector: &[f32]) -> Vec<f64> {
    let length = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    vector.iter().map(|x| f64::from(*x) / length).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Every allowed memory with its hit, scored by the formulas, best first.
fn expected(worlds: &[(u64, &Dictionary)], request: &Request, query: &[f32]) -> Vec<Hit> {
    let query = unit(query);
    let weights = request.weights;
    let has_vector = request.targets[0].vector.is_some();
    let (mut sum, mut rows, mut memories) = (0.0, 0, 0);
    for (_, world) in worlds {
        for memory in world.values() {
            memories += 1;
            for vector in &memory.vectors {
                sum += dot(&query, &unit(vector));
                rows += 1;
            }
        }
    }
    let mean = if rows == 0 { 0.0 } else { sum / f64::from(rows) };
    let n = f64::from(memories);
    let mu = ((n * mean + 50.0 * request.targets[0].background) / (n + 50.0)).min(0.95);

    let visible = |memory: &Memory| {
        (request.include_superseded || memory.record.superseded_by.is_empty())
            && (request.include_refuted || memory.record.verification != "REFUTED")
            && (request.include_expired || memory.record.valid_until.is_none_or(|end| end > NOW))
    };
    let allowed = |memory: &Memory| {
        visible(memory) && request.filter.as_ref().is_none_or(|filter| matches(filter, memory))
    };

    let mut bm25: Vec<BTreeMap<Id, f64>> = Vec::new();
    let (mut best, mut ideal) = (0.0f64, 0.0f64);
    for (_, world) in worlds {
        let mut lexical = Lexical::default();
        for (slot, memory) in world.values().enumerate() {
            lexical.add(slot as u32, &memory.record.content);
        }
        let text = lexical.query(&request.text);
        ideal = ideal.max(f64::from(lexical.ideal(&text)));
        let ids: Vec<Id> = world.keys().copied().collect();
        let scores: BTreeMap<Id, f64> = lexical
            .scores(&text, None)
            .into_iter()
            .map(|(slot, score)| (ids[slot as usize], f64::from(score)))
            .collect();
        for (id, score) in &scores {
            if allowed(&world[id]) {
                best = best.max(*score);
            }
        }
        bm25.push(scores);
    }
    let scale = best.max(0.5 * ideal);

    let mut hits = Vec::new();
    for ((number, world), bm25) in worlds.iter().zip(&bm25) {
        let cosine = |memory: &Memory| -> (f64, u32) {
            let mut best = (f64::NEG_INFINITY, 0);
            for (i, vector) in memory.vectors.iter().enumerate() {
                let cosine = dot(&query, &unit(vector));
                if cosine > best.0 {
                    best = (cosine, i as u32);
                }
            }
            if has_vector { best } else { (0.0, 0) }
        };
        let lexical = |memory: &Memory| match bm25.get(&memory.record.id) {
            Some(score) if scale > 0.0 => (score / scale).min(1.0),
            _ => 0.0,
        };
        let alone = |memory: &Memory| {
            let cosine = cosine(memory).0;
            let similarity = match weights.calibrate && has_vector {
                true => ((cosine.max(0.0) - mu) / (1.0 - mu)).clamp(0.0, 1.0),
                false => cosine.clamp(0.0, 1.0),
            };
            1.0 - (1.0 - similarity) * (1.0 - weights.lexical * lexical(memory))
        };
        let mut runs: BTreeMap<&str, Vec<(i64, Id)>> = BTreeMap::new();
        for memory in world.values().filter(|memory| visible(memory)) {
            if let Some((sequence, position)) = memory.record.place() {
                runs.entry(sequence).or_default().push((position, memory.record.id));
            }
        }
        runs.values_mut().for_each(|run| run.sort_unstable());
        for memory in world.values().filter(|memory| allowed(memory)) {
            let record = &memory.record;
            let mut unsupported = 1.0;
            if let Some((sequence, position)) = record.place() {
                let run = &runs[sequence];
                let at = run.iter().position(|entry| *entry == (position, record.id)).unwrap() as i64;
                for (step, weight) in [(-1, 1.0), (1, 1.0), (-2, 1.0 / 3.0), (2, 1.0 / 3.0)] {
                    if let Some((_, near)) = usize::try_from(at + step).ok().and_then(|i| run.get(i)) {
                        unsupported *= 1.0 - weights.neighbours * weight * alone(&world[near]);
                    }
                }
            }
            let support = 1.0 - unsupported;
            let age = (NOW - record.event_time).max(0) as f64;
            let (cosine, passage) = cosine(memory);
            hits.push(Hit {
                collection: *number,
                id: record.id,
                score: 0.0,
                similarity: 1.0 - (1.0 - alone(memory)) * (1.0 - support),
                gate: 1.0,
                recency: 0.5f64.powf(age / weights.half_life as f64),
                confidence: record.confidence,
                cosine,
                lexical: lexical(memory),
                support,
                passage,
                in_window: request.window.is_some_and(|(start, end)| {
                    start.is_none_or(|start| record.event_time >= start)
                        && end.is_none_or(|end| record.event_time < end)
                }),
                event_time: record.event_time,
            });
        }
    }
    let best = hits.iter().map(|hit| hit.similarity).fold(0.0, f64::max);
    for hit in &mut hits {
        if weights.gate > 0.0 && best > 0.0 {
            hit.gate = (hit.similarity / best).powf(weights.gate);
        }
        hit.score = weights.similarity * hit.similarity
            + hit.gate * (weights.recency * hit.recency + weights.confidence * hit.confidence);
    }
    hits.retain(|hit| request.min_score.is_none_or(|least| hit.score >= least));
    hits.sort_by(|a, b| b.in_window.cmp(&a.in_window).then(b.score.total_cmp(&a.score)));
    hits
}

fn assert_same(found: &[Hit], expected: &[Hit], top_k: usize, note: &str) {
    assert_eq!(found.len(), expected.len().min(top_k), "{note}");
    // a cosine is rounded by up to 4e-5; the gate's power and weights above one make more of it
    let close = |a: f64, b: f64| (a - b).abs() < 2e-4;
    let about = |a: f64, b: f64| (a - b).abs() < 2e-3;
    for (place, hit) in found.iter().enumerate() {
        // near-equal scores may change places through rounding, so places compare by score, parts by id
        let there = &expected[place];
        assert!(
            hit.in_window == there.in_window && about(hit.score, there.score),
            "{note}: place {place}: {hit:?} but {there:?}"
        );
        let own = expected.iter().find(|own| own.id == hit.id && own.collection == hit.collection);
        let own = own.unwrap_or_else(|| panic!("{note}: {hit:?} is not allowed"));
        let same = about(hit.score, own.score)
            && close(hit.similarity, own.similarity)
            && about(hit.gate, own.gate)
            && close(hit.recency, own.recency)
            && close(hit.confidence, own.confidence)
            && (hit.cosine - own.cosine).abs() < 4e-5
            && close(hit.lexical, own.lexical)
            && close(hit.support, own.support)
            && hit.passage == own.passage;
        assert!(same, "{note}: {hit:?} but {own:?}");
        for before in &found[..place] {
            assert!(before.id != hit.id || before.collection != hit.collection, "{note}: {hit:?} twice");
        }
    }
}

fn random_request(random: &mut Random, query: &[f32]) -> Request {
    let mut request = Request::new(1, query);
    if random.chance(0.5) {
        let second = Target { collection: 2, ..request.targets[0].clone() };
        request.targets.push(second);
    }
    if random.chance(0.2) {
        request.targets.iter_mut().for_each(|target| target.vector = None);
    }
    if random.chance(0.6) {
        request.text = format!("{} {}", random.pick(&WORDS), random.pick(&WORDS));
    }
    if random.chance(0.6) {
        request.filter = Some(random_filter(random, 0));
    }
    if random.chance(0.5) {
        request.weights = Weights {
            similarity: random.unit(),
            recency: random.unit(),
            confidence: random.unit(),
            lexical: random.pick(&[0.0, 0.4, 1.0]),
            neighbours: random.pick(&[0.0, 0.3, 0.9]),
            gate: random.pick(&[0.0, 2.0, 6.0]),
            calibrate: random.chance(0.5),
            half_life: 1 + random.below(NOW as usize) as i64,
        };
    }
    request.top_k = random.pick(&[1, 3, 10, 1000]);
    request.min_score = random.chance(0.2).then(|| random.unit() * 0.5);
    request.include_superseded = random.chance(0.3);
    request.include_expired = random.chance(0.3);
    request.include_refuted = random.chance(0.3);
    if random.chance(0.3) {
        let start = random.below(NOW as usize) as i64;
        request.window =
            Some((random.chance(0.8).then_some(start), random.chance(0.8).then_some(start + 200_000)));
    }
    request
}

#[test]
fn every_search_gives_what_the_formulas_give_over_a_dictionary() {
    let mut compared = 0;
    for seed in 0..30 {
        let random = &mut Random::new(seed);
        // with none counted as few, every scan goes by the rounded cosines first
        let few = if seed % 2 == 0 { 0 } else { Limits::default().few };
        let index = Index::with_limits(None, Limits { few, ..Limits::default() }).unwrap();
        let mut worlds = [Dictionary::new(), Dictionary::new()];
        index.create(1, DIMENSION, 0).unwrap();
        index.create(2, DIMENSION, 0).unwrap();
        for seq in 1..=12 {
            for (w, world) in worlds.iter_mut().enumerate() {
                let mut puts: Vec<Memory> = Vec::new();
                for _ in 0..random.below(20) {
                    let number = random.below(120) as u64 + 1000 * w as u64;
                    puts.push(Memory::random(random, number, DIMENSION));
                }
                let removes: Vec<Id> =
                    (0..random.below(8)).map(|_| id(random.below(120) as u64 + 1000 * w as u64)).collect();
                apply(&index, w as u64 + 1, seq, &puts, &removes);
                for id in &removes {
                    world.remove(id);
                }
                for put in puts {
                    world.insert(put.record.id, put);
                }
            }
            let mut requests = Vec::new();
            let mut queries = Vec::new();
            for _ in 0..6 {
                let query = random.vector(DIMENSION);
                requests.push(random_request(random, &query));
                queries.push(query);
            }
            let outputs = index.search(&bytes(&requests)).unwrap();
            for ((request, query), output) in requests.iter().zip(&queries).zip(&outputs) {
                let searched: Vec<(u64, &Dictionary)> = request
                    .targets
                    .iter()
                    .map(|target| (target.collection, &worlds[target.collection as usize - 1]))
                    .collect();
                let expected = expected(&searched, request, query);
                compared += expected.iter().filter(|hit| hit.support > 0.0 && hit.lexical > 0.0).count();
                assert_same(&output.hits, &expected, request.top_k, &format!("seed {seed} seq {seq}"));
            }
        }
        for (w, world) in worlds.iter().enumerate() {
            assert_eq!(index.status(w as u64 + 1).unwrap().memories, world.len() as u64);
            let rebuilt = Index::open(None).unwrap();
            rebuilt.create(9, DIMENSION, 0).unwrap();
            let memories: Vec<Memory> = world.values().rev().cloned().collect();
            apply(&rebuilt, 9, 1, &memories, &[]);
            assert_eq!(index.digest(w as u64 + 1).unwrap(), rebuilt.digest(9).unwrap(), "seed {seed}");
        }
    }
    assert!(compared > 5_000, "only {compared} hits with every part were compared");
}

#[test]
fn plain_weights_give_the_plain_formula_to_a_millionth() {
    let random = &mut Random::new(7);
    let index = Index::open(None).unwrap();
    index.create(1, 384, 0).unwrap();
    let memories: Vec<Memory> = (0..200).map(|number| Memory::random(random, number, 384)).collect();
    apply(&index, 1, 1, &memories, &[]);
    let query = random.vector(384);
    let mut request = Request::new(1, &query);
    request.weights = Weights { lexical: 0.0, neighbours: 0.0, gate: 0.0, calibrate: false, ..BALANCED };
    request.text = "mysql".to_owned();
    request.top_k = 200;
    let output = index.search(&bytes(&[request])).unwrap().remove(0);
    assert!(output.hits.len() > 50);
    for hit in &output.hits {
        let plain = 0.5 * hit.cosine.max(0.0) + 0.3 * hit.recency + 0.2 * hit.confidence;
        assert!((hit.score - plain).abs() < 1e-12, "{hit:?}");
        let memory = memories.iter().find(|memory| memory.record.id == hit.id).unwrap();
        let cosine =
            memory.vectors.iter().map(|vector| dot(&unit(&query), &unit(vector))).fold(-1.0, f64::max);
        assert!((hit.cosine - cosine).abs() < 2e-5, "{hit:?}");
    }
}

#[test]
fn ties_go_to_the_newer_then_to_the_smaller_id() {
    let random = &mut Random::new(3);
    let index = Index::open(None).unwrap();
    index.create(1, DIMENSION, 0).unwrap();
    let vector = random.vector(DIMENSION);
    let memories: Vec<Memory> = [(5, 100), (3, 100), (4, 200), (1, 50)]
        .into_iter()
        .map(|(number, event_time)| {
            let mut memory = Memory::random(random, number, DIMENSION);
            memory.record = rust_core::types::Record {
                id: id(number),
                event_time,
                confidence: 0.5,
                ..Default::default()
            };
            memory.vectors = vec![vector.clone()];
            memory
        })
        .collect();
    apply(&index, 1, 1, &memories, &[]);
    let mut request = Request::new(1, &vector);
    request.weights.recency = 0.0;
    let hits = index.search(&bytes(&[request])).unwrap().remove(0).hits;
    let ids: Vec<Id> = hits.iter().map(|hit| hit.id).collect();
    assert_eq!(ids, [id(4), id(3), id(5), id(1)]);
}

#[test]
fn an_update_never_grows_a_collection_without_bound() {
    let random = &mut Random::new(5);
    let index = Index::open(None).unwrap();
    index.create(1, DIMENSION, 0).unwrap();
    let mut memories: Vec<Memory> = (0..50).map(|number| Memory::random(random, number, DIMENSION)).collect();
    for seq in 1..=60 {
        for memory in &mut memories {
            memory.record.confidence = random.unit();
        }
        apply(&index, 1, seq, &memories, &[]);
        let status = index.status(1).unwrap();
        assert_eq!(status.memories, 50);
        assert!(status.removed <= 1_000, "{status:?}");
    }
    assert_eq!(
        index.vectors_of(1, &id(49)).unwrap().unwrap().len(),
        pack(&memories[49].vectors.concat()).len()
    );
}
