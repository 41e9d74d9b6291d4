//! Answers on the side of the service.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::answer::{
    Checked, Completed, Completion, Counted, Counting, Freshness, Hashed, Hashing,
};
use super::answer::{Rekeyed, Rekeying, Sealed, Sealing, Unsound, Verdict, Verified};
use super::problem::Problem;
use super::schema::Schema;

/// The result of a successful request.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Answer {
    /// The answer for a new password.
    Hashed(Hashed),
    /// The answer for a login.
    Verified(Verified),
    /// The answer for a stored string.
    Checked(Checked),
    /// The answer for re-encrypting a stored string.
    Rekeyed(Rekeyed),
    /// The answer for sealing a stored string.
    Sealed(Sealed),
    /// The answer for a table.
    Counted(Box<Counted>),
}

impl Answer {
    pub(crate) fn hashed(hash: String) -> Self {
        Answer::Hashed(Hashed { outcome: Hashing::Hashed, hash })
    }

    /// A login that does not match.
    pub(crate) fn refused(outcome: Verdict) -> Self {
        let (outdated, update, remembered) = (Vec::new(), None, None);
        Answer::Verified(Verified { outcome, outdated, update, remembered })
    }

    pub(crate) fn matched(outdated: Vec<String>, update: Option<String>, remembered: bool) -> Self {
        let (outcome, remembered) = (Verdict::Match, remembered.then_some(true));
        Answer::Verified(Verified { outcome, outdated, update, remembered })
    }

    pub(crate) fn checked(outdated: Vec<String>) -> Self {
        let outcome = if outdated.is_empty() { Freshness::Current } else { Freshness::Outdated };
        Answer::Checked(Checked { outcome, outdated })
    }

    pub(crate) fn rekeyed(hash: Option<String>) -> Self {
        let outcome = if hash.is_some() { Rekeying::Rekeyed } else { Rekeying::Unchanged };
        Answer::Rekeyed(Rekeyed { outcome, hash })
    }

    pub(crate) fn sealed(hash: Option<String>) -> Self {
        let outcome = if hash.is_some() { Sealing::Sealed } else { Sealing::Unchanged };
        Answer::Sealed(Sealed { outcome, hash })
    }

    pub(crate) fn counted(census: saltern::table::Census, unsound: Vec<Unsound>) -> Self {
        let schemes = census.schemes.iter().map(|(name, count)| (name.to_string(), *count));
        Answer::Counted(Box::new(Counted {
            outcome: Counting::Counted,
            accounts: census.accounts,
            locked: census.locked,
            bad: census.bad,
            refused: census.refused,
            unsupported: census.unsupported,
            outdated: census.outdated,
            needs_rekey: census.needs_rekey,
            needs_wrap: census.needs_wrap,
            needs_login: census.needs_login,
            kept: census.kept,
            below_floor: census.below_floor,
            wrapped: census.wrapped,
            sealed: census.sealed,
            unsealed: census.unsealed,
            tampered: census.tampered,
            unknown_seals: census.unknown_seals,
            needs_seal: census.needs_seal,
            unsound,
            seals: census.seals,
            other_seals: census.other_seals,
            schemes: schemes.collect(),
            costs: census.costs,
            other_costs: census.other_costs,
            keys: census.keys,
            other_keys: census.other_keys,
            roms: census.roms,
            other_roms: census.other_roms,
        }))
    }

    /// The name of its outcome.
    #[must_use]
    pub const fn outcome(&self) -> &'static str {
        match self {
            Answer::Hashed(hashed) => hashed.outcome.word(),
            Answer::Verified(verified) => verified.outcome.word(),
            Answer::Checked(checked) => checked.outcome.word(),
            Answer::Rekeyed(rekeyed) => rekeyed.outcome.word(),
            Answer::Sealed(sealed) => sealed.outcome.word(),
            Answer::Counted(counted) => counted.outcome.word(),
        }
    }
}

/// The answer to one line of a batch: an answer or a problem, and the number of the line.
#[derive(Serialize)]
pub(crate) struct Line<'a> {
    line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    #[serde(flatten)]
    result: Value,
}

impl<'a> Line<'a> {
    pub(crate) fn new(
        line: u64,
        id: Option<&'a RawValue>,
        result: &Result<Answer, Problem>,
    ) -> Self {
        let result = match result {
            Ok(answer) => serde_json::to_value(answer).unwrap_or_default(),
            Err(problem) => problem.json(),
        };
        Line { line, id, result }
    }

    /// The final line, after this many answers.
    pub(crate) const fn last(answers: u64) -> Completed {
        Completed { outcome: Completion::Complete, answers }
    }

    /// Its schema: the answers to single requests, and the number.
    pub(crate) fn schema() -> Value {
        let line = json!({
            "type": "object",
            "description": "Which line of the batch this answers.",
            "properties": {
                "line": { "type": "integer", "minimum": 1, "description": "Counted from 1." },
                "id": { "description": "The `id` of the line." },
            },
            "required": ["line"],
        });
        let either = ["Hashed", "Verified", "Checked", "Rekeyed", "Sealed", "Problem"];
        let either = either.map(|name| {
            json!({ "type": "object", "description": format!("With the fields of {name}.") })
        });
        let one = json!({ "allOf": [line, { "anyOf": either }] });
        json!({ "oneOf": [one, { "$ref": "#/components/schemas/Completed" }] })
    }
}

/// The names and schemas of answers.
pub(crate) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("Hashed", Hashed::schema()),
        ("Verified", Verified::schema()),
        ("Checked", Checked::schema()),
        ("Rekeyed", Rekeyed::schema()),
        ("Sealed", Sealed::schema()),
        ("Counted", Counted::schema()),
        ("Line", Line::schema()),
        ("Completed", Completed::schema()),
        ("Problem", Problem::schema()),
    ]
}
