//! A record in words: the form of the seed texts for people at a terminal, and Markdown tables for
//! documents.

mod markdown;

pub use markdown::{digest, markdown};
use saltern_chart::markup::plural;

use crate::record::{Build, Cell, Curve, Estimate, Latency, Machine, Ratio, Section, Verdict};
use crate::stats::median;

/// What a run begins with.
#[must_use]
pub fn header(machine: &Machine, build: &Build) -> String {
    let caches: Vec<_> =
        machine.caches.iter().map(|cache| format!("L{} {} KiB", cache.level, cache.kib)).collect();
    format!(
        "{}, {} processors, {}, level {}; saltern {} ({}), {}, {} build",
        machine.processor,
        machine.cores,
        caches.join(", "),
        machine.level,
        build.version,
        build.commit.as_deref().unwrap_or("no commit known"),
        build.rustc.as_deref().unwrap_or("no rustc known"),
        build.profile
    )
}

/// What the numbers mean, to be read once.
pub const LEGEND: &str = "\
c/s real: hashes in a second that passed; c/s virtual: in a second of processor time, of all threads together.
Both are medians over samples; (H hashes in S seconds) is the sum of all samples.
GB/s: 10^9 bytes moved to and from memory in a second: c/s real x RAM of a hash x a factor, which counts whole blocks that are
read or written. Filling writes each block once and, in the RW mode, reads one for each: 2. Mixing reads one in each step and in
RW writes it back: 2 for each of N/3 steps at t=0 (x2.67 in all), 2N/3 at t=1 (x3.33), N at t=2 (x4, as in escrypt); WORM with
t=2 is x3, WORM with t=0 and classic scrypt x2. With a ROM half of the reads go there, and those are not written back.
latency: of one call, which computes as many hashes as advance together; min/avg/max over all threads under full load.
[a-b]: 95 % interval of the median by bootstrap. A ratio whose interval spans 1 is a tie.
quiet: the ratio of the rates that each side exceeds in one turn of twenty, when neighbours disturb it least.";

/// A section in the form of the seed texts.
#[must_use]
pub fn section(section: &Section) -> String {
    let mut text = format!("\n== {} ({})\n{}\n", section.title, section.id, section.about);
    let mut last = String::new();
    for cell in &section.cells {
        let title = cell_title(cell);
        if title != last {
            text += &format!("\n{title}:\n");
            last = title;
        }
        text += &cell_lines(cell);
    }
    if !section.ratios.is_empty() {
        text += "\n";
        section.ratios.iter().for_each(|ratio| text += &format!("{}\n", ratio_line(ratio)));
    }
    section.curves.iter().for_each(|curve| text += &curve_lines(curve));
    text
}

fn cell_title(cell: &Cell) -> String {
    let mut title = format!("{}; {}", cell.label, cell.engine);
    if let Some(pages) = &cell.pages {
        title += &format!(", {pages} pages");
    }
    match cell.together {
        1 => {}
        together => title += &format!(", {together} hashes at once"),
    }
    title
}

/// `Benchmarking …` and what follows it.
fn cell_lines(cell: &Cell) -> String {
    let threads = plural(cell.threads, "thread");
    let mut text = format!(
        "Benchmarking {threads} ...\n\
         {:.0} c/s real, {:.0} c/s virtual ({} hashes in {:.2} seconds)\n",
        cell.real.median, cell.cpu.median, cell.hashes, cell.real_seconds
    );
    let mut details = Vec::new();
    if let Some(bandwidth) = &cell.bandwidth {
        let factor = match bandwidth.factor {
            1.0 => String::new(),
            factor => format!(" (x{factor:.2})"),
        };
        details.push(format!("{:.2} GB/s{factor}", bandwidth.gb_per_s));
    }
    if let Some(Latency { min_ms, avg_ms, max_ms, .. }) = cell.latency {
        details.push(format!("latency min/avg/max {min_ms:.2}/{avg_ms:.2}/{max_ms:.2} ms"));
    }
    details.push(format!("real {}", interval(&cell.real, 0)));
    text += &format!("    {}\n", details.join(", "));
    text
}

/// `[low-high]`, with so many digits after the point.
#[must_use]
pub fn interval(estimate: &Estimate, digits: usize) -> String {
    format!("[{:.digits$}-{:.digits$}]", estimate.low, estimate.high)
}

/// A pair in one line.
#[must_use]
pub fn ratio_line(ratio: &Ratio) -> String {
    let digits = digits_of(ratio);
    let [first, second] = &ratio.rates;
    format!(
        "{:5.2} {}{} {} {:<8} {}: {} {:.digits$} : {:.digits$} {} {}",
        ratio.ratio.median,
        interval(&ratio.ratio, 2),
        ratio.quiet.map(|quiet| format!(" quiet {quiet:.2}")).unwrap_or_default(),
        verdict(ratio.verdict),
        goal(ratio),
        ratio.label,
        ratio.sides[0],
        first.median,
        second.median,
        ratio.sides[1],
        ratio.unit,
    )
}

/// Digits after the point of rates.
fn digits_of(ratio: &Ratio) -> usize {
    if ratio.unit == "GB/s" { 2 } else { 0 }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Tie => "tie   ",
    }
}

/// Whether the goal is reached: by the median, and how sure that is.
fn goal(ratio: &Ratio) -> String {
    let aim = ratio.goal.zip(ratio.goal());
    aim.map_or(String::new(), |(goal, how)| format!("(goal {goal:.2} {})", how.name()))
}

fn curve_lines(curve: &Curve) -> String {
    let (min, max) = curve
        .values
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(min, max), value| (min.min(*value), max.max(*value)));
    let at = |wanted: f64| {
        let index = curve.values.iter().position(|value| *value == wanted).unwrap_or(0);
        curve.place(index)
    };
    format!(
        "\n{}; {}: {} at {} values of the {}\n\
         median {:.3}, least {min:.3} (at {}), greatest {max:.3} (at {}); least/greatest {:.3}\n",
        curve.label,
        curve.engine,
        curve.unit,
        curve.values.len(),
        curve.axis,
        median(&curve.values),
        at(min),
        at(max),
        min / max,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    fn example() -> Record {
        Record::from_json(include_str!("record/example.json")).unwrap()
    }

    #[test]
    fn cells_are_told_as_the_seeds_tell_them() {
        let record = example();
        let text = section(&record.sections[0]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[4], "1 MiB; saltern, 2 hashes at once:");
        assert_eq!(lines[5], "Benchmarking 1 thread ...");
        assert_eq!(lines[6], "2700 c/s real, 2700 c/s virtual (4860 hashes in 1.80 seconds)");
        assert!(lines[7].contains("7.55 GB/s (x2.67), latency min/avg/max"), "{}", lines[7]);
        assert_eq!(lines[8], "Benchmarking 2 threads ...");
    }

    #[test]
    fn ratios_say_what_they_mean() {
        let record = example();
        let lines: Vec<_> = record.ratios().map(ratio_line).collect();
        assert!(
            lines[0].contains("faster (goal 1.45 within the interval) batch, 4 MiB"),
            "{lines:#?}"
        );
        assert!(lines[1].contains("tie    (goal 1.03 missed)"), "{lines:#?}");
        assert!(lines[2].contains("(goal 1.40 missed)"), "{lines:#?}");
    }

    #[test]
    fn curves_are_told_by_their_extremes() {
        let text = section(&example().sections[5]);
        assert!(text.contains("least 2.600 (at 1536)"), "{text}");
    }
}
