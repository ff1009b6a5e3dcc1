//! The score of a memory and its parts, each 0..1.
//!
//! `score = w_similarity · similarity + gate · (w_recency · recency + w_confidence · confidence)`; README.md
//! says what each part is. All arithmetic is f64.

use crate::error::{Error, Result};
use crate::types::Weights;

/// Memories that the model's usual background counts for when it is blended with the measured one.
const BACKGROUND_WEIGHT: f64 = 50.0;
const BACKGROUND_CAP: f64 = 0.95;
/// A best lexical match below this share of the ideal one is not a full match.
const IDEAL_SHARE: f64 = 0.5;

/// The cosine that this query has with anything: `mean`, its mean dot product with the vectors of the `n` live
/// memories searched, blended with the model's usual background; at most 0.95.
pub fn query_background(mean: f64, n: u64, usual: f64) -> f64 {
    let n = n as f64;
    let blended = (n * mean + BACKGROUND_WEIGHT * usual) / (n + BACKGROUND_WEIGHT);
    blended.min(BACKGROUND_CAP)
}

/// What a BM25 score is divided by: the best allowed one, or half of the ideal where that is more.
pub fn lexical_scale(best_allowed: f64, ideal: f64) -> f64 {
    best_allowed.max(IDEAL_SHARE * ideal)
}

/// How a query turns cosines and BM25 scores into similarities.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// None: plain cosines.
    pub background: Option<f64>,
    pub lexical: f64,
    pub weights: Weights,
}

impl Scale {
    pub fn lexical(&self, bm25: f64) -> f64 {
        if self.lexical > 0.0 { (bm25 / self.lexical).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The similarity before neighbours: the calibrated cosine, raised by the lexical match (0..1).
    pub fn alone(&self, cosine: f64, lexical: f64) -> f64 {
        let similarity = match self.background {
            Some(background) => ((cosine.max(0.0) - background) / (1.0 - background)).clamp(0.0, 1.0),
            None => cosine.clamp(0.0, 1.0),
        };
        // β may be above 1; a similarity may not
        let raised = 1.0 - (1.0 - similarity) * (1.0 - self.weights.lexical * lexical);
        raised.clamp(0.0, 1.0)
    }

    /// Support by the neighbours in a sequence, given their similarities alone: two at distance one, then two
    /// at distance two.
    pub fn support(&self, neighbours: [f64; 4]) -> f64 {
        let near = self.weights.neighbours;
        let far = near / 3.0;
        let [a, b, c, d] = neighbours;
        let without = |weight: f64, similarity: f64| (1.0 - weight * similarity).max(0.0);
        1.0 - without(near, a) * without(near, b) * without(far, c) * without(far, d)
    }
}

pub fn similarity(alone: f64, support: f64) -> f64 {
    1.0 - (1.0 - alone) * (1.0 - support)
}

/// `0.5 ^ (age / half_life)`; the future has age 0.
pub fn recency(event_time: i64, now: i64, half_life: i64) -> f64 {
    let age = (now as f64 - event_time as f64).max(0.0);
    (-age / half_life as f64).exp2()
}

/// The relevance gate: `(similarity / best) ^ γ`.
pub fn gate(similarity: f64, best: f64, gamma: f64) -> f64 {
    if gamma == 0.0 || best <= 0.0 {
        return 1.0;
    }
    let share = similarity / best;
    // whole powers are a few products, and this runs for every candidate
    if gamma.fract() == 0.0 && gamma <= 16.0 { share.powi(gamma as i32) } else { share.powf(gamma) }
}

/// The whole score from its parts.
pub fn score(weights: &Weights, similarity: f64, gate: f64, recency: f64, confidence: f64) -> f64 {
    weights.similarity * similarity + gate * (weights.recency * recency + weights.confidence * confidence)
}

/// Refuses weights that are not finite or negative.
pub fn check(weights: &Weights, path: &str) -> Result<()> {
    let numbers = [
        ("similarity", weights.similarity),
        ("recency", weights.recency),
        ("confidence", weights.confidence),
        ("lexical", weights.lexical),
        ("neighbours", weights.neighbours),
        ("gate", weights.gate),
    ];
    for (name, value) in numbers {
        if !value.is_finite() || value < 0.0 {
            let why = format!("{value}; a weight must be finite and not negative");
            return Err(Error::invalid(&format!("{path}.{name}"), why));
        }
    }
    if weights.half_life <= 0 {
        let why = format!("{}; must be above 0 microseconds", weights.half_life);
        return Err(Error::invalid(&format!("{path}.half_life"), why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Weights = Weights {
        similarity: 0.5,
        recency: 0.3,
        confidence: 0.2,
        lexical: 0.0,
        neighbours: 0.0,
        gate: 0.0,
        calibrate: false,
        half_life: 1_000,
    };

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    }

    #[test]
    fn plain_weights_give_the_plain_formula() {
        let scale = Scale { background: None, lexical: 0.0, weights: PLAIN };
        let similarity = similarity(scale.alone(0.8, 1.0), scale.support([1.0; 4]));
        close(similarity, 0.8);
        let gate = gate(similarity, 1.0, PLAIN.gate);
        close(score(&PLAIN, similarity, gate, recency(0, 1_000, 1_000), 0.7), 0.4 + 0.15 + 0.14);
        close(scale.alone(-0.4, 0.0), 0.0);
    }

    #[test]
    fn calibration_maps_the_background_to_zero_and_one_to_one() {
        let scale = Scale { background: Some(0.8), lexical: 1.0, weights: PLAIN };
        close(scale.alone(0.8, 0.0), 0.0);
        close(scale.alone(0.9, 0.0), 0.5);
        close(scale.alone(1.0, 0.0), 1.0);
        close(scale.alone(0.3, 0.0), 0.0);
    }

    #[test]
    fn the_usual_background_fades_with_the_number_of_memories() {
        close(query_background(0.2, 0, 0.6), 0.6);
        close(query_background(0.2, 50, 0.6), 0.4);
        close(query_background(1.0, 1_000_000, 0.6), 0.95);
    }

    #[test]
    fn a_weak_best_match_is_no_full_match() {
        let scale = Scale { background: None, lexical: lexical_scale(1.0, 8.0), weights: PLAIN };
        close(scale.lexical(1.0), 0.25);
        close(scale.lexical(100.0), 1.0);
        let nothing = Scale { lexical: lexical_scale(0.0, 0.0), ..scale };
        close(nothing.lexical(0.0), 0.0);
    }

    #[test]
    fn neighbours_support_by_distance() {
        let weights = Weights { neighbours: 0.3, ..PLAIN };
        let scale = Scale { background: None, lexical: 0.0, weights };
        close(scale.support([1.0, 0.0, 0.0, 0.0]), 0.3);
        close(scale.support([0.0, 0.0, 0.0, 1.0]), 0.1);
        close(scale.support([1.0, 1.0, 0.0, 0.0]), 0.51);
    }

    #[test]
    fn the_future_has_age_zero_and_extreme_times_stay_in_range() {
        close(recency(2_000, 1_000, 500), 1.0);
        close(recency(500, 1_000, 500), 0.5);
        close(recency(i64::MIN, i64::MAX, 1), 0.0);
        close(recency(i64::MAX, i64::MIN, i64::MAX), 1.0);
    }

    #[test]
    fn the_gate_is_one_without_relevance_or_without_gamma() {
        close(gate(0.0, 0.0, 6.0), 1.0);
        close(gate(0.0, 0.5, 0.0), 1.0);
        close(gate(0.25, 0.5, 2.0), 0.25);
        close(gate(0.0, 0.5, 6.0), 0.0);
    }

    #[test]
    fn bad_weights_are_refused_by_name() {
        for (weights, name) in [
            (Weights { gate: -1.0, ..PLAIN }, "w.gate: -1"),
            (Weights { recency: f64::NAN, ..PLAIN }, "w.recency: NaN"),
            (Weights { lexical: f64::INFINITY, ..PLAIN }, "w.lexical: inf"),
            (Weights { half_life: 0, ..PLAIN }, "w.half_life: 0"),
        ] {
            let message = check(&weights, "w").unwrap_err().to_string();
            assert!(message.starts_with(name), "{message}");
        }
        check(&PLAIN, "w").unwrap();
    }
}
