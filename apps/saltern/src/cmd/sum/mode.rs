//! `--binary`, `--text` and `--tag`, whose order on the command line counts.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

/// The three flags, resolved: the last one given decides between binary and text, and `--tag` means
/// binary.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mode {
    pub(super) tag: bool,
    pub(super) binary: bool,
    /// any of the three was given
    pub(super) given: bool,
}

impl clap::Args for Mode {
    fn augment_args(command: Command) -> Command {
        let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
        command
            .arg(flag("binary").short('b').help("Mark the lines with *, as for binary input"))
            .arg(flag("text").short('t').help("Mark the lines with a blank, as for text (default)"))
            .arg(flag("tag").help("Print lines that name the function: BLAKE2b (FILE) = DIGEST"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for Mode {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        // The last position of a flag on the command line; 0 if it is absent.
        let place = |name| match matches.value_source(name) {
            Some(ValueSource::CommandLine) => {
                matches.indices_of(name).and_then(Iterator::max).unwrap_or(0)
            }
            _ => 0,
        };
        let (binary, text, tag) = (place("binary"), place("text"), place("tag"));
        Ok(Self {
            tag: tag > 0,
            binary: binary.max(tag) > text,
            given: binary.max(text).max(tag) > 0,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
