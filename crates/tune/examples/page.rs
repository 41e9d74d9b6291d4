//! Prints the page of a report about a simulated pool, with everything that a page can show,
//! including warnings. `scripts/test-report` opens it in a browser.

use std::time::Duration;

use saltern::Policy;
use saltern_tune::neighbour::Neighbours;
use saltern_tune::{
    Bounds, Effort, Error, Load, Others, Saturation, Setting, Subject, Target, Tuner,
};

/// Four threads, which share some time with other programs.
struct Computed;

impl Subject for Computed {
    fn saturate(&mut self, setting: &Setting, _: Duration) -> Result<Saturation, Error> {
        let alone = setting.params().work() as f64 / 1e9;
        let rate = 1.4 * setting.threads as f64 / alone;
        Ok(Saturation { rate, alone, processor: alone / 1.4, share: 0.8, group: 2.0, stalled: 0.0 })
    }

    fn load(&mut self, setting: &Setting, rate: f64, time: Duration) -> Result<Load, Error> {
        let seen = self.saturate(setting, time)?;
        let (part, seconds) = (rate / seen.rate, time.as_secs_f64());
        let waits = |times: f64| {
            (part < 1.0).then(|| 1000.0 * seen.alone * (1.0 + times * part / (1.0 - part)))
        };
        let (median_ms, p99_ms, worst_ms) = (waits(0.1), waits(0.8), waits(1.6));
        let logins = (rate * seconds).max(1.0) as usize;
        Ok(Load { rate, seconds, logins, refused: 0, median_ms, p99_ms, worst_ms })
    }

    fn neighbours(&self) -> Option<Neighbours> {
        Some(Neighbours { median: 0.7, low: 0.5, samples: 100 })
    }

    fn others(&self) -> Option<Others> {
        Some(Others { busy: 0.8, stolen: 0.4, processors: 4 })
    }
}

fn main() -> Result<(), Error> {
    let target =
        Target { logins: 20.0, burst: 3.0, p99: Duration::from_millis(250), memory: 4 << 30 };
    let bounds = Bounds::new(&Policy::default(), None).with_threads(4);
    let report = Tuner::new(&mut Computed, bounds, Effort::thorough()).search(&target)?;
    println!("{}", report.page());
    Ok(())
}
