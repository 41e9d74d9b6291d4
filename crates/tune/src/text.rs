//! The report in words and tables.

use std::fmt::Write;

use saltern_chart::markup::{bytes, date, number, percent, plural};

use crate::load::Load;
use crate::report::Report;

/// What follows warnings.
pub(crate) const REMEDY: &str = "Before relying on this, run it long enough on a quiet machine.";

/// A table: its name, its columns, its rows.
pub(crate) struct Table {
    pub(crate) title: &'static str,
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Report {
    /// The report for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        for warning in &self.warnings {
            let _ = writeln!(out, "WARNING: {warning}.");
        }
        if !self.warnings.is_empty() {
            let _ = writeln!(out, "{REMEDY}\n");
        }
        for (name, value) in self.facts() {
            let _ = writeln!(out, "{name:<14}{value}");
        }
        for table in self.tables() {
            let _ = write!(out, "\n{}\n{}", table.title, table.text());
        }
        out
    }

    /// The results, line by line.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        let setting = &self.setting;
        let mut facts = vec![(
            "setting",
            format!(
                "{}: {} for each hash; {} of {}",
                setting.words(),
                bytes(self.memory_per_hash as f64),
                plural(setting.threads, "thread"),
                bytes(self.memory as f64)
            ),
        )];
        facts.extend(self.promise());
        facts.extend(self.why_no_stronger().map(|why| ("stronger", why)));
        let headroom = self
            .headroom
            .map_or(String::new(), |headroom| format!(", {} times the peak", number(headroom)));
        let least = self.curve.first().filter(|_| self.held == 0.0);
        let held = least.map_or_else(
            || number(self.held),
            |least| format!("fewer than {}", number(least.rate)),
        );
        facts.push((
            "capacity",
            format!(
                "{held} logins/s within {} ms{headroom}; {} hashes/s at most",
                number(self.p99_ms),
                number(self.saturation.rate)
            ),
        ));
        if let Some(knee) = self.knee {
            let part = percent(knee / self.saturation.rate);
            facts.push(("knee", format!(
                "{} logins/s ({part} of the capacity): above this, a login takes more than twice \
                 as long as in an idle pool",
                number(knee)
            )));
        }
        facts.push(("bottleneck", self.bottleneck.to_string()));
        facts.push(("costs", self.costs()));
        let machine = &self.machine;
        facts.push((
            "machine",
            format!(
                "{}, {}, level {}; {}",
                machine.processor,
                plural(machine.processors, "processor"),
                machine.level,
                date(self.unix_time)
            ),
        ));
        if let Some(seen) = self.neighbours {
            facts.push(("neighbours", seen.words()));
        }
        if let Some(seen) = self.others {
            facts.push(("others", seen.words()));
        }
        facts
    }

    /// The target, and whether it was met.
    fn promise(&self) -> Vec<(&'static str, String)> {
        let Some((target, load)) = self.target.zip(self.confirmation.as_ref()) else {
            return Vec::new();
        };
        let verdict = if self.holds() { "holds" } else { "DOES NOT HOLD" };
        let target = format!(
            "{} logins/s, {} times as many at peaks, 99 of 100 within {} ms",
            number(target.logins),
            number(target.burst),
            number(self.p99_ms)
        );
        let confirmed = format!(
            "{} s at {} logins/s: 99 of 100 within {}, half within {}, {} refused",
            number(load.seconds),
            number(load.rate),
            ms(load.p99_ms),
            ms(load.median_ms),
            load.refused
        );
        vec![("target", target), (verdict, confirmed)]
    }

    /// The cost of a hash on this machine.
    fn costs(&self) -> String {
        let seen = &self.saturation;
        format!(
            "{} ms of one processor and {} ms alone; memory for a candidate times rate, all \
             processors: {}/s",
            number(1000.0 * seen.processor),
            number(1000.0 * seen.alone),
            bytes(self.memory_per_hash as f64 * seen.rate)
        )
    }

    pub(crate) fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.latencies()];
        if !self.alternatives.is_empty() {
            tables.push(self.others());
        }
        tables.push(self.attack());
        tables
    }

    fn latencies(&self) -> Table {
        let row = |load: &Load| {
            vec![
                number(load.rate),
                percent(load.rate / self.saturation.rate),
                ms(load.median_ms),
                ms(load.p99_ms),
                ms(load.worst_ms),
                load.logins.to_string(),
            ]
        };
        let loads = self.loads();
        Table {
            title: "Latency against load",
            columns: vec!["logins/s", "of capacity", "median", "p99", "worst", "logins"],
            rows: loads.into_iter().map(row).collect(),
        }
    }

    fn others(&self) -> Table {
        let rows = self.alternatives.iter().map(|other| {
            let mark = if other.setting == self.setting { " *" } else { "" };
            vec![
                format!("{}{mark}", other.setting.words()),
                bytes(other.memory_per_hash as f64),
                other.setting.threads.to_string(),
                number(other.capacity),
                ms(other.p99_ms),
                if other.holds { "yes" } else { "no" }.to_owned(),
                if other.is_measured { "measured" } else { "expected" }.to_owned(),
            ]
        });
        Table {
            title: "Other settings, at the peak",
            columns: vec!["setting", "memory", "threads", "hashes/s", "p99", "holds", "how"],
            rows: rows.collect(),
        }
    }

    fn attack(&self) -> Table {
        let rows = self.attackers.iter().map(|figure| {
            vec![
                figure.scheme.to_owned(),
                bytes(figure.memory as f64),
                number(figure.rate),
                format!("{}/s", bytes(figure.bytes())),
                format!("{}, {}", figure.device, figure.date),
                figure.source.to_owned(),
            ]
        });
        Table {
            title: "Attackers, as published; not extrapolated to other costs or to ROMs",
            columns: vec!["what", "memory", "per second", "product", "with, when", "source"],
            rows: rows.collect(),
        }
    }
}

fn ms(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{} ms", number(value)))
}

impl Table {
    /// Columns side by side; addresses on separate lines.
    fn text(&self) -> String {
        let is_address = |column: &str| column == "source" || column == "with, when";
        let shown = self.columns.iter().filter(|column| !is_address(column)).count();
        let width = |at: usize| {
            let cells = self.rows.iter().map(|row| row[at].chars().count());
            cells.chain([self.columns[at].len()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..shown).map(width).collect();
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let mut line = String::from(" ");
            for (at, (cell, width)) in cells.zip(&widths).enumerate() {
                let pad = " ".repeat(width - cell.chars().count());
                line += &if at == 0 { format!(" {cell}{pad}") } else { format!("  {pad}{cell}") };
            }
            line.trim_end().to_owned() + "\n"
        };
        let mut out = line(&mut self.columns.iter().copied());
        for row in &self.rows {
            out += &line(&mut row.iter().map(String::as_str));
            for more in &row[shown..] {
                out += &format!("      {more}\n");
            }
        }
        out
    }
}
