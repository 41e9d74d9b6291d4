//! What is answered.

use std::collections::BTreeMap;

use super::words::{Left, answer, words};

words! {
    /// What came of a new password.
    enum Hashing {
        /// It was hashed.
        Hashed = "hashed",
    }
}

answer! {
    /// A new password was hashed.
    struct Hashed {
        /// What came of it.
        outcome: Hashing,
        /// The string to store.
        hash: String,
    }
}

words! {
    /// What came of a login.
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
    /// A login was looked at.
    struct Verified {
        /// What came of it.
        outcome: Verdict,
        /// After a match: why the stored string is outdated, if it is.
        outdated(default): Vec<String>,
        /// After a match: the string to store where the one that was sent still stands.
        update: Option<String>,
    }
}

words! {
    /// Whether a string is as new ones are.
    enum Freshness {
        /// It is.
        Current = "current",
        /// It is not: a login has an update.
        Outdated = "outdated",
    }
}

answer! {
    /// A stored string was looked at.
    struct Checked {
        /// What came of it.
        outcome: Freshness,
        /// Why it is outdated, if it is.
        outdated(default): Vec<String>,
    }
}

words! {
    /// Whether a string has changed.
    enum Rekeying {
        /// It is as it is to be, or cannot be encrypted.
        Unchanged = "unchanged",
        /// It is encrypted with the active key now, or with none if none is active.
        Rekeyed = "rekeyed",
    }
}

answer! {
    /// A stored string was moved to the active key.
    struct Rekeyed {
        /// What came of it.
        outcome: Rekeying,
        /// The string to store where the one that was sent still stands, if it has changed.
        hash: Option<String>,
    }
}

words! {
    /// What came of a table.
    enum Counting {
        /// It was counted.
        Counted = "counted",
    }
}

answer! {
    /// A table of stored strings was counted.
    struct Counted {
        /// What came of it.
        outcome: Counting,
        /// Strings that could be read, those of locked accounts among them.
        accounts: u64,
        /// Strings of locked accounts.
        locked: u64,
        /// Lines that could not be read. They are in none of the other counts.
        bad: u64,
        /// Strings that the policy does not verify.
        refused: u64,
        /// Strings for which there is any reason to replace them.
        outdated: u64,
        /// Strings that only a login can replace.
        needs_login: u64,
        /// Strings below the floor.
        below_floor: u64,
        /// Wrapped strings.
        wrapped: u64,
        /// Strings by scheme.
        schemes: BTreeMap<String, u64>,
        /// Strings by cost, in the form of `decoy.costs` in a policy.
        costs: BTreeMap<String, u64>,
        /// Strings of further costs, beyond the first 10 000 different ones.
        other_costs: u64,
        /// Encrypted strings by the name of the key.
        keys: BTreeMap<String, u64>,
        /// Strings of keys that the policy does not have, after 10 000 different ones.
        other_keys: u64,
        /// Strings that need a ROM, by its id.
        roms: BTreeMap<String, u64>,
        /// Strings of ROMs that the policy does not have, after 10 000 different ones.
        other_roms: u64,
    }
}

words! {
    /// What came of a batch.
    enum Completion {
        /// There is an answer to each line.
        Complete = "complete",
    }
}

answer! {
    /// The last line of the answer to a batch, if there is one to each line that was sent. Without
    /// it something is missing.
    struct Completed {
        /// What came of it.
        outcome: Completion,
        /// Answers before this one: as many as there were lines that are not blank.
        answers: u64,
    }
}

macro_rules! never_left_out {
    ($($name:ty),*) => { $(impl Left for $name {})* };
}

never_left_out!(Hashing, Verdict, Freshness, Rekeying, Counting, Completion);
