//! One record of several processes that measured the same.
//!
//! Where memory lies differs from process to process, and speed with it, so that the interval of
//! one process can miss the median of the next. Here each process counts as one sample.

use crate::record::{Cell, Estimate, Ratio, Record};
use crate::stats::{estimate, median, verdict};

/// The first record, with every rate and ratio estimated from the medians of all of them. Curves
/// keep the best of each point; what is not in all records is left as the first has it.
///
/// # Errors
/// No record.
pub fn merge(records: &[Record]) -> anyhow::Result<Record> {
    let (first, others) =
        records.split_first().ok_or_else(|| anyhow::anyhow!("no process has measured anything"))?;
    let mut merged = first.clone();
    for section in &mut merged.sections {
        for cell in &mut section.cells {
            let same: Vec<&Cell> = others
                .iter()
                .filter_map(|record| record.cells().find(|other| other.id == cell.id))
                .collect();
            cell.real = over(cell.real, same.iter().map(|cell| cell.real));
            cell.cpu = over(cell.cpu, same.iter().map(|cell| cell.cpu));
            cell.hashes += same.iter().map(|cell| cell.hashes).sum::<u64>();
            cell.real_seconds += same.iter().map(|cell| cell.real_seconds).sum::<f64>();
            cell.cpu_seconds += same.iter().map(|cell| cell.cpu_seconds).sum::<f64>();
        }
        for ratio in &mut section.ratios {
            let same: Vec<&Ratio> = others
                .iter()
                .filter_map(|record| record.ratios().find(|other| other.id == ratio.id))
                .collect();
            for side in [0, 1] {
                ratio.rates[side] = over(ratio.rates[side], same.iter().map(|r| r.rates[side]));
            }
            let quiet: Vec<f64> =
                same.iter().filter_map(|other| other.quiet).chain(ratio.quiet).collect();
            ratio.quiet = (!quiet.is_empty()).then(|| median(&quiet));
            ratio.ratio = over(ratio.ratio, same.iter().map(|other| other.ratio));
            ratio.verdict = verdict(&ratio.ratio);
        }
        let curves = others.iter().flat_map(|record| &record.sections).flat_map(|s| &s.curves);
        for other in curves {
            if let Some(curve) = section.curves.iter_mut().find(|curve| curve.id == other.id) {
                let values = curve.values.iter_mut().zip(&other.values);
                values.for_each(|(value, other)| *value = value.max(*other));
            }
        }
    }
    merged.seconds = records.iter().map(|record| record.seconds).sum();
    for note in others.iter().flat_map(|record| &record.notes) {
        if !merged.notes.contains(note) {
            merged.notes.push(note.clone());
        }
    }
    merged.notes.push(format!("intervals are over the medians of {} processes", records.len()));
    Ok(merged)
}

fn over(first: Estimate, others: impl Iterator<Item = Estimate>) -> Estimate {
    let medians: Vec<f64> = others.chain([first]).map(|estimate| estimate.median).collect();
    estimate(&medians)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_is_one_sample() {
        let first = Record::from_json(include_str!("record/example.json")).unwrap();
        let mut second = first.clone();
        for ratio in second.sections.iter_mut().flat_map(|section| &mut section.ratios) {
            ratio.ratio.median *= 1.5;
        }
        let merged = merge(&[first.clone(), second.clone(), first.clone()]).unwrap();
        for (merged, (one, two)) in merged.ratios().zip(first.ratios().zip(second.ratios())) {
            assert!((merged.ratio.median / one.ratio.median - 1.0).abs() < 1e-5);
            assert!((merged.ratio.high / two.ratio.median - 1.0).abs() < 1e-5);
            assert_eq!(merged.ratio.samples, 3);
        }
        assert_eq!(merged.cells().count(), first.cells().count());
        assert!(merge(&[]).is_err());
    }
}
