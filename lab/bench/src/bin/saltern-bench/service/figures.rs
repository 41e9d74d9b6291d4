//! The figures of a run: printed, kept in a file, and made into a table.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use saltern_bench::record::{Build, Machine};
use saltern_bench::stats::digits;
use saltern_tune::neighbour::Neighbours;
use serde::{Deserialize, Serialize};

use super::results::Load;
use saltern_bench::stats::percentile;

/// What was measured, where and with which code.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Figures {
    command: String,
    unix_time: u64,
    pub(super) seconds: f64,
    machine: Machine,
    build: Build,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) neighbours: Option<Neighbours>,
    figures: Vec<Figure>,
}

/// One number.
#[derive(Serialize, Deserialize)]
struct Figure {
    id: String,
    text: String,
    value: f64,
    unit: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    goal: Option<Goal>,
}

/// What a number should be.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Goal {
    Least(f64),
    Below(f64),
    Zero,
}

impl Goal {
    pub(super) fn least(value: f64) -> Self {
        Goal::Least(digits(value, 4))
    }

    pub(super) fn below(value: f64) -> Self {
        Goal::Below(digits(value, 4))
    }

    fn is_met(self, value: f64) -> bool {
        match self {
            Goal::Least(least) => value >= least,
            Goal::Below(limit) => value < limit,
            Goal::Zero => value == 0.0,
        }
    }

    fn text(self) -> String {
        match self {
            Goal::Least(least) => format!("at least {least}"),
            Goal::Below(limit) => format!("below {limit}"),
            Goal::Zero => "0".to_owned(),
        }
    }
}

impl Figures {
    /// None yet, of this command, machine and build.
    pub(super) fn begin() -> anyhow::Result<Self> {
        Ok(Figures {
            command: std::env::args().skip(1).collect::<Vec<_>>().join(" "),
            unix_time: SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
            machine: Machine::here(),
            build: Build::here(),
            ..Figures::default()
        })
    }

    /// Adds a number: a count, or four digits of anything else.
    pub(super) fn add(
        &mut self,
        id: &str,
        text: &str,
        value: f64,
        unit: &str,
        goal: impl Into<Option<Goal>>,
    ) {
        let value = if value.fract() == 0.0 { value } else { digits(value, 4) };
        let goal = goal.into();
        self.figures.push(Figure {
            id: id.into(),
            text: text.into(),
            value,
            unit: unit.into(),
            goal,
        });
    }

    /// Adds how late logins were sent: whether the times above are those of the service.
    pub(super) fn lag(&mut self, part: &str, load: &Load) {
        let lag = percentile(&load.lags(), 0.99);
        let name = "99 of 100 logins sent, after they were due, within";
        self.add(&format!("{part}-lag"), name, lag, "ms", None);
    }

    /// Whether something came out that must not, however busy the machine is.
    pub(super) fn is_bad(&self) -> bool {
        let of = |id: &str| self.figures.iter().find(|figure| figure.id == id);
        ["wrong", "memory-pool"].iter().filter_map(|id| of(id)).any(|figure| !figure.is_met())
    }

    /// Whether any goal was missed.
    pub(super) fn is_missed(&self) -> bool {
        self.figures.iter().any(|figure| !figure.is_met())
    }

    pub(super) fn to_json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    pub(super) fn from_json(text: &str) -> anyhow::Result<Self> {
        serde_json::from_str(text).context("not a file of `saltern-bench service --json`")
    }

    /// For a terminal.
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "{}, {} processors; {} {}\n",
            self.machine.processor,
            self.machine.cores,
            self.build.version,
            self.build.commit.as_deref().unwrap_or("")
        );
        for figure in &self.figures {
            let value = format!("{} {}", figure.value, figure.unit);
            let _ = write!(text, "{value:>14}  {}", figure.text);
            if let Some(goal) = figure.goal {
                let missed = if figure.is_met() { "" } else { "MISSED: " };
                let _ = write!(text, " ({missed}{})", goal.text());
            }
            text.push('\n');
        }
        if let Some(seen) = &self.neighbours {
            let _ = writeln!(text, "neighbours: {}", seen.words());
        }
        text
    }

    /// A table with a column for each.
    pub(super) fn markdown(all: &[Figures]) -> String {
        let mut text = "|".to_owned();
        for figures in all {
            let _ = write!(text, " | `{}`", figures.command);
        }
        text += " | goal |\n|---|";
        text += &"---|".repeat(all.len() + 1);
        text.push('\n');
        for (at, row) in all.first().map(|first| &first.figures).into_iter().flatten().enumerate() {
            let _ = write!(text, "| {}", row.text);
            let cells = all.iter().map(|figures| figures.figures.get(at));
            let cells = cells.map(|figure| figure.filter(|figure| figure.id == row.id));
            let goals = cells.clone().flatten().filter_map(|figure| figure.goal.map(Goal::text));
            let mut goals: Vec<_> = goals.collect();
            goals.dedup();
            for cell in cells {
                let cell = cell.map(|figure| format!("{} {}", figure.value, figure.unit));
                let _ = write!(text, " | {}", cell.unwrap_or_default().trim());
            }
            let _ = writeln!(text, " | {} |", goals.join("; "));
        }
        text
    }
}

impl Figure {
    fn is_met(&self) -> bool {
        self.goal.is_none_or(|goal| goal.is_met(self.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_told_and_kept() {
        let mut figures = Figures { command: "service".to_owned(), ..Figures::default() };
        figures.add("ratio", "of the pool's", 0.912_34, "", Goal::least(0.97));
        figures.add("wrong", "wrong answers", 0.0, "", Goal::Zero);
        assert!(figures.text().contains("0.9123   of the pool's (MISSED: at least 0.97)"));
        assert!(figures.is_missed() && !figures.is_bad());
        let again = Figures::from_json(&figures.to_json().unwrap()).unwrap();
        assert_eq!(again.text(), figures.text());
        let table = "| | `service` | goal |\n|---|---|---|\n\
                     | of the pool's | 0.9123 | at least 0.97 |\n| wrong answers | 0 | 0 |\n";
        assert_eq!(Figures::markdown(&[again]), table);
        figures.add("memory-pool", "of it the pool's", 2.0, "MiB", Goal::below(1.0));
        assert!(figures.is_bad());
    }
}
