//! The report as an HTML page.

use std::fmt::Write;

use saltern_chart::axis::Scale;
use saltern_chart::lines::{Lines, Point, Series};
use saltern_chart::markup::{Escaped, number, unbroken};
use saltern_chart::page;

use crate::load::Load;
use crate::report::Report;
use crate::text::Table;

impl Report {
    /// One HTML file with plots, which needs neither network nor scripts.
    #[must_use]
    pub fn page(&self) -> String {
        let mut out = page::head("What this machine can sustain");
        out += "<header>\n<h1>What this machine can sustain</h1>\n";
        for warning in &self.warnings {
            let warning = Escaped(warning);
            let _ = writeln!(out, "<p class=\"warning\">Warning: {warning}.</p>");
        }
        out += &page::facts(self.facts());
        out += "</header>\n<main>\n<div class=\"figures\">\n";
        out += &self.figure("latency", &self.latency(), &self.latency_sentence());
        out += &self.figure("settings", &self.settings(), &self.settings_sentence());
        out += "</div>\n";
        for Table { title, columns, rows } in self.tables() {
            let _ = writeln!(out, "<section>{}</section>", page::table(title, &columns, rows));
        }
        out + "</main>\n</body>\n</html>\n"
    }

    fn figure(&self, id: &str, plot: &Lines, sentence: &str) -> String {
        let Some(body) = plot.draw(id, sentence) else { return String::new() };
        format!(
            "<figure><figcaption><h2>{}</h2><p>{}</p></figcaption>\n{body}</figure>\n",
            Escaped(&plot.title),
            Escaped(&unbroken(sentence))
        )
    }

    fn latency(&self) -> Lines {
        let loads = self.loads();
        // Where so few were answered that there is no such time, it is beyond every other one.
        let measured = |name: &str, value: fn(&Load) -> Option<f64>| Series {
            name: name.to_owned(),
            points: loads
                .iter()
                .filter(|load| load.logins > 0)
                .map(|load| match value(load) {
                    Some(ms) => point(load.rate, ms),
                    None => Point {
                        tip: format!("not answered, at {}", number(load.rate)),
                        ..point(load.rate, f64::INFINITY)
                    },
                })
                .collect(),
            is_ideal: false,
        };
        let ideal = |name: &str, points: &[[f64; 2]]| Series {
            name: name.to_owned(),
            points: points.iter().map(|&[x, y]| point(x, y)).collect(),
            is_ideal: true,
        };
        let last = loads.last().map_or(0.0, |load| load.rate);
        let target = [[0.0, self.p99_ms], [last, self.p99_ms]];
        let mut series = vec![
            measured("99 of 100", |load| load.p99_ms),
            measured("half", |load| load.median_ms),
            ideal("99 of 100, by a model of the pool", &self.model),
            ideal("the target", &target),
        ];
        // The knee and what holds are marked on the curve.
        for (name, at) in [("knee", self.knee), ("holds", Some(self.held))] {
            let Some(at) = at.filter(|&at| at > 0.0) else { continue };
            let height = if name == "knee" { self.twice_idle_ms() } else { self.p99_ms };
            let label = format!("{name}: {}/s", number(at));
            let point = Point { label, ..point(at, height.min(self.p99_ms.max(height))) };
            let points = vec![point];
            series.push(Series { name: name.to_owned(), points, is_ideal: false });
        }
        Lines {
            title: "Latency against load".to_owned(),
            axes: [
                ("logins per second".to_owned(), Scale::FromZero),
                ("ms until the answer".to_owned(), Scale::Ratios),
            ],
            series,
        }
    }

    fn latency_sentence(&self) -> String {
        let knee = self
            .knee
            .map_or(String::new(), |knee| format!("The knee is at {} logins/s. ", number(knee)));
        format!(
            "{knee}Up to {} logins/s, 99 of 100 were answered within {} ms; at {} the pool is full. \
             Bottleneck: {}.",
            number(self.held),
            number(self.p99_ms),
            number(self.saturation.rate),
            self.bottleneck
        )
    }

    fn settings(&self) -> Lines {
        let series = |name: &str, measured: bool| Series {
            name: name.to_owned(),
            points: self
                .alternatives
                .iter()
                .filter(|other| other.is_measured == measured)
                .map(|other| Point {
                    tip: format!("{}: {} hashes/s", other.setting.words(), number(other.capacity)),
                    ..point(other.setting.work() / 1e9, other.capacity)
                })
                .collect(),
            is_ideal: false,
        };
        let peak = self.target.map(|target| Series {
            name: "the requested peak".to_owned(),
            points: self
                .alternatives
                .iter()
                .map(|other| point(other.setting.work() / 1e9, target.peak()))
                .collect(),
            is_ideal: true,
        });
        Lines {
            title: "Other settings".to_owned(),
            axes: [
                ("work of a hash, GB mixed".to_owned(), Scale::Ratios),
                ("hashes per second".to_owned(), Scale::Ratios),
            ],
            series: [series("measured", true), series("expected", false)]
                .into_iter()
                .chain(peak)
                .filter(|series| !series.points.is_empty())
                .collect(),
        }
    }

    fn settings_sentence(&self) -> String {
        let held = self.alternatives.iter().filter(|other| other.holds).count();
        let all = self.alternatives.len();
        format!(
            "{held} of these {all} settings hold the target, as measured or expected; the one taken \
             is the strongest that was seen to hold it for as long as was asked.{}",
            self.why_no_stronger().map_or(String::new(), |why| format!(" {why}."))
        )
    }
}

fn point(x: f64, y: f64) -> Point {
    let tip = format!("{} at {}", number(y), number(x));
    Point { x, y, interval: None, tip, label: String::new() }
}
