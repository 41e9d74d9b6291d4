//! Which calls compute and which wait: seats under one lock, and what happens when a call arrives
//! or ends.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use saltern_yescrypt::Error;
use saltern_yescrypt::hazmat::MAX_LANES;

use super::Seated;

/// How many calls can wait. Further calls are computed alone at once.
pub(super) const SEATS: usize = 64;

/// The longest that a call lingers for a partner.
const MOST_LINGER: Duration = Duration::from_micros(250);

pub(super) struct Crew {
    state: Mutex<State>,
    /// One for each seat.
    bells: [Condvar; SEATS],
}

struct State {
    seats: [Option<Seat>; SEATS],
    /// How many groups are being computed.
    active: usize,
    /// How many calls have ever taken a seat.
    arrivals: u64,
    /// The time of the last group.
    pace: Duration,
    /// Until when more calls than processors are assumed.
    crowded: Option<Instant>,
}

struct Seat {
    job: Seated,
    /// Earlier calls have smaller numbers.
    number: u64,
    stage: Stage,
}

enum Stage {
    Waiting,
    /// Another thread computes it.
    Taken,
    Done(Result<(), Error>),
}

/// A job that another thread computes, and its owner's seat.
#[derive(Clone, Copy)]
pub(super) struct Partner {
    pub(super) seated: Seated,
    seat: usize,
}

/// The decision for a call.
#[allow(clippy::large_enum_variant, reason = "once in each call, where no memory is allocated")]
pub(super) enum Next {
    Done(Result<(), Error>),
    /// It computes its own job and these.
    Lead([Option<Partner>; MAX_LANES]),
    /// There is no seat left: it computes alone, and is not counted, so that seated calls get their
    /// turn.
    Alone,
}

impl Crew {
    pub(super) const fn new() -> Self {
        let state = State {
            seats: [const { None }; SEATS],
            active: 0,
            arrivals: 0,
            pace: Duration::ZERO,
            crowded: None,
        };
        Crew { state: Mutex::new(state), bells: [const { Condvar::new() }; SEATS] }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides for a call whether it computes, with whom, or waits, and waits.
    pub(super) fn join(&self, job: Seated, degree: usize, most: usize) -> Next {
        let mut state = self.lock();
        let now = Instant::now();
        if state.active < most {
            let partners = state.take_partners(&job, degree);
            let quiet = partners[0].is_none() && state.crowded.is_none_or(|until| until < now);
            if partners[0].is_some() || quiet {
                return self.begin(state, partners, most);
            }
        } else {
            state.crowded = Some(now + 4 * state.pace);
        }
        match state.sit(job) {
            Some(seat) => self.wait(state, seat, degree, most),
            None => Next::Alone,
        }
    }

    /// Waits in a seat until the job is done, or until it is this call's turn to compute.
    fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        seat: usize,
        degree: usize,
        most: usize,
    ) -> Next {
        let mut until = None;
        loop {
            match state.seats[seat].as_ref().map(|seat| &seat.stage) {
                Some(Stage::Done(result)) => {
                    let result = *result;
                    state.seats[seat] = None;
                    return Next::Done(result);
                }
                Some(Stage::Waiting) if state.active < most => {
                    let now = Instant::now();
                    let until = *until.get_or_insert(now + (state.pace / 16).min(MOST_LINGER));
                    if let Some(next) = state.turn(seat, degree, now >= until) {
                        return self.begin(state, next, most);
                    }
                    let bell = self.bells[seat].wait_timeout(state, until - now);
                    state = bell.unwrap_or_else(PoisonError::into_inner).0;
                }
                _ => {
                    let bell = self.bells[seat].wait(state);
                    state = bell.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Counts a group that begins.
    fn begin(
        &self,
        mut state: MutexGuard<'_, State>,
        partners: [Option<Partner>; MAX_LANES],
        most: usize,
    ) -> Next {
        state.active += 1;
        if partners[0].is_some() {
            // They had to wait, and will probably call again at the same moment.
            state.crowded = Some(Instant::now() + 4 * state.pace);
        }
        self.pass_on(&state, most);
        Next::Lead(partners)
    }

    /// A group has ended, with one result for all of it.
    pub(super) fn finish(
        &self,
        partners: &[Option<Partner>],
        result: Result<(), Error>,
        took: Duration,
        most: usize,
    ) {
        let mut state = self.lock();
        state.active -= 1;
        state.pace = took;
        for partner in partners.iter().flatten() {
            if let Some(seat) = &mut state.seats[partner.seat] {
                seat.stage = Stage::Done(result);
            }
            self.bells[partner.seat].notify_one();
        }
        self.pass_on(&state, most);
    }

    /// Wakes the call that has waited longest, if there is room.
    fn pass_on(&self, state: &State, most: usize) {
        if state.active < most
            && let Some(oldest) = state.waiting().min_by_key(|(_, seat)| seat.number)
        {
            self.bells[oldest.0].notify_one();
        }
    }
}

impl State {
    fn waiting(&self) -> impl Iterator<Item = (usize, &Seat)> {
        let seats = self.seats.iter().enumerate();
        let seats = seats.filter_map(|(at, seat)| seat.as_ref().map(|seat| (at, seat)));
        seats.filter(|(_, seat)| matches!(seat.stage, Stage::Waiting))
    }

    fn sit(&mut self, job: Seated) -> Option<usize> {
        let seat = self.seats.iter().position(Option::is_none)?;
        self.arrivals += 1;
        self.seats[seat] = Some(Seat { job, number: self.arrivals, stage: Stage::Waiting });
        Some(seat)
    }

    /// Whether it is a waiting call's turn, and with which partners: if there is a partner, or if
    /// it must not wait for one any longer.
    fn turn(
        &mut self,
        seat: usize,
        degree: usize,
        over: bool,
    ) -> Option<[Option<Partner>; MAX_LANES]> {
        let own = self.seats[seat].take()?;
        let partners = self.take_partners(&own.job, degree);
        if partners[0].is_none() && !over {
            self.seats[seat] = Some(own);
            return None;
        }
        if partners[0].is_none() {
            // No partner came: there is no crowd.
            self.crowded = None;
        }
        Some(partners)
    }

    /// The calls that have waited longest for a hash of the same shape.
    fn take_partners(&mut self, job: &Seated, degree: usize) -> [Option<Partner>; MAX_LANES] {
        let mut partners = [None; MAX_LANES];
        let count = (degree - 1).min(MAX_LANES);
        for partner in &mut partners[..count] {
            let same = self.waiting().filter(|(_, seat)| seat.job.shape == job.shape);
            let Some((at, _)) = same.min_by_key(|(_, seat)| seat.number) else { break };
            if let Some(seat) = &mut self.seats[at] {
                seat.stage = Stage::Taken;
                *partner = Some(Partner { seated: seat.job, seat: at });
            }
        }
        partners
    }
}

#[cfg(test)]
impl Crew {
    /// How many calls wait.
    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting().count()
    }

    /// Whether the next call would begin at once.
    pub(super) fn is_quiet(&self) -> bool {
        let state = self.lock();
        state.crowded.is_none_or(|until| until < Instant::now()) && state.active == 0
    }
}
