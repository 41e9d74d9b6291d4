//! Do two runs agree?

use std::collections::HashMap;

use crate::record::{Estimate, Record};

/// One number of both records.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The cell's or ratio's name.
    pub id: String,
    /// In the first record and in the second.
    pub values: [Estimate; 2],
    /// Whether their intervals, widened by the tolerance, have a number in common.
    pub agree: bool,
}

/// What two records have in common, and what only one of them has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// In the order of the first record: for cells the rate in time that passed, for pairs the
    /// ratio.
    pub lines: Vec<Line>,
    /// Names in one of them only.
    pub unmatched: Vec<String>,
}

/// Compares two records cell by cell. `tolerance` is the relative change, 0.03 for 3 %, that is put
/// up with between runs beside what the intervals within each say: a machine has warmer and colder
/// days.
#[must_use]
pub fn compare(first: &Record, second: &Record, tolerance: f64) -> Comparison {
    let [numbers, others] = [first, second].map(estimates);
    let known: HashMap<&str, Estimate> =
        others.iter().map(|(id, estimate)| (*id, *estimate)).collect();
    let mut comparison = Comparison::default();
    for (id, estimate) in &numbers {
        match known.get(id) {
            None => comparison.unmatched.push((*id).to_owned()),
            Some(other) => comparison.lines.push(Line {
                id: (*id).to_owned(),
                values: [*estimate, *other],
                agree: agree(estimate, other, tolerance),
            }),
        }
    }
    let mine: std::collections::HashSet<&str> = numbers.iter().map(|(id, _)| *id).collect();
    let only_there = others.iter().filter(|(id, _)| !mine.contains(id));
    comparison.unmatched.extend(only_there.map(|(id, _)| (*id).to_owned()));
    comparison
}

fn estimates(record: &Record) -> Vec<(&str, Estimate)> {
    let cells = record.cells().map(|cell| (cell.id.as_str(), cell.real));
    cells.chain(record.ratios().map(|ratio| (ratio.id.as_str(), ratio.ratio))).collect()
}

fn agree(a: &Estimate, b: &Estimate, tolerance: f64) -> bool {
    a.low * (1.0 - tolerance) <= b.high && b.low * (1.0 - tolerance) <= a.high
}

impl Comparison {
    /// How many lines agree.
    #[must_use]
    pub fn agreeing(&self) -> usize {
        self.lines.iter().filter(|line| line.agree).count()
    }

    /// The lines that differ, or `all`, and a last line that counts.
    #[must_use]
    pub fn text(&self, all: bool) -> String {
        let mut text = String::new();
        for line in self.lines.iter().filter(|line| all || !line.agree) {
            let [a, b] = &line.values;
            text += &format!(
                "{} {:+6.1} %  {:.4} [{:.4}-{:.4}] : {:.4} [{:.4}-{:.4}]  {}\n",
                if line.agree { "agree " } else { "differ" },
                100.0 * (b.median / a.median - 1.0),
                a.median,
                a.low,
                a.high,
                b.median,
                b.low,
                b.high,
                line.id
            );
        }
        self.unmatched.iter().for_each(|id| text += &format!("only in one record: {id}\n"));
        text + &format!("{} of {} agree\n", self.agreeing(), self.lines.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Record {
        Record::from_json(include_str!("record/example.json")).unwrap()
    }

    #[test]
    fn a_record_agrees_with_itself() {
        let comparison = compare(&example(), &example(), 0.0);
        assert_eq!((comparison.lines.len(), comparison.agreeing()), (17, 17));
        assert!(comparison.unmatched.is_empty());
        assert_eq!(comparison.text(false), "17 of 17 agree\n");
    }

    #[test]
    fn differences_are_named() {
        let mut other = example();
        let real = &mut other.sections[0].cells[1].real;
        (real.median, real.low, real.high) =
            (real.median * 1.06, real.low * 1.06, real.high * 1.06);
        other.sections[0].cells.remove(0);
        other.sections[7].ratios[0].id += "?";
        let comparison = compare(&example(), &other, 0.0);
        assert_eq!((comparison.lines.len(), comparison.agreeing()), (15, 14));
        assert_eq!(comparison.unmatched.len(), 3);
        assert!(comparison.text(false).contains("differ   +6.0 %"), "{}", comparison.text(false));
        assert_eq!(compare(&example(), &other, 0.03).agreeing(), 15);
    }
}
