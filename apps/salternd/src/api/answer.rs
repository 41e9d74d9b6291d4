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
    /// Whether a string has changed.
    enum Sealing {
        /// It is sealed as wanted already, or has only the marks of a locked account.
        Unchanged = "unchanged",
        /// It is now sealed with the active key, or without a seal if none is active.
        Sealed = "sealed",
    }
}

answer! {
    /// A stored string was sealed for its account.
    struct Sealed {
        /// The outcome.
        outcome: Sealing,
        /// If it has changed: the string to store if the one that was sent is still there.
        hash: Option<String>,
    }
}

answer! {
    /// A string in a table that is not the one sealed for its account, or of which nobody knows it.
    struct Unsound {
        /// The line, counted from 1.
        line: u64,
        /// The id of the account, as it was sent.
        account: Option<String>,
        /// What is wrong.
        why: String,
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
        /// Sealed strings; if the policy has keys for seals, those with the right seal, and those
        /// that were sent without their account.
        sealed: u64,
        /// Strings with a hash and without a seal.
        unsealed: u64,
        /// Strings that are not the ones sealed for their accounts. Beside this they are counted
        /// only as accounts.
        tampered: u64,
        /// Strings with the seal of a key that the policy lacks. Beside this they are counted only
        /// as accounts.
        unknown_seals: u64,
        /// Strings that sealing would change.
        needs_seal: u64,
        /// The first 1000 strings that are tampered or have an unknown seal.
        unsound(default): Vec<Unsound>,
        /// Sealed strings by the name of the key.
        seals: BTreeMap<String, u64>,
        /// Strings sealed with further keys that the policy does not have, after the first 10 000.
        other_seals: u64,
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

never_left_out!(Hashing, Verdict, Freshness, Rekeying, Sealing, Counting, Completion);
