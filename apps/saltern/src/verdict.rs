//! Whether a password matches a stored string, or why that is not known.

use saltern::table::{Kind, identify};
use saltern::{Error, Outcome};
use saltern_yescrypt::{Scheme, Setting};

use crate::key::KeyArgs;
use crate::rom::RomArgs;
use crate::site::Origin;

/// What is known of a password and a stored string.
pub(crate) enum Verdict {
    /// With the update that is due under the policy of a file.
    Match(Option<Due>),
    Mismatch,
    /// `!` or `*`: no password matches.
    Locked,
    /// The account has no password.
    NoPassword,
    /// Another scheme, or a string that is kept in another file.
    Unsupported(String),
    /// Malformed, over the limits, or unknown.
    Error(String),
}

/// The update of a string that matches and is outdated.
pub(crate) struct Due {
    /// The ways in which it is outdated.
    pub(crate) reasons: Vec<&'static str>,
    /// The replacement, if it was requested.
    pub(crate) new: Option<String>,
}

impl Verdict {
    /// The verdict that depends on no password, if there is one: for accounts without a string, and
    /// for schemes that only the policy of a file can accept.
    pub(crate) fn known(stored: &str, origin: Origin) -> Option<Self> {
        let unsupported = match identify(stored) {
            Err(error) => return Some(Verdict::Error(error.to_string())),
            Ok(Kind::Locked) => return Some(Verdict::Locked),
            Ok(Kind::Empty) => return Some(Verdict::NoPassword),
            Ok(Kind::Shadowed) => "the string is in the shadow file".to_owned(),
            Ok(Kind::Ours(..)) => return None,
            Ok(_) if origin == Origin::File => return None,
            Ok(Kind::Foreign(known, _)) => match known.advice() {
                Some(advice) => format!("this program does not compute {known}: {advice}"),
                None => format!("{known} can be verified only with --policy"),
            },
            Ok(Kind::Wrapped { .. }) => {
                "a wrapped hash can be verified only with --policy".to_owned()
            }
            Ok(_) => "this can be verified only with --policy".to_owned(),
        };
        Some(Verdict::Unsupported(unsupported))
    }

    /// The verdict on a login.
    pub(crate) fn of(outcome: Result<Outcome, Error>, origin: Origin) -> Self {
        match outcome {
            Ok(Outcome::Match { outdated, update, .. }) => {
                let (reasons, new) = (outdated.words(), update.map(|update| update.new));
                let due = origin == Origin::File && (new.is_some() || !reasons.is_empty());
                Verdict::Match(due.then_some(Due { reasons, new }))
            }
            Ok(Outcome::Mismatch) => Verdict::Mismatch,
            Ok(Outcome::Locked) => Verdict::Locked,
            Err(error @ (Error::NotAccepted { .. } | Error::NoVerifier { .. })) => {
                Verdict::Unsupported(error.to_string())
            }
            Err(error) => Verdict::Error(origin.words(&error)),
        }
    }

    /// Whether the password matches, if that is known.
    pub(crate) fn matches(&self) -> Option<bool> {
        match self {
            Verdict::Match(_) => Some(true),
            Verdict::Mismatch => Some(false),
            _ => None,
        }
    }

    /// Why it is not known.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Verdict::Locked => "the account is locked, no password matches",
            Verdict::Unsupported(detail) | Verdict::Error(detail) => detail,
            _ => "the account has no password",
        }
    }

    /// Its name in the output.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Verdict::Match(_) => "match",
            Verdict::Mismatch => "mismatch",
            Verdict::Locked => "locked",
            Verdict::NoPassword => "no-password",
            Verdict::Unsupported(_) => "unsupported",
            Verdict::Error(_) => "error",
        }
    }

    pub(crate) fn due(&self) -> Option<&Due> {
        if let Verdict::Match(due) = self { due.as_ref() } else { None }
    }

    pub(crate) fn detail(&self) -> Option<&str> {
        match self {
            Verdict::Unsupported(detail) | Verdict::Error(detail) => Some(detail),
            _ => None,
        }
    }
}

/// Assumptions about strings that nothing in them confirms.
#[derive(Clone, Copy)]
pub(crate) struct Assumed {
    key: bool,
    rom: bool,
}

impl Assumed {
    pub(crate) fn new(key: &KeyArgs, rom: &RomArgs) -> Self {
        Assumed { key: key.assumes_unnamed(), rom: rom.assumes_unnamed() }
    }

    /// Other possible causes of a mismatch with this string.
    pub(crate) fn notes(self, stored: &str) -> Vec<String> {
        if !self.key && !self.rom {
            return Vec::new();
        }
        let Ok(Kind::Ours(_, text)) = identify(stored) else { return Vec::new() };
        let Ok(setting) = Setting::parse(text) else { return Vec::new() };
        let plain = setting.scheme() == Scheme::Yescrypt;
        let key = "the string names no key and was assumed to be encrypted with that of --assume-unnamed-key: \
                   if it is plain, or of another key, no password matches";
        let rom = "the string names no ROM and was assumed to need that of --assume-unnamed-rom: if it needs \
                   another one of the same size, no password matches";
        let unnamed_rom = setting.reads_rom() && !setting.names_rom();
        let notes = [
            (self.key && plain && setting.key_id().is_none()).then_some(key),
            (self.rom && plain && unnamed_rom).then_some(rom),
        ];
        notes.into_iter().flatten().map(str::to_owned).collect()
    }
}
