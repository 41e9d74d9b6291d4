//! The answers.

use std::collections::BTreeMap;

use super::protocol::{SkipField, answer, protocol_enum};

protocol_enum! {
    /// Outcome for a new password.
    enum Hashing {
        /// It was hashed.
        Hashed = "hashed",
    }
}

answer! {
    /// A new password was hashed.
    struct Hashed {
        /// The outcome.
        outcome: Hashing,
        /// The string to store.
        hash: String,
    }
}

protocol_enum! {
    /// Outcome of a login.
    enum Verdict {
        /// The password is wrong, or there is no such account.
        Mismatch = "mismatch",
        /// The password is right.
        Match = "match",
        /// The account is locked: no password matches.
        Locked = "locked",
    }
}

answer! {
    /// A login was checked.
    struct Verified {
        /// The outcome.
        outcome: Verdict,
        /// After a match: why the stored string is outdated, if it is.
        outdated(default): Vec<String>,
        /// After a match: the string to store if the one that was sent is still there.
        update: Option<String>,
        /// True after a match that was remembered from an earlier login, so that no hash was
        /// computed.
        remembered: Option<bool>,
    }
}

protocol_enum! {
    /// Whether a string is up to date.
    enum Freshness {
        /// It is.
        Current = "current",
        /// It is not: a login returns an update.
        Outdated = "outdated",
    }
}

answer! {
    /// A stored string was checked.
    struct Checked {
        /// The outcome.
        outcome: Freshness,
        /// Why it is outdated, if it is.
        outdated(default): Vec<String>,
    }
}

protocol_enum! {
    /// Whether a string has changed.
    enum Rekeying {
        /// It is encrypted as wanted already, or cannot be encrypted.
        Unchanged = "unchanged",
        /// It is now encrypted with the active key, or unencrypted if none is active.
        Rekeyed = "rekeyed",
    }
}

answer! {
    /// A stored string was re-encrypted with the active key.
    struct Rekeyed {
        /// The outcome.
        outcome: Rekeying,
        /// If it has changed: the string to store if the one that was sent is still there.
        hash: Option<String>,
    }
}

protocol_enum! {
    /// Outcome for a table.
    enum Counting {
        /// It was counted.
        Counted = "counted",
    }
}

answer! {
    /// A table of stored strings was counted.
    struct Counted {
        /// The outcome.
        outcome: Counting,
        /// Strings that could be read, including those of locked accounts.
        accounts: u64,
        /// Strings of locked accounts.
        locked: u64,
        /// Lines that could not be read. No other count includes them.
        bad: u64,
        /// Strings that the policy does not verify.
        refused: u64,
        /// Those of the refused whose scheme is known only by name, by that name.
        unsupported: BTreeMap<String, u64>,
        /// Strings that should be replaced for any reason.
        outdated: u64,
        /// Strings that re-encryption would change.
        needs_rekey: u64,
        /// Strings of other schemes that are not wrapped.
        needs_wrap: u64,
        /// Strings that only a login can replace.
        needs_login: u64,
        /// Strings of other schemes that are kept because they are stronger than new hashes.
        kept: u64,
        /// Strings below the floor.
        below_floor: u64,
        /// Wrapped strings.
        wrapped: u64,
        /// Strings by scheme.
        schemes: BTreeMap<String, u64>,
        /// Strings by cost, in the form of `decoy.costs` in a policy.
        costs: BTreeMap<String, u64>,
        /// Strings of all other costs, after the first 10 000 different ones.
        other_costs: u64,
        /// Encrypted strings by the name of the key.
        keys: BTreeMap<String, u64>,
        /// Strings of further keys that the policy does not have, after the first 10 000.
        other_keys: u64,
        /// Strings that need a ROM, by its id.
        roms: BTreeMap<String, u64>,
        /// Strings of further ROMs that the policy does not have, after the first 10 000.
        other_roms: u64,
    }
}

protocol_enum! {
    /// Outcome of a batch.
    enum Completion {
        /// Every line has an answer.
        Complete = "complete",
    }
}

answer! {
    /// The last line of the answer to a batch, sent only after the answers to all lines. If it is
    /// missing, the answer is incomplete.
    struct Completed {
        /// The outcome.
        outcome: Completion,
        /// Answers before this one: as many as there were lines that are not blank.
        answers: u64,
    }
}

macro_rules! never_left_out {
    ($($name:ty),*) => { $(impl SkipField for $name {})* };
}

never_left_out!(Hashing, Verdict, Freshness, Rekeying, Counting, Completion);
