//! Where a password comes from: the terminal, standard input or an open file descriptor; never the
//! command line.

use std::io::{self, IsTerminal, Read};

use anyhow::{Context, bail};
use saltern_wipe::Zeroizing;

use crate::descriptor::Descriptor;
use crate::output::warn;
pub(crate) use crate::secret::Password;
use crate::secret::push;
use crate::streams;
use crate::terminal::Terminal;

/// Longest password line read, in bytes; the limits decide what is hashed.
const MAX_LINE: usize = 1 << 20;

/// The error for an empty password for a new hash.
pub(crate) const EMPTY: &str = "the password is empty: give --allow-empty if that is intended";

/// How a subcommand is given the password.
#[derive(clap::Args)]
#[command(next_help_heading = "Password")]
pub(crate) struct PasswordArgs {
    /// Read the password from standard input
    ///
    /// One line is read, byte by byte, so that a script can go on reading where the password ended.
    /// Only the final newline is removed: a carriage return, blanks and bytes above 127 are part of
    /// the password. Input that ends before the first byte is an error.
    #[arg(long, short = 's', conflicts_with = "password_fd")]
    stdin: bool,

    /// Read the password from this open file descriptor, in the same way
    #[cfg(unix)]
    #[arg(long, short = 'P', value_name = "N")]
    password_fd: Option<Descriptor>,
}

/// How many times to ask at a prompt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prompt {
    /// Once, to compare with a stored hash.
    Once,
    /// Twice, since a typo in a new password would lock its owner out.
    Twice,
}

impl PasswordArgs {
    /// Whether the password is read from standard input, so that nothing else can be.
    pub(crate) fn takes_stdin(&self) -> bool {
        self.stdin || self.fd().is_some_and(|fd| fd.number == 0)
    }

    /// Get the password.
    ///
    /// Without an option the program asks for it on the terminal, even when standard input is
    /// something else, so that in a loop over a file it does not read a line of the file as the
    /// password. If there is no terminal at all, it reads a line of standard input, as getpass(3)
    /// does.
    pub(crate) fn read(&self, prompt: Prompt) -> anyhow::Result<Password> {
        if self.takes_stdin() {
            return from_stdin();
        }
        if let Some(fd) = self.fd() {
            let name = format!("file descriptor {}", fd.number);
            let file = fd.file();
            let mut file = file.with_context(|| format!("cannot read the password from {name}"))?;
            return read_line(&mut file, &name);
        }
        match ask(prompt)? {
            Some(password) => Ok(password),
            // The terminal would echo the password.
            None if io::stdin().is_terminal() => {
                bail!("cannot ask for the password on this terminal: use --stdin")
            }
            None => from_stdin(),
        }
    }

    fn fd(&self) -> Option<&Descriptor> {
        #[cfg(unix)]
        return self.password_fd.as_ref();
        #[cfg(not(unix))]
        None
    }
}

/// Ask on the terminal; `None` if there is none.
fn ask(prompt: Prompt) -> anyhow::Result<Option<Password>> {
    let Some(mut terminal) = Terminal::open()? else { return Ok(None) };
    let first = terminal.ask("Password: ")?;
    if prompt == Prompt::Twice && *terminal.ask("Again: ")? != *first {
        bail!("the two passwords differ: nothing was hashed");
    }
    Ok(Some(first))
}

/// One line of standard input.
fn from_stdin() -> anyhow::Result<Password> {
    let mut stdin = streams::stdin().context("cannot read standard input")?;
    read_line(&mut stdin, "standard input")
}

/// Read up to a newline or the end of the input, leaving no unwiped copies behind.
fn read_line(input: &mut impl Read, name: &str) -> anyhow::Result<Password> {
    let mut line = Zeroizing::new(Vec::with_capacity(256));
    let mut byte = Zeroizing::new([0]);
    loop {
        match input.read(&mut *byte) {
            Ok(0) if line.is_empty() => bail!("{name} ended before a password was read"),
            Ok(0) => break,
            Ok(_) if byte[0] == b'\n' => break,
            Ok(_) if line.len() == MAX_LINE => {
                bail!("the password on {name} is longer than {MAX_LINE} bytes")
            }
            Ok(_) => push(&mut line, byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(error).context(format!("cannot read the password from {name}"));
            }
        }
    }
    if line.last() == Some(&b'\r') {
        warn([format_args!(
            "the password on {name} ends in a carriage return, which is part of it"
        )]);
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(mut input: &[u8]) -> anyhow::Result<Vec<u8>> {
        read_line(&mut input, "the test").map(|line| line.to_vec())
    }

    #[test]
    fn only_the_newline_goes() {
        assert_eq!(line(b"a b \xff\0\r\nnext").unwrap(), b"a b \xff\0\r");
        assert_eq!(line(b"no newline").unwrap(), b"no newline");
        assert_eq!(line(b"\nnext").unwrap(), b"");
        assert!(line(b"").is_err());
    }

    #[test]
    fn long_lines_are_whole_or_refused() {
        let whole = vec![b'x'; MAX_LINE];
        assert_eq!(line(&whole).unwrap(), whole);
        assert!(line(&[b'x'; MAX_LINE + 1]).is_err());
    }

    #[test]
    fn the_rest_of_the_input_is_left_alone() {
        let mut input = &b"first\nsecond\n"[..];
        read_line(&mut input, "the test").unwrap();
        assert_eq!(input, b"second\n");
    }
}
