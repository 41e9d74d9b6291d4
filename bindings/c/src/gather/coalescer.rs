//! Which calls compute and which wait: seats under one lock, and what happens when a call arrives
//! or ends.
#![allow(unsafe_code, reason = "the jobs of calls that wait in other threads")]

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use saltern_yescrypt::hazmat::MAX_LANES;

use super::Seated;

/// How many calls can wait. Further calls are computed alone at once.
pub(super) const SEATS: usize = 64;

/// The longest that a call lingers for a partner.
const MOST_LINGER: Duration = Duration::from_micros(250);

pub(super) struct Coalescer {
    state: Mutex<State>,
    /// One for each seat.
    wakeups: [Condvar; SEATS],
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
    /// Of the thread that waits, in its own stack.
    job: *const Seated,
    /// Earlier calls have smaller numbers.
    number: u64,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Stage {
    Waiting,
    /// Another thread computes it.
    Taken,
    Done,
    /// The thread that computed it had no success.
    Failed,
}

// SAFETY: the job is that of a thread which waits and leaves it alone, as `Seated` says.
unsafe impl Send for Seat {}

/// A job that another thread computes, and its owner's seat.
#[derive(Clone, Copy)]
pub(super) struct Partner {
    pub(super) seated: *const Seated,
    seat: usize,
}

/// The decision for a call.
pub(super) enum Next {
    Done,
    /// It computes its own job and these.
    Lead(Partners),
    /// It computes alone, and is not counted, so that seated calls get their turn: there is no seat
    /// left, or its group has failed, whose memory need not be that of one hash.
    Alone,
}

/// The calls that are computed together with another one, the first places first.
pub(super) type Partners = [Option<Partner>; MAX_LANES - 1];

impl Coalescer {
    pub(super) const fn new() -> Self {
        let state = State {
            seats: [const { None }; SEATS],
            active: 0,
            arrivals: 0,
            pace: Duration::ZERO,
            crowded: None,
        };
        Coalescer { state: Mutex::new(state), wakeups: [const { Condvar::new() }; SEATS] }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides for a call whether it computes, with whom, or waits, and waits.
    pub(super) fn join(&self, job: &Seated, degree: usize, most: usize) -> Next {
        let mut state = self.lock();
        let now = Instant::now();
        if state.active < most {
            let partners = state.take_partners(job, degree);
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
                Some(Stage::Done) => {
                    state.seats[seat] = None;
                    return Next::Done;
                }
                Some(Stage::Failed) => {
                    state.seats[seat] = None;
                    return Next::Alone;
                }
                Some(Stage::Waiting) if state.active < most => {
                    let now = Instant::now();
                    let until = *until.get_or_insert(now + (state.pace / 16).min(MOST_LINGER));
                    if let Some(next) = state.turn(seat, degree, now >= until) {
                        return self.begin(state, next, most);
                    }
                    let bell = self.wakeups[seat].wait_timeout(state, until - now);
                    state = bell.unwrap_or_else(PoisonError::into_inner).0;
                }
                _ => {
                    let bell = self.wakeups[seat].wait(state);
                    state = bell.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Counts a group that begins.
    fn begin(&self, mut state: MutexGuard<'_, State>, partners: Partners, most: usize) -> Next {
        state.active += 1;
        if partners[0].is_some() {
            // They had to wait, and will probably call again at the same moment.
            state.crowded = Some(Instant::now() + 4 * state.pace);
        }
        self.pass_on(&state, most);
        Next::Lead(partners)
    }

    /// A group has ended.
    pub(super) fn finish(
        &self,
        partners: &[Option<Partner>],
        success: bool,
        took: Duration,
        most: usize,
    ) {
        let mut state = self.lock();
        state.active -= 1;
        state.pace = took;
        for partner in partners.iter().flatten() {
            if let Some(seat) = &mut state.seats[partner.seat] {
                seat.stage = if success { Stage::Done } else { Stage::Failed };
            }
            self.wakeups[partner.seat].notify_one();
        }
        self.pass_on(&state, most);
    }

    /// Wakes the call that has waited longest, if there is room.
    fn pass_on(&self, state: &State, most: usize) {
        if state.active < most
            && let Some(oldest) = state.waiting().min_by_key(|(_, seat)| seat.number)
        {
            self.wakeups[oldest.0].notify_one();
        }
    }
}

impl State {
    fn waiting(&self) -> impl Iterator<Item = (usize, &Seat)> {
        let seats = self.seats.iter().enumerate();
        let seats = seats.filter_map(|(at, seat)| seat.as_ref().map(|seat| (at, seat)));
        seats.filter(|(_, seat)| matches!(seat.stage, Stage::Waiting))
    }

    fn sit(&mut self, job: &Seated) -> Option<usize> {
        let seat = self.seats.iter().position(Option::is_none)?;
        self.arrivals += 1;
        self.seats[seat] = Some(Seat { job, number: self.arrivals, stage: Stage::Waiting });
        Some(seat)
    }

    /// Whether it is a waiting call's turn, and with which partners: if there is a partner, or if
    /// it must not wait for one any longer.
    fn turn(&mut self, seat: usize, degree: usize, over: bool) -> Option<Partners> {
        let own = self.seats[seat].take()?;
        // SAFETY: the caller's own.
        let partners = self.take_partners(unsafe { &*own.job }, degree);
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
    fn take_partners(&mut self, job: &Seated, degree: usize) -> Partners {
        let mut partners = [None; MAX_LANES - 1];
        let count = (degree - 1).min(partners.len());
        for partner in &mut partners[..count] {
            // SAFETY: a call that waits keeps its job until its seat says otherwise.
            let same = |seat: &Seat| unsafe { (*seat.job).shape == job.shape };
            let same = self.waiting().filter(|(_, seat)| same(seat));
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
impl Coalescer {
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
