//! Combinations that are not allowed in a policy.

use std::time::Duration;

use saltern_yescrypt::{Hasher, Params};

use super::{Firebase, FirebaseParameters, Key, Policy, Remember};
use crate::cost_class::example;
use crate::error::Error;
use crate::invalid::Invalid;
use crate::rehash::Replace;
use crate::scheme::Scheme;
use crate::stored::Hash;
use crate::strength::Strength;

/// The most that a hash takes beside [`Params::memory`]: a page of the largest kind requested, and
/// a block.
const BESIDE: u64 = 2 << 20;

/// The bytes that one hash with these parameters may take from a pool's memory; the pool must have
/// at least this much.
#[must_use]
pub fn memory_needed(params: &Params) -> u64 {
    u64::try_from(params.memory()).unwrap_or(u64::MAX).saturating_add(BESIDE)
}

impl Policy {
    /// Checks the policy for contradictions, as far as possible without reading files.
    ///
    /// # Errors
    /// [`Invalid`], which names the first invalid field as files spell it.
    pub fn check(&self) -> Result<(), Invalid> {
        self.check_params()?;
        self.check_schemes()?;
        self.check_names()?;
        self.check_pool()?;
        self.check_remember()?;
        self.check_firebase()?;
        self.check_decoy()
    }

    /// New hashes must be within the limits and not below the floor.
    fn check_params(&self) -> Result<(), Invalid> {
        let hasher = Hasher::new().with_params(self.params).with_limits(self.limits.clone());
        let fits = hasher.setting([0; 16]);
        let refused = |error| format!("a cost that [limits] admits for new hashes ({error})");
        fits.map_err(|error| Invalid::new("params", shown(&self.params), refused(error)))?;
        if self.params.flags() != Some(182) || self.params.nrom != 0 {
            let allowed = "yescrypt of the default flavour, without NROM: the active ROM sets it";
            return Err(Invalid::new("params", shown(&self.params), allowed));
        }
        let floor = self.floor.check(&saltern_yescrypt::Limits::unlimited());
        floor.map_err(|error| {
            Invalid::new("floor", shown(&self.floor), format!("a valid cost ({error})"))
        })?;
        if Strength::of_params(&self.floor) > Strength::of_params(&self.params) {
            let allowed = "at most the cost of [params]: new hashes would be below the floor";
            return Err(Invalid::new("floor", shown(&self.floor), allowed));
        }
        if self.min_salt > 16 {
            let allowed = "0 to 16: new hashes have salts of 16 bytes";
            return Err(Invalid::new("floor.salt", self.min_salt, allowed));
        }
        Ok(())
    }

    fn check_schemes(&self) -> Result<(), Invalid> {
        if !self.schemes.contains(&Scheme::Yescrypt) {
            let all = self.schemes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let allowed = "a list with \"yescrypt\": new hashes are of this scheme";
            return Err(Invalid::new("schemes", all, allowed));
        }
        for (at, scheme) in self.schemes.iter().enumerate() {
            let key = format!("schemes[{at}]");
            if let Some(feature) = scheme.missing_feature() {
                let allowed = format!("a scheme of this build: it lacks the feature `{feature}`");
                return Err(Invalid::new(key, scheme, allowed));
            }
            if self.schemes[..at].contains(scheme) {
                return Err(Invalid::new(key, scheme, "each scheme once"));
            }
        }
        let Replace::Schemes(replaced) = &self.replace else { return Ok(()) };
        if replaced.is_empty() {
            return Err(Invalid::new("replace", "", "at least one scheme, or \"weaker\""));
        }
        for (at, scheme) in replaced.iter().enumerate() {
            let wrong = |allowed: &str| Invalid::new(format!("replace[{at}]"), scheme, allowed);
            if *scheme == Scheme::Yescrypt {
                return Err(wrong("another scheme than that of new hashes"));
            }
            if !self.schemes.contains(scheme) {
                return Err(wrong("one of `schemes`: no other strings are verified"));
            }
            if replaced[..at].contains(scheme) {
                return Err(wrong("each scheme once"));
            }
        }
        Ok(())
    }

    /// Names of keys and ids of ROMs must be unique, and at most one of each may be active.
    fn check_names(&self) -> Result<(), Invalid> {
        check_keys("keys", &self.keys)?;
        check_keys("seal.keys", &self.seal.keys)?;
        if self.seal.required && self.seal.keys.iter().all(|key| !key.active) {
            let allowed = "false while no key of [[seal.keys]] is active: new strings would have \
                           no seal";
            return Err(Invalid::new("seal.required", true, allowed));
        }
        for (at, rom) in self.roms.iter().enumerate() {
            let before = &self.roms[..at];
            if before.iter().any(|other| other.id == rom.id) {
                return Err(Invalid::new(format!("roms[{at}].hash"), rom.id, "each ROM once"));
            }
            if rom.active && before.iter().any(|other| other.active) {
                let place = format!("roms[{at}].active");
                return Err(Invalid::new(place, true, "true for one ROM only"));
            }
        }
        if let Some(assumed) =
            self.assume_unnamed_rom.filter(|id| self.roms.iter().all(|rom| rom.id != *id))
        {
            return Err(Invalid::new("assume_unnamed_rom", assumed, "the id of one of the ROMs"));
        }
        if self.check_roms.is_zero() {
            return Err(Invalid::new("check_roms", "0s", "a time above zero"));
        }
        if !self.roms.is_empty() && !self.limits.rom {
            return Err(Invalid::new("limits.rom", false, "true if there are ROMs"));
        }
        Ok(())
    }

    fn check_pool(&self) -> Result<(), Invalid> {
        use saltern_yescrypt::Error::InvalidParameter;
        match self.pool.check() {
            Err(saltern_pool::Error::Hash(InvalidParameter { name, value, expected })) => {
                let key = match name {
                    "number of threads" => "pool.threads",
                    "number of hashes in flight" => "pool.in_flight",
                    "number of waiting items" => "pool.queue",
                    _ => "pool",
                };
                return Err(Invalid::new(key, value, expected));
            }
            Err(saltern_pool::Error::OverBudget { needed, limit }) => {
                let allowed = format!("at least {needed} bytes, which the threads prepare");
                return Err(Invalid::new("pool.memory", limit, allowed));
            }
            Err(error) => return Err(Invalid::new("pool", "", error.to_string())),
            Ok(()) => {}
        }
        let needed = memory_needed(&self.params);
        if self.pool.memory < needed {
            let allowed = format!("at least {needed} bytes, which one new hash may take");
            return Err(Invalid::new("pool.memory", self.pool.memory, allowed));
        }
        if self.deadline.is_some_and(|deadline| deadline.is_zero()) {
            return Err(Invalid::new("pool.deadline", "0s", "a time above zero"));
        }
        Ok(())
    }

    fn check_remember(&self) -> Result<(), Invalid> {
        let Some(Remember { time, entries }) = &self.remember else { return Ok(()) };
        if time.is_zero() || *time > Duration::from_secs(86_400) {
            let (key, value) = ("remember.time", format!("{}s", time.as_secs_f64()));
            return Err(Invalid::new(key, value, "a time above zero, at most a day: \"1440min\""));
        }
        if !(1..=1 << 22).contains(entries) {
            return Err(Invalid::new("remember.entries", entries, "1 to 4194304"));
        }
        Ok(())
    }

    /// Strings with these parameters must be verified.
    fn check_firebase(&self) -> Result<(), Invalid> {
        let Some(Firebase { parameters, .. }) = &self.firebase else { return Ok(()) };
        let FirebaseParameters { key, separator, rounds, mem_cost } = parameters;
        if key.fingerprint().is_none() || key.as_str() != "firebase" {
            let allowed = "the name `firebase` with the fingerprint of the signer key";
            return Err(Invalid::new("firebase.fingerprint", key, allowed));
        }
        if separator.len() > 64 {
            let allowed = "at most 64 bytes";
            return Err(Invalid::new("firebase.salt_separator", separator.len(), allowed));
        }
        // Beyond this no N is a number.
        let n = 1_u64.checked_shl(*mem_cost).unwrap_or(0);
        let params = Params::scrypt(n, *rounds, 1);
        let over = |error| format!("a cost that [limits] admits ({error})");
        let fits = params.check(&self.limits);
        fits.map(drop).map_err(|error| Invalid::new("firebase.mem_cost", mem_cost, over(error)))
    }

    /// Decoys must be computable: they are refused for the same reasons as stored strings.
    fn check_decoy(&self) -> Result<(), Invalid> {
        let costs = &self.decoy.costs;
        if costs.len() > 1 && self.decoy.key.is_none() {
            let allowed = "a key file if there are several costs: anyone who can predict the \
                           choice can recognise unknown accounts";
            return Err(Invalid::new("decoy.key", "", allowed));
        }
        for (at, cost) in costs.iter().enumerate() {
            let (like, share) =
                (format!("decoy.costs[{at}].like"), format!("decoy.costs[{at}].share"));
            let refused = |error: Error| format!("a string that this policy can verify ({error})");
            let admitted = example(&cost.like).and_then(|hash| {
                self.admit(&hash)?;
                Ok(memory(&hash))
            });
            let refuse = |allowed: String| Invalid::new(&*like, &cost.like, allowed);
            let needed = admitted.map_err(|error| refuse(refused(error)))?;
            if needed > self.pool.memory {
                let limit = self.pool.memory;
                let allowed = format!("a cost within pool.memory, {limit} bytes ({needed})");
                return Err(refuse(allowed));
            }
            if cost.share == 0 || cost.share > 1 << 48 {
                return Err(Invalid::new(share, cost.share, "1 to 2^48"));
            }
        }
        Ok(())
    }

    /// Checks that a stored string is of an accepted scheme, and costs no more than allowed, even
    /// with the longest password that the policy takes: whether an account can log in must not
    /// depend on what is typed there, and a census, which has no password, must say the same.
    pub(crate) fn admit(&self, hash: &Hash) -> Result<(), Error> {
        let scheme = hash.scheme();
        if !self.schemes.contains(&scheme) {
            return Err(Error::NotAccepted { scheme });
        }
        if let Some(ours) = hash.ours() {
            ours.setting().params().check(&self.limits)?;
        }
        let Some(setting) = hash.foreign() else { return Ok(()) };
        let cost = setting.cost(self.limits.max_password);
        let limits = [
            ("memory", cost.memory, self.limits.max_memory),
            ("work", cost.work, self.limits.max_work),
        ];
        let over = limits.into_iter().find(|(_, value, limit)| value > limit);
        over.map_or(Ok(()), |(what, value, limit)| {
            Err(Error::OverLimit { scheme, what, value, limit })
        })
    }
}

/// Names must be unique, and at most one key may be active.
fn check_keys(list: &str, keys: &[Key]) -> Result<(), Invalid> {
    for (at, key) in keys.iter().enumerate() {
        let before = &keys[..at];
        if before.iter().any(|other| other.name.as_str() == key.name.as_str()) {
            return Err(Invalid::new(format!("{list}[{at}].name"), key.name, "each name once"));
        }
        if key.active && before.iter().any(|other| other.active) {
            let place = format!("{list}[{at}].active");
            return Err(Invalid::new(place, true, "true for one key only"));
        }
    }
    Ok(())
}

/// The most bytes that one computation of a hash takes from a pool's memory.
fn memory(hash: &Hash) -> u64 {
    let ours = hash.ours().map_or(0, |ours| memory_needed(ours.setting().params()));
    ours.max(hash.memory())
}

/// Costs in readable form.
fn shown(params: &Params) -> String {
    let Params { n, r, p, t, .. } = params;
    format!("n {n}, r {r}, p {p}, t {t}")
}
