//! The hard facts of a text: what two texts must share to be one memory.

use std::collections::{BTreeSet, HashSet};

use super::numbers::{self, Number};
use super::quotes::quotes;
use super::words::{Text, Token, Word};

#[derive(Default)]
pub struct Facts {
    pub numbers: Vec<Number>,
    /// Values that are said in passing (`a`, `one`, `both`, 一个): they answer a number of the other side
    /// and ask for none.
    pub loose_numbers: HashSet<String>,
    /// `month 5`, `weekday 1`.
    pub dates: BTreeSet<String>,
    pub identifiers: BTreeSet<String>,
    pub quotes: BTreeSet<String>,
    pub names: BTreeSet<String>,
    /// Every word, its stem and its parts, in lower case.
    pub vocabulary: HashSet<String>,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Words that are no identifier inside Chinese text.
const ARTICLES: &[&str] = &["a", "an", "the", "of", "to", "in", "on", "and", "or", "is", "ok"];

impl Facts {
    pub fn of(text: &Text) -> Self {
        let mut facts = Self { quotes: quotes(&text.folded), ..Self::default() };
        for word in text.words() {
            let parts = parts(&word.lower).map(str::to_owned);
            facts.vocabulary.extend(parts);
            facts.vocabulary.insert(word.lower.clone());
            facts.vocabulary.insert(word.stem.clone());
        }
        let style = Style::of(text);
        let mut at = 0;
        while at < text.tokens.len() {
            at += match &text.tokens[at] {
                Token::Word(word) => facts.take_word(word, text, at, &style),
                Token::Han(run) => {
                    facts.take_han(run, at.checked_sub(1).and_then(|i| text.tokens[i].word()));
                    1
                }
                _ => 1,
            };
        }
        facts
    }

    /// Takes the facts of the word at `at`, and returns how many tokens they fill.
    fn take_word(&mut self, word: &Word, text: &Text, at: usize, style: &Style) -> usize {
        let rest = &text.tokens[at + 1..];
        if let Some(taken) = self.take_time(&word.lower, rest).or_else(|| self.take_date(&word.lower)) {
            return taken;
        }
        if let Some(number) = numbers::parse(&word.lower) {
            return 1 + self.take_number(number, rest);
        }
        if let Some((value, taken)) = number_words(&text.tokens[at..]) {
            let rest = &text.tokens[at + taken..];
            let plain = value == 1 && taken == 1 && unit_after(rest).is_none();
            if plain {
                self.loose_numbers.insert("1".to_owned());
                return 1;
            }
            return taken + self.take_number(Number { value: value.to_string(), unit: None }, rest);
        }
        match word.lower.as_str() {
            "a" | "an" | "single" | "once" => drop(self.loose_numbers.insert("1".to_owned())),
            "both" | "couple" | "pair" | "twice" => drop(self.loose_numbers.insert("2".to_owned())),
            _ => {}
        }
        if let Some(date) = named_date(word, rest) {
            self.dates.insert(date);
        } else if is_compound(&word.text) {
            self.take_compound(word);
        } else if style.is_identifier(word) {
            self.identifiers.insert(word.lower.clone());
        } else if style.is_name(word, rest.first()) {
            self.names.insert(word.lower.trim_end_matches("'s").to_owned());
        }
        1
    }

    /// A number and the unit after it; returns how many further tokens that took.
    fn take_number(&mut self, mut number: Number, rest: &[Token]) -> usize {
        match rest.first() {
            Some(Token::Word(next)) if numbers::english_scale(&next.lower).is_some() => {
                number.multiply(numbers::english_scale(&next.lower).unwrap_or(1));
                1 + self.take_number(number, &rest[1..])
            }
            Some(Token::Word(next)) if number.unit.is_none() => {
                number.unit = numbers::unit(&next.lower);
                let taken = usize::from(number.unit.is_some());
                self.numbers.push(number);
                taken
            }
            Some(Token::Han(run)) => {
                self.take_counted(number, run);
                0
            }
            _ => {
                self.numbers.push(number);
                0
            }
        }
    }

    /// A number that Chinese follows: 5 月, 3 万, 30 秒, 2024 年.
    fn take_counted(&mut self, mut number: Number, run: &str) {
        let mut rest = run;
        if let Some(scale) = run.chars().next().and_then(numbers::han_scale) {
            number.multiply(scale);
            rest = &run[run.chars().next().map_or(0, char::len_utf8)..];
        }
        if rest.starts_with('月') {
            self.dates.insert(format!("month {}", number.value));
            return;
        }
        let year = rest.starts_with('年') && number.value.len() == 4;
        if number.unit.is_none() && !year {
            number.unit = numbers::han_unit(rest);
        }
        self.numbers.push(number);
    }

    fn take_han(&mut self, run: &str, before: Option<&Word>) {
        let chars: Vec<char> = run.chars().collect();
        for numeral in numbers::han_numerals(&chars) {
            // The 万 of "3万" belongs to the digits before it.
            let multiplier = numeral.start == 0
                && before.is_some_and(|word| word.lower.ends_with(|c: char| c.is_ascii_digit()));
            if multiplier {
                continue;
            }
            let rest: String = chars[numeral.end..].iter().collect();
            let dated = rest.starts_with(['月', '号', '日', '点']);
            let ordinal = numeral.start > 0 && chars[numeral.start - 1] == '第';
            let unit = numbers::han_unit(&rest).filter(|unit| *unit != "times");
            let article = numeral.value == "1" && !dated && !ordinal && unit.is_none();
            if numeral.counts && !article {
                let percent = chars[..numeral.start].ends_with(&['百', '分', '之']);
                let unit = percent.then_some("%");
                self.take_counted(Number { value: numeral.value, unit }, &rest);
            } else {
                self.loose_numbers.insert(numeral.value);
            }
        }
        let mut run = run;
        while let Some(at) = ["星期", "礼拜", "周"].iter().filter_map(|name| run.find(name)).min() {
            let name = if run[at..].starts_with('周') { "周" } else { "星期" };
            run = &run[at + name.len()..];
            if let Some(day) =
                run.chars().next().and_then(|c| "一二三四五六日天".chars().position(|d| d == c))
            {
                self.dates.insert(format!("weekday {}", day.min(6) + 1));
            }
        }
    }

    /// `15:00`, `3pm`, `3:00 pm`.
    fn take_time(&mut self, lower: &str, rest: &[Token]) -> Option<usize> {
        let (clock, glued) = match lower.strip_suffix("am").or(lower.strip_suffix("pm")) {
            Some(clock) => (clock, Some(&lower[clock.len()..])),
            None => (lower, None),
        };
        let next = rest.first().and_then(Token::word).map(|word| word.lower.as_str());
        let spaced = next.map(|word| word.trim_end_matches(".m")).and_then(|word| match word {
            "am" | "a" if next != Some("a") => Some("am"),
            "pm" | "p" if next != Some("p") => Some("pm"),
            _ => None,
        });
        let half = glued.or(spaced);
        let mut fields = clock.split(':').map(|field| field.parse::<u32>().ok());
        let hour = fields.next()??;
        let minute = match fields.next() {
            Some(minute) => minute?,
            None => {
                half?;
                0
            }
        };
        if hour > 24 || minute > 59 || fields.next().is_some() {
            return None;
        }
        let hour = match half {
            Some("pm") if hour < 12 => hour + 12,
            Some("am") if hour == 12 => 0,
            _ => hour,
        };
        self.numbers.push(Number { value: format!("{hour}:{minute:02}"), unit: None });
        Some(1 + usize::from(glued.is_none() && spaced.is_some()))
    }

    /// `2024-05-06` and `2024/5/6`, the same as "May 6, 2024".
    fn take_date(&mut self, lower: &str) -> Option<usize> {
        let date = lower.split('t').next()?;
        let fields: Vec<&str> = date.split(['-', '/']).collect();
        let [year, month, day] = fields[..] else {
            return None;
        };
        let number = |text: &str| text.parse::<u32>().ok();
        let (month, day) = (number(month)?, number(day)?);
        if year.len() != 4 || number(year).is_none() || !(1..=12).contains(&month) || day > 31 {
            return None;
        }
        self.dates.insert(format!("month {month}"));
        for value in [year.to_owned(), day.to_string()] {
            self.numbers.push(Number { value, unit: None });
        }
        Some(1)
    }

    fn take_compound(&mut self, word: &Word) {
        let lower = &word.lower;
        if lower.starts_with(['-', '$', '/', '.']) && !has_digit(lower) {
            self.identifiers.insert(lower.clone());
        } else if has_digit(lower) {
            for part in lower.split(['-', '/', ':', '@', '=', '\\']).filter(|part| !part.is_empty()) {
                match numbers::parse(part) {
                    Some(number) => self.numbers.push(number),
                    None => drop(self.identifiers.insert(part.to_owned())),
                }
            }
        } else if lower.contains(['_', '.', '/', '\\', ':', '@', '='])
            && parts(lower).any(|part| part.chars().count() > 1)
        {
            self.identifiers.insert(lower.clone());
        }
    }
}

/// How a text uses capitals, which decides what they say.
struct Style {
    /// Chinese text: every foreign word is a name of something.
    han: bool,
    /// Headlines: capitals throughout.
    title: bool,
    shouting: bool,
}

impl Style {
    fn of(text: &Text) -> Self {
        let long = || text.words().filter(|w| w.text.len() > 3 && w.text.chars().all(char::is_alphabetic));
        let all = long().count();
        let upper = long().filter(|w| w.text.chars().all(char::is_uppercase)).count();
        let capital = long().filter(|w| w.text.starts_with(char::is_uppercase)).count();
        Self {
            han: text.has_han(),
            title: all > 3 && capital * 10 > all * 6,
            shouting: all > 2 && upper * 2 > all,
        }
    }

    fn is_identifier(&self, word: &Word) -> bool {
        let text = word.text.trim_end_matches("'s");
        let letters = text.chars().filter(|c| c.is_alphabetic()).count();
        if letters == 0 {
            return false;
        }
        let upper = text.chars().filter(|c| c.is_uppercase()).count();
        let inner = text.chars().zip(text.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
        if text.ends_with('#') || text.ends_with('+') || has_digit(text) || inner {
            return true;
        }
        if self.han && text.is_ascii() {
            return upper == letters || letters > 1 && !ARTICLES.contains(&word.lower.as_str());
        }
        upper == letters && letters > 1 && !self.shouting
    }

    /// A capital inside a sentence; at its start only before a verb ("Alice likes", "Bob is").
    fn is_name(&self, word: &Word, next: Option<&Token>) -> bool {
        const VERBS: &[&str] = &[
            "is", "was", "has", "had", "will", "would", "can", "could", "did", "does", "said", "went", "got",
            "made", "gave", "took", "and",
        ];
        const NO_NAMES: &[&str] = &[
            "it",
            "he",
            "she",
            "we",
            "they",
            "you",
            "this",
            "that",
            "there",
            "what",
            "which",
            "who",
            "where",
            "everything",
            "everyone",
            "someone",
            "nothing",
            "nobody",
            "one",
            "each",
            "all",
            "everybody",
            "somebody",
            "something",
            "user",
            "the",
            "a",
            "an",
            "these",
            "those",
            "not",
            "never",
            "always",
        ];
        const NOUNS: &[&str] = &["tion", "sion", "ment", "ing", "ness", "ity", "s"];
        let mut chars = word.text.chars();
        let capital =
            chars.next().is_some_and(char::is_uppercase) && chars.next().is_some_and(char::is_lowercase);
        if !capital || self.title || word.lower.starts_with("i'") || NO_NAMES.contains(&word.lower.as_str()) {
            return false;
        }
        if !word.initial || word.lower.ends_with("'s") {
            return true;
        }
        let Some(next) = next.and_then(Token::word).map(|next| next.text.as_str()) else {
            return false;
        };
        let verb = VERBS.contains(&next)
            || next.ends_with("ed")
            || next.ends_with('s') && !next.ends_with("ss") && next.len() > 3;
        verb && next.starts_with(char::is_lowercase) && !NOUNS.iter().any(|end| word.lower.ends_with(end))
    }
}

/// Letters and digits between the connectors.
pub fn parts(lower: &str) -> impl Iterator<Item = &str> {
    lower.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty())
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit())
}

fn is_compound(text: &str) -> bool {
    text.contains(['_', '.', '/', '\\', ':', '@', '=', '-', '$'])
}

fn unit_after(rest: &[Token]) -> Option<&'static str> {
    numbers::unit(&rest.first()?.word()?.lower)
}

/// An English number in words at the start of `tokens`, and how many tokens it fills.
fn number_words(tokens: &[Token]) -> Option<(u64, usize)> {
    let next = tokens.iter().map_while(Token::word).take(12);
    let split: Vec<Vec<&str>> = next.map(|word| word.lower.split('-').collect()).collect();
    let flat: Vec<&str> = split.iter().flatten().copied().collect();
    let (value, taken) = numbers::english(&flat)?;
    // Whole tokens only: "two-factor" is no number.
    let mut words = 0;
    for (at, parts) in split.iter().enumerate() {
        words += parts.len();
        if words == taken {
            return Some((value, at + 1));
        }
    }
    None
}

fn named_date(word: &Word, rest: &[Token]) -> Option<String> {
    let lower = word.lower.trim_end_matches("'s");
    let weekday = |name: &&str| *name == lower || lower.strip_suffix('s') == Some(name);
    if let Some(day) = WEEKDAYS.iter().position(weekday) {
        return Some(format!("weekday {}", day + 1));
    }
    let month = MONTHS.iter().position(|name| {
        *name == lower
            || lower.len() == 3 && name.starts_with(lower)
            || lower == "sept" && *name == "september"
    })?;
    let short = matches!(lower, "may" | "mar" | "march" | "dec" | "sep" | "jan" | "jun" | "oct");
    let capital = word.text.starts_with(char::is_uppercase);
    let day = rest.first().and_then(Token::word).is_some_and(|next| has_digit(&next.text));
    (!short || capital && (!word.initial || day)).then(|| format!("month {}", month + 1))
}
