use roaring::RoaringBitmap;

use super::*;

fn index(texts: &[&str]) -> Lexical {
    let mut lexical = Lexical::default();
    for (slot, text) in (0..).zip(texts) {
        lexical.add(slot, text);
    }
    lexical
}

fn hits(lexical: &Lexical, query: &str) -> Vec<u32> {
    let query = lexical.query(query);
    lexical.top(&query, None, 10).into_iter().map(|(slot, _)| slot).collect()
}

/// xorshift64: the same collection on each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    /// Words with frequencies as in language: few common, many rare, some Chinese.
    fn text(&mut self, words: usize) -> String {
        let mut text = String::new();
        for _ in 0..words {
            let (bound, chinese) = (1 + self.below(400), self.below(4) == 0);
            let word = self.below(bound) as u32;
            if chinese {
                text.extend(char::from_u32(0x4e00 + word % 40));
            } else {
                text.push_str(&format!(" w{word}x "));
            }
        }
        text
    }
}

#[test]
fn scores_follow_the_formula() {
    let lexical = index(&["alpha beta beta", "alpha gamma", "delta"]);
    let query = lexical.query("beta");
    // N = 3, df = 1, tf = 2, length 3, average 2.
    let idf = (1.0f32 + 2.5 / 1.5).ln();
    let expected = idf * 2.0 * 2.2 / (2.0 + 1.2 * (0.25 + 0.75 * 1.5));
    let (slot, score) = lexical.top(&query, None, 1)[0];
    assert_eq!(slot, 0);
    assert!((score - expected).abs() < 1e-5, "{score} {expected}");
    assert!((lexical.ideal(&query) - idf).abs() < 1e-6);
}

#[test]
fn the_ideal_counts_words_that_no_memory_holds() {
    let lexical = index(&["alpha beta", "gamma delta"]);
    let known = lexical.ideal(&lexical.query("alpha"));
    let both = lexical.ideal(&lexical.query("alpha unheard"));
    assert!(both > 2.0 * known);
    assert_eq!(lexical.ideal(&lexical.query(" ,。 ")), 0.0);
    assert!(lexical.query(" ,。 ").is_empty());
}

#[test]
fn inflected_english_words_are_found_by_each_other() {
    let lexical = index(&["connections were refused", "she is running late", "nothing here"]);
    assert_eq!(hits(&lexical, "connection refuses"), [0]);
    assert_eq!(hits(&lexical, "Run"), [1]);
}

#[test]
fn identifiers_are_found_whole_before_their_parts() {
    let texts = [
        "bind 0.0.0.0 in the settings",
        "bind 127.0.0.1 in the settings",
        "upgrade to mysql-8.0.30 now",
        "the MySQL 8 driver",
        "call foo_bar here",
        "foo and a bar",
        "use app.listen for it",
        "it got ECONNREFUSED",
        "tagged v1.2.3-rc1 today",
        "getUserName is slow",
        "written in C++ mostly",
        "C is a language",
    ];
    let lexical = index(&texts);
    let first = |query| hits(&lexical, query)[0];
    assert_eq!(first("0.0.0.0"), 0);
    assert_eq!(first("127.0.0.1"), 1);
    assert_eq!(first("mysql-8.0.30"), 2);
    assert_eq!(first("8.0.30"), 2);
    assert_eq!(first("foo_bar"), 4);
    assert_eq!(hits(&lexical, "bar"), [4, 5]);
    assert_eq!(first("listen"), 6);
    assert_eq!(first("econnrefused"), 7);
    assert_eq!(first("1.2.3"), 8);
    assert_eq!(first("user name"), 9);
    assert_eq!(first("c++"), 10);
}

#[test]
fn full_width_and_half_width_forms_are_one() {
    let lexical = index(&["端口是１２７,协议是ＨＴＴＰ", "port 80"]);
    assert_eq!(hits(&lexical, "127"), [0]);
    assert_eq!(hits(&lexical, "http"), [0]);
    assert_eq!(hits(&lexical, "８０"), [1]);
}

#[test]
fn chinese_is_found_by_pairs_and_by_single_characters() {
    let lexical = index(&["数据库连接超时", "猫很可爱", "据说仓库里有数字", "今天天气很好"]);
    assert_eq!(hits(&lexical, "数据库"), [0, 2]);
    assert_eq!(hits(&lexical, "猫"), [1]);
    assert_eq!(hits(&lexical, "连接数据库超时怎么办")[0], 0);
    let query = lexical.query("数据库");
    let top = lexical.top(&query, None, 2);
    assert!(top[0].1 > 5.0 * top[1].1, "{top:?}");
}

#[test]
fn other_scripts_are_found() {
    let lexical = index(&[
        "データベースの接続",
        "데이터베이스에 연결",
        "соединение с базой",
        "การเชื่อมต่อฐานข้อมูล",
        "नमस्ते दुनिया",
        "café ouvert",
        "ship it 🚀",
    ]);
    for (slot, query) in (0..).zip(["接続", "데이터베이스", "БАЗОЙ", "ฐานข้อมูล", "दुनिया", "CAFÉ", "🚀"])
    {
        assert_eq!(hits(&lexical, query), [slot], "{query}");
    }
}

#[test]
fn a_query_of_stop_words_alone_still_finds() {
    let lexical = index(&["to be or to have been", "alpha beta"]);
    assert_eq!(hits(&lexical, "to be"), [0]);
    assert_eq!(hits(&lexical, "to be alpha"), [1]);
}

#[test]
fn the_list_of_stop_words_is_sorted() {
    assert!(tokenize::STOP_WORDS.is_sorted());
}

#[test]
fn equal_scores_come_in_the_order_of_slots() {
    let lexical = index(&["same words", "other things", "same words", "same words"]);
    assert_eq!(hits(&lexical, "same"), [0, 2, 3]);
    let query = lexical.query("same");
    assert_eq!(lexical.top(&query, None, 2).len(), 2);
    assert!(lexical.top(&query, None, 0).is_empty());
}

#[test]
fn top_agrees_with_all_scores_whatever_is_allowed() {
    let mut random = Random(20_261_202);
    let mut lexical = Lexical::default();
    let slots = 3000;
    for slot in 0..slots {
        let words = 1 + random.below(30);
        lexical.add(slot, &random.text(words));
    }
    let few: RoaringBitmap = (0..slots).filter(|slot| slot % 97 == 5).collect();
    let half: RoaringBitmap = (0..slots).filter(|slot| slot % 2 == 1).collect();
    let none = RoaringBitmap::new();
    for round in 0..300 {
        let query = lexical.query(&random.text(1 + round % 9));
        for allowed in [None, Some(&few), Some(&half), Some(&none)] {
            let (slots, scores): (Vec<u32>, Vec<f32>) = lexical.scores(&query, allowed).into_iter().unzip();
            assert!(slots.is_sorted());
            let mut expected: Vec<(u32, f32)> = slots.into_iter().zip(scores).collect();
            assert!(expected.iter().all(|(slot, _)| allowed.is_none_or(|a| a.contains(*slot))));
            expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            for k in [1, 10, 5000] {
                let best: Vec<_> = expected.iter().copied().take(k).collect();
                assert_eq!(lexical.top(&query, allowed, k), best, "round {round}, k {k}");
            }
        }
    }
}

#[test]
fn a_rare_word_next_to_a_frequent_one_keeps_its_place() {
    let mut lexical = Lexical::default();
    for slot in 0..5000 {
        let rare = if slot % 500 == 7 { "zebra quagga okapi" } else { "" };
        lexical.add(slot, &format!("service {rare} log {}", "word ".repeat(slot as usize % 13)));
    }
    let query = lexical.query("zebra quagga okapi service");
    let (slots, scores): (Vec<u32>, Vec<f32>) = lexical.scores(&query, None).into_iter().unzip();
    let mut expected: Vec<(u32, f32)> = slots.into_iter().zip(scores).collect();
    expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    expected.truncate(5);
    assert_eq!(lexical.top(&query, None, 5), expected);
}

#[test]
fn removal_leaves_nothing_behind() {
    let texts = ["数据库 timeout v1.2", "timeout again, timeout", "", "完全不同的内容"];
    let mut lexical = index(&texts);
    let untouched = index(&["数据库 timeout v1.2"]);
    for slot in [1, 2, 3, 3, 99] {
        lexical.remove(slot);
    }
    assert_eq!(lexical.numbers.len(), untouched.numbers.len());
    assert_eq!(lexical.documents, 1);
    assert_eq!(lexical.total_length, untouched.total_length);
    let query = lexical.query("timeout");
    assert_eq!(lexical.top(&query, None, 9), untouched.top(&untouched.query("timeout"), None, 9));
    lexical.remove(0);
    assert!(lexical.numbers.is_empty());
    assert_eq!((lexical.documents, lexical.total_length, lexical.postings_bytes), (0, 0, 0));
    assert!(lexical.top(&lexical.query("timeout"), None, 9).is_empty());
}

#[test]
fn new_numbers_for_slots_change_no_answer_and_leave_no_room_behind() {
    let mut random = Random(5);
    let texts: Vec<String> = (0..100).map(|_| random.text(12)).collect();
    let mut lexical = Lexical::default();
    for (slot, text) in (0..).zip(&texts) {
        lexical.add(slot, text);
    }
    (0..100).filter(|slot| slot % 3 != 0).for_each(|slot| lexical.remove(slot));
    let mut fresh = Lexical::default();
    for (slot, text) in (0..).zip(texts.iter().step_by(3)) {
        fresh.add(slot, text);
    }
    let to: Vec<u32> = (0..100).map(|slot| if slot % 3 == 0 { slot / 3 } else { u32::MAX }).collect();
    let before = lexical.forward.len();
    lexical.renumber(&to);
    assert!(2 * lexical.forward.len() < before, "{} of {before} bytes", lexical.forward.len());
    assert_eq!(lexical.slots(), 34);
    lexical.remove(7);
    fresh.remove(7);
    for text in &texts {
        assert_eq!(lexical.scores(&lexical.query(text), None), fresh.scores(&fresh.query(text), None));
    }
}

#[test]
fn adding_to_a_slot_replaces_what_it_held() {
    let mut lexical = index(&["alpha", "beta"]);
    lexical.add(0, "gamma");
    assert!(hits(&lexical, "alpha").is_empty());
    assert_eq!(hits(&lexical, "gamma"), [0]);
    lexical.add(0, " ");
    assert!(hits(&lexical, "gamma").is_empty());
    assert_eq!(lexical.documents, 1);
}

#[test]
fn any_order_of_writes_gives_the_same_answers() {
    let mut random = Random(3);
    let texts: Vec<String> = (0..200).map(|at| random.text(at % 20 + 1)).collect();
    let mut straight = Lexical::default();
    let mut shuffled = Lexical::default();
    for (slot, text) in (0..).zip(&texts) {
        straight.add(slot, text);
        shuffled.add(slot ^ 127, "for a while only 占位");
    }
    for (slot, text) in (0..200).zip(&texts).rev() {
        shuffled.remove(slot);
        shuffled.add(slot, text);
    }
    for slot in 200..256 {
        shuffled.remove(slot);
    }
    for text in texts.iter().take(50) {
        let (a, b) = (straight.query(text), shuffled.query(text));
        assert_eq!(straight.scores(&a, None), shuffled.scores(&b, None));
    }
}

#[test]
fn a_snapshot_reads_back_as_what_was_written() {
    let mut random = Random(9);
    let mut lexical = Lexical::default();
    for slot in (0..400).step_by(2) {
        lexical.add(slot, &random.text(15));
    }
    lexical.add(401, &"repeat ".repeat(500));
    let bytes = rmp_serde::to_vec(&lexical).unwrap();
    let read: Lexical = rmp_serde::from_slice(&bytes).unwrap();
    assert_eq!(rmp_serde::to_vec(&read).unwrap(), bytes);
    let query = lexical.query("repeat w1x w2x 一丁");
    assert_eq!(read.scores(&read.query("repeat w1x w2x 一丁"), None), lexical.scores(&query, None));
    assert!(read.bytes() > 0 && read.bytes() <= lexical.bytes());
}

#[test]
fn a_damaged_snapshot_is_refused_or_answers_without_a_panic() {
    let bytes = rmp_serde::to_vec(&index(&["alpha beta alpha", "beta gamma", "数据库"])).unwrap();
    let mut refused = 0;
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            match rmp_serde::from_slice::<Lexical>(&damaged) {
                Ok(lexical) => drop(lexical.scores(&lexical.query("alpha beta gamma 数据库"), None)),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 0);
    assert!(rmp_serde::from_slice::<Lexical>(&bytes[..bytes.len() - 1]).is_err());
}
