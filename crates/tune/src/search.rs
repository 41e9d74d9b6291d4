//! The search: which settings are tried, for how long, and the conclusions.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::error::{Bottleneck, Error};
use crate::ladder::{Bounds, Setting};
use crate::load::{Load, Saturation, Subject};
use crate::model::Model;
use crate::report::{Alternative, Machine, Report};
use crate::target::{LOAD, MARGIN, Target};

/// How long each part is measured.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Effort {
    /// A setting at its maximum throughput.
    pub probe: Duration,
    /// A setting under the peak load.
    pub trial: Duration,
    /// Each point of the curve of latency against load.
    pub point: Duration,
    /// The final result.
    pub confirm: Duration,
    /// The most settings that are tried upwards.
    pub trials: usize,
    /// The approximate limit for the whole run: its last parts are cut short.
    pub total: Duration,
}

impl Effort {
    /// Some minutes, including one for the confirmation.
    #[must_use]
    pub const fn thorough() -> Self {
        Effort {
            probe: Duration::from_secs(2),
            trial: Duration::from_secs(8),
            point: Duration::from_secs(5),
            confirm: Duration::from_secs(60),
            trials: 6,
            total: Duration::from_secs(600),
        }
    }

    /// About 20 seconds.
    #[must_use]
    pub const fn quick() -> Self {
        Effort {
            probe: Duration::from_millis(300),
            trial: Duration::from_millis(1500),
            point: Duration::from_millis(400),
            confirm: Duration::from_secs(6),
            trials: 2,
            total: Duration::from_secs(20),
        }
    }
}

/// Another number of threads, or another block size, must be better by this factor to be chosen.
const BETTER: f64 = 1.03;

/// The least logins in a load, if the pool can answer as many in its duration.
const ENOUGH: f64 = 20.0;

/// The least logins in a load, if the pool needs longer for [`ENOUGH`].
const FEW: f64 = 4.0;

/// Fractions of the capacity at which latency is measured.
const CURVE: [f64; 6] = [0.3, 0.5, 0.7, 0.85, 0.95, 1.05];

/// Searches for a setting, or measures one.
pub struct Tuner<'a, S> {
    subject: &'a mut S,
    bounds: Bounds,
    effort: Effort,
    tell: Box<dyn FnMut(&str) + 'a>,
    began: Instant,
}

/// A trial of a setting.
struct Trial {
    setting: Setting,
    seen: Saturation,
    load: Option<Load>,
}

/// What is known about the machine before settings are tried.
struct Survey {
    rungs: Vec<Setting>,
    model: Model,
    /// The throughput of all threads, per thread, relative to a single one; 1 for one thread.
    scaling: f64,
}

impl<'a, S: Subject> Tuner<'a, S> {
    /// A tuner that does not report progress.
    pub fn new(subject: &'a mut S, bounds: Bounds, effort: Effort) -> Self {
        Tuner { subject, bounds, effort, tell: Box::new(|_| ()), began: Instant::now() }
    }

    /// Reports progress to `tell`.
    #[must_use]
    pub fn telling(self, tell: impl FnMut(&str) + 'a) -> Self {
        Tuner { tell: Box::new(tell), ..self }
    }

    /// Finds the strongest setting that meets a target.
    ///
    /// # Errors
    /// [`Error::Target`], [`Error::NoSetting`]; [`Error::Unmet`] if not even the weakest one meets
    /// it; those of the subject.
    pub fn search(&mut self, target: &Target) -> Result<Report, Error> {
        target.check()?;
        let survey = self.survey(target)?;
        let mut trials = Vec::new();
        let mut at = self.climb(&survey, target, &mut trials)?;
        loop {
            let rung = survey.rungs[at];
            (self.tell)(&format!("confirming {} at {:.1} logins/s", rung.words(), target.peak()));
            let seen = self.trial_of(&trials, &rung)?;
            let load = self.load(&rung, &seen, target.peak(), self.effort.confirm)?;
            let held = seen.bears(target.peak()) && load.holds(target.p99_ms());
            // A trial is shorter, and may not have shown this.
            if let Some(trial) = trials.iter_mut().find(|trial| trial.setting == rung) {
                trial.load = Some(load.clone());
            }
            if held {
                let bottleneck = self.bottleneck(&survey, at, &seen, target);
                let report =
                    self.report(&rung, &seen, (target.p99_ms(), target.memory), bottleneck)?;
                let alternatives = alternatives(&survey, &trials, at, target);
                return Ok(report.confirmed(*target, load, alternatives));
            }
            if at == 0 {
                return Err(self.unmet(&survey, target, (&rung, &seen), &load));
            }
            at -= 1;
        }
    }

    /// Measures the performance of a setting and, with a target, whether it meets it.
    ///
    /// # Errors
    /// [`Error::NoSetting`] for a setting below the floor or above the limits; those of the
    /// subject.
    pub fn capacity(
        &mut self,
        setting: &Setting,
        p99: Duration,
        memory: u64,
        target: Option<&Target>,
    ) -> Result<Report, Error> {
        target.map_or(Ok(()), Target::check)?;
        self.bounds.rom_blocks(setting.r)?;
        if !self.bounds.admits(setting) {
            let why = format!(
                "{} is below the policy's floor, or above its limits: measuring it would be of no \
                 use",
                setting.words()
            );
            return Err(Error::NoSetting { why });
        }
        let seen = self.saturate(setting)?;
        let model = Model::of(setting, &seen);
        let scaling = self.scaling(setting, &seen)?;
        let survey = Survey { rungs: vec![*setting], model, scaling };
        let p99_ms = 1000.0 * p99.as_secs_f64();
        let bottleneck = self.load_bottleneck(&survey, setting, &seen);
        let load = target.map(|target| {
            (self.tell)(&format!("confirming at {:.1} logins/s", target.peak()));
            self.load(setting, &seen, target.peak(), self.effort.confirm)
        });
        let load = load.transpose()?;
        let report = self.report(setting, &seen, (p99_ms, memory), bottleneck)?;
        Ok(match target.zip(load) {
            Some((target, load)) => report.confirmed(*target, load, Vec::new()),
            None => report,
        })
    }

    fn saturate(&mut self, setting: &Setting) -> Result<Saturation, Error> {
        let threads = saltern_chart::markup::plural(setting.threads, "thread");
        (self.tell)(&format!("measuring {} in {threads}", setting.words()));
        self.subject.saturate(setting, self.effort.probe)
    }

    /// Loads a setting. If there would be few logins, sends more of them, and for longer, for a
    /// meaningful result: if these are answered in time, fewer are, too. If there would be more
    /// than twice as many as can be answered, sends only twice as many, which is enough to show the
    /// overload.
    fn load(
        &mut self,
        setting: &Setting,
        seen: &Saturation,
        rate: f64,
        time: Duration,
    ) -> Result<Load, Error> {
        let least = (ENOUGH / time.as_secs_f64()).min(0.5 * seen.rate);
        let rate = seen.sent(rate.max(least));
        let time = time.max(Duration::from_secs_f64((FEW / rate).min(60.0)));
        let mut load = self.subject.load(setting, rate, time)?;
        for _ in 0..3 {
            if load.logins > 0 {
                break;
            }
            load = self.subject.load(setting, rate, time)?;
        }
        Ok(load)
    }

    /// The throughput of all threads together, per thread, relative to a single one.
    fn scaling(&mut self, setting: &Setting, seen: &Saturation) -> Result<f64, Error> {
        if setting.threads == 1 {
            return Ok(1.0);
        }
        let one = self.saturate(&Setting { threads: 1, ..*setting })?;
        let usable = setting.threads.min(self.bounds.processors) as f64;
        Ok(seen.rate / (one.rate * usable))
    }

    /// Chooses threads and the block size, with a setting near the expected one.
    fn survey(&mut self, target: &Target) -> Result<Survey, Error> {
        /// The approximate work of one processor in a second.
        const GUESS: f64 = 2e9;
        let processors = self.bounds.processors;
        let mut rungs = self.bounds.ladder(32, processors, target.memory)?;
        // A weaker setting than the guess: it takes less time, and its results are scaled by work.
        let rate = |rung: &Setting| GUESS / 4.0 * rung.threads as f64 / rung.work();
        let near = rungs.iter().rposition(|rung| rate(rung) * LOAD >= target.peak());
        let mut base = rungs[near.unwrap_or(0)];
        let mut seen = self.saturate(&base)?;
        let (all, usable) = (seen, base.threads.min(processors) as f64);
        let mut scaling = 1.0;
        // Fewer threads may achieve the same if they share their cores or wait for memory.
        for fewer in (1..base.threads).filter(|&fewer| fewer == 1 || fewer == processors / 2).rev()
        {
            let tried = Setting { threads: fewer, ..base };
            let other = self.saturate(&tried)?;
            if other.rate * BETTER >= seen.rate {
                (base, seen) = (tried, other);
            }
            if fewer == 1 {
                scaling = all.rate / (other.rate * usable);
            }
        }
        let blocks = Setting { n: base.n * 4, r: 8, ..base };
        if self.bounds.admits(&blocks) {
            let other = self.saturate(&blocks)?;
            if other.rate > seen.rate * BETTER {
                (base, seen) = (blocks, other);
            }
        }
        rungs = self.bounds.ladder(base.r, base.threads, target.memory)?;
        Ok(Survey { rungs, model: Model::of(&base, &seen), scaling })
    }

    /// The strongest rung that meets the target in a trial.
    fn climb(
        &mut self,
        survey: &Survey,
        target: &Target,
        trials: &mut Vec<Trial>,
    ) -> Result<usize, Error> {
        let mut model = survey.model;
        let mut at = expected(&survey.rungs, &model, target);
        let (mut best, mut worst) = (None, survey.rungs.len());
        loop {
            let rung = survey.rungs[at];
            let seen = self.saturate(&rung)?;
            model = Model::of(&rung, &seen);
            let enough = seen.rate * LOAD >= target.peak();
            let load = if enough || (at == 0 && seen.rate > target.peak()) {
                (self.tell)(&format!("trying {} at {:.1} logins/s", rung.words(), target.peak()));
                Some(self.load(&rung, &seen, target.peak(), self.effort.trial)?)
            } else {
                None
            };
            let held = load.as_ref().is_some_and(|load| load.holds(MARGIN * target.p99_ms()));
            trials.push(Trial { setting: rung, seen, load: load.clone() });
            if enough && held {
                best = Some(at);
                let late = self.began.elapsed() > self.effort.total / 3;
                if at + 1 >= worst || late || trials.len() >= self.effort.trials {
                    return Ok(at);
                }
                at = expected(&survey.rungs[..worst], &model, target).max(at + 1);
                continue;
            }
            worst = at;
            if at == 0 {
                let load = load.unwrap_or_else(|| Load::new(1.0, Vec::new(), 0));
                return Err(self.unmet(survey, target, (&rung, &seen), &load));
            }
            if let Some(best) = best
                && (best + 1 >= worst || trials.len() >= self.effort.trials)
            {
                return Ok(best);
            }
            let next = expected(&survey.rungs[..worst], &model, target).min(at - 1);
            at = best.map_or(next, |best| next.max(best + 1));
        }
    }

    /// The results of a setting from an earlier trial, or from a new one.
    fn trial_of(&mut self, trials: &[Trial], setting: &Setting) -> Result<Saturation, Error> {
        let known = trials.iter().find(|trial| trial.setting == *setting);
        known.map_or_else(|| self.saturate(setting), |trial| Ok(trial.seen))
    }

    /// The bottleneck that excludes the next rung.
    fn bottleneck(
        &self,
        survey: &Survey,
        at: usize,
        seen: &Saturation,
        target: &Target,
    ) -> Bottleneck {
        let Some(next) = survey.rungs.get(at + 1) else {
            let memory = self.bounds.memory_ends(&survey.rungs[at], target.memory);
            return if memory { Bottleneck::Memory } else { Bottleneck::Limits };
        };
        let growth = next.work() / survey.rungs[at].work();
        if next.threads < survey.rungs[at].threads {
            return Bottleneck::Memory;
        }
        if 1000.0 * seen.alone * growth > MARGIN * target.p99_ms() {
            return Bottleneck::Latency;
        }
        self.load_bottleneck(survey, &survey.rungs[at], seen)
    }

    /// The bottleneck of a setting.
    fn load_bottleneck(&self, survey: &Survey, setting: &Setting, seen: &Saturation) -> Bottleneck {
        if seen.stalled > 0.3 {
            Bottleneck::Disk
        } else if setting.threads > 1 && survey.scaling < 0.7 && seen.share > 0.85 {
            Bottleneck::Bandwidth
        } else {
            Bottleneck::Processor
        }
    }

    /// Why even the weakest setting does not suffice, and what would.
    fn unmet(
        &self,
        survey: &Survey,
        target: &Target,
        (setting, seen): (&Setting, &Saturation),
        load: &Load,
    ) -> Error {
        let alone = 1000.0 * seen.alone;
        let slow = alone > MARGIN * target.p99_ms();
        let bottleneck =
            if slow { Bottleneck::Latency } else { self.load_bottleneck(survey, setting, seen) };
        let loaded = match load.p99_ms {
            _ if load.logins == 0 => String::new(),
            Some(p99) => {
                format!(", 99 of 100 logins within {p99:.0} ms at {:.1} a second", load.rate)
            }
            None => {
                format!(", and fewer than 99 of 100 logins answered at {:.1} a second", load.rate)
            }
        };
        let would = if slow {
            // No number of them makes one hash faster.
            format!("more than {:.0} ms for a login; or a lower floor", target.p99_ms())
        } else {
            let each = seen.rate * LOAD / setting.threads as f64;
            format!(
                "{:.1} logins/s in place of {}; or {} processors like these; or a lower floor",
                seen.rate * LOAD / target.burst,
                target.logins,
                (target.peak() / each).ceil().max(1.0)
            )
        };
        let why = format!(
            "The weakest setting at or above the floor, {}, in {} of the pool: {:.1} hashes/s at \
             most, {alone:.0} ms for one alone{loaded}. What would help: {would}",
            setting.words(),
            saltern_chart::markup::plural(setting.threads, "thread"),
            seen.rate,
        );
        Error::Unmet { bottleneck, why }
    }

    /// Latency against load, and everything that does not need a target.
    fn report(
        &mut self,
        setting: &Setting,
        seen: &Saturation,
        (p99_ms, budget): (f64, u64),
        bottleneck: Bottleneck,
    ) -> Result<Report, Error> {
        let left = self.effort.total.saturating_sub(self.began.elapsed());
        let most = (4 * self.effort.point).min(left / CURVE.len() as u32);
        let most = most.max(self.effort.point / 4);
        let mut curve = Vec::new();
        for part in CURVE {
            let rate = part * seen.rate;
            (self.tell)(&format!("latency at {rate:.1} logins/s"));
            // Fewer than thirty logins say little.
            let time = self.effort.point.max(Duration::from_secs_f64(30.0 / rate));
            let load = self.subject.load(setting, rate, time.min(most))?;
            // Without logins there is no result.
            if load.logins > 0 {
                curve.push(load);
            }
        }
        let model = Model::of(setting, seen);
        let parts = (1..=20).map(|step| 0.05 * f64::from(step) * seen.rate);
        let model = parts.map(|rate| model.load(setting, rate, (3000.0 / rate).max(10.0)));
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut report = Report {
            schema: crate::report::SCHEMA,
            unix_time: now.map_or(0, |now| now.as_secs()),
            seconds: self.began.elapsed().as_secs_f64(),
            machine: Machine::here(self.bounds.processors),
            target: None,
            p99_ms,
            setting: *setting,
            memory_per_hash: setting.memory(),
            memory: budget,
            saturation: *seen,
            held: 0.0,
            knee: None,
            headroom: None,
            bottleneck,
            confirmation: None,
            curve,
            model: model.filter_map(|load| Some([load.rate, load.p99_ms?])).collect(),
            alternatives: Vec::new(),
            neighbours: self.subject.neighbours(),
            others: self.subject.others(),
            warnings: Vec::new(),
            attackers: crate::attack::PUBLISHED,
        };
        report.conclude();
        Ok(report)
    }
}

/// The strongest rung that a model expects to meet a target, or the weakest one.
fn expected(rungs: &[Setting], model: &Model, target: &Target) -> usize {
    let holds = |rung: &Setting| {
        let seconds = (2000.0 / target.peak()).clamp(10.0, 1000.0);
        model.capacity(rung) * LOAD >= target.peak()
            && model.load(rung, target.peak(), seconds).holds(MARGIN * target.p99_ms())
    };
    rungs.iter().rposition(holds).unwrap_or(0)
}

/// The rungs around the chosen one.
fn alternatives(survey: &Survey, trials: &[Trial], at: usize, target: &Target) -> Vec<Alternative> {
    let last = (at + 4).min(survey.rungs.len());
    // The nearest measurement says most about a setting.
    let near = |rung: &Setting| {
        let distance = |trial: &&Trial| (trial.setting.work() / rung.work()).ln().abs();
        let nearest = trials.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.map_or(survey.model, |trial| Model::of(&trial.setting, &trial.seen))
    };
    survey.rungs[at.saturating_sub(3)..last]
        .iter()
        .map(|rung| {
            let tried = trials.iter().find(|trial| trial.setting == *rung);
            let model = near(rung);
            let loaded = tried.and_then(|tried| tried.load.clone());
            let is_measured = loaded.is_some();
            let seconds = (3000.0 / target.peak()).clamp(10.0, 1000.0);
            let load = loaded.unwrap_or_else(|| model.load(rung, target.peak(), seconds));
            let capacity = tried.map_or(model.capacity(rung), |tried| tried.seen.rate);
            let holds = load.holds(target.p99_ms()) && capacity > target.peak();
            let p99_ms = load.p99_ms.filter(|_| capacity > target.peak());
            let memory_per_hash = rung.memory();
            Alternative { setting: *rung, memory_per_hash, capacity, p99_ms, is_measured, holds }
        })
        .collect()
}

#[cfg(test)]
mod tests;
