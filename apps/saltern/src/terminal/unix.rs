//! The terminal of the session.
//!
//! Echo is turned off before the prompt appears, so that nothing typed (or pasted, or sent by a
//! script) in answer to it can show. The terminal's line editing is turned off, too, since it would
//! keep the password in its own buffer; the few keys that matter are handled here. The keys that
//! send signals work as usual.
//!
//! When anything ends or stops the program, the terminal is restored first, and silenced again when
//! the program continues. In the background the program does not touch the terminal, which then
//! belongs to another one.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcgetpgrp, tcsetattr,
};
use saltern_wipe::{Zeroize, Zeroizing};
use signal_hook::consts::{SIGCONT, SIGTSTP, SIGTTIN};

use super::signals::{self, Signals};
use crate::secret::{Password, push};

/// The terminal of the session, silent until this is dropped.
pub(crate) struct Terminal {
    tty: File,
    before: Termios,
    silent: Termios,
    signals: &'static Signals,
}

/// The program was stopped and continued: the prompt is shown again.
struct Stopped;

impl Terminal {
    /// Silence the terminal; `None` if the session has none. Discards what was typed ahead.
    pub(crate) fn open() -> anyhow::Result<Option<Terminal>> {
        // Never blocks: signals are handled even while output is held (Ctrl-S).
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let tty = File::options().read(true).write(true).custom_flags(flags).open("/dev/tty");
        let Some(tty) = if_there(tty).context("cannot open the terminal")? else { return Ok(None) };
        let Ok(before) = tcgetattr(&tty) else { return Ok(None) };
        let signals = Signals::hold().context("cannot hold signals back while asking")?;
        let mut silent = before.clone();
        let noisy = LocalModes::ECHO | LocalModes::ECHONL;
        silent.local_modes.remove(noisy | LocalModes::ICANON);
        silent.special_codes[SpecialCodeIndex::VMIN] = 1;
        silent.special_codes[SpecialCodeIndex::VTIME] = 0;
        let terminal = Terminal { tty, before, silent, signals };
        Ok(terminal.silence().is_ok().then_some(terminal))
    }

    /// Ask a question and read the answer: the bytes typed up to the end of the line.
    pub(crate) fn ask(&mut self, question: &str) -> anyhow::Result<Password> {
        let mut line = Zeroizing::new(Vec::with_capacity(256));
        loop {
            self.say(question.as_bytes())?;
            let Some(answer) = self.read_line(&mut line) else {
                line.zeroize();
                continue;
            };
            self.say(b"\n")?;
            return answer.map(|()| line);
        }
    }

    /// `None` if the program was stopped meanwhile.
    fn read_line(&mut self, line: &mut Password) -> Option<anyhow::Result<()>> {
        loop {
            let byte = match self.read_byte(line) {
                Ok(byte) => byte.ok()?,
                Err(error) => {
                    return Some(Err(error).context("cannot read the password from the terminal"));
                }
            };
            let nothing = || anyhow::anyhow!("no password was entered");
            match self.key(byte) {
                Key::End => return Some(Ok(())),
                Key::EndOfFile if line.is_empty() => return Some(Err(nothing())),
                Key::EndOfFile => return Some(Ok(())),
                Key::Erase => erase(line),
                Key::Kill => line.zeroize(),
                Key::Part => push(line, byte),
                // For example an arrow key. Guessing its meaning could result in another password.
                Key::Control => {
                    return Some(Err(anyhow::anyhow!(
                        "a control character (0x{byte:02x}) was typed: use --stdin for a password that has one"
                    )));
                }
            }
        }
    }

    /// The next byte that is typed.
    fn read_byte(&mut self, line: &mut Password) -> io::Result<Result<u8, Stopped>> {
        let mut byte = Zeroizing::new([0]);
        loop {
            if let Err(stopped) = self.heed(line)? {
                return Ok(Err(stopped));
            }
            match self.tty.read(&mut *byte) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => return Ok(Ok(byte[0])),
                Err(error) => self.wait(error, PollFlags::IN)?,
            }
        }
    }

    fn say(&mut self, mut text: &[u8]) -> anyhow::Result<()> {
        let context = "cannot ask for the password on the terminal";
        while !text.is_empty() {
            // Nothing was typed yet that must be forgotten.
            let _ = self.heed(&mut Password::default()).context(context)?;
            match self.tty.write(text) {
                Ok(count) => text = &text[count..],
                Err(error) => self.wait(error, PollFlags::OUT).context(context)?,
            }
        }
        Ok(())
    }

    /// After a call that would have blocked, wait until it would not, or until there is a signal to
    /// handle.
    fn wait(&self, error: io::Error, events: PollFlags) -> io::Result<()> {
        match error.kind() {
            io::ErrorKind::WouldBlock => {}
            io::ErrorKind::Interrupted => return Ok(()),
            _ => return Err(error),
        }
        let tty = PollFd::new(&self.tty, events);
        match poll(&mut [tty, PollFd::new(self.signals, PollFlags::IN)], None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Let the signals that have arrived take effect, after wiping what was typed.
    fn heed(&self, line: &mut Password) -> io::Result<Result<(), Stopped>> {
        self.signals.collect();
        self.heed_ending(line);
        let stop = self.signals.take(SIGTSTP) | self.signals.take(SIGTTIN);
        if stop {
            line.zeroize();
            self.abandon();
            signals::stop()?;
        } else if !self.signals.take(SIGCONT) && self.is_in_foreground() {
            return Ok(Ok(()));
        }
        self.silence()?;
        Ok(Err(Stopped))
    }

    fn heed_ending(&self, line: &mut Password) {
        if let Some(signal) = self.signals.take_ending() {
            line.zeroize();
            self.abandon();
            signals::end(signal);
        }
    }

    /// Silence the terminal. In the background, this waits until the program is brought to the
    /// foreground.
    fn silence(&self) -> io::Result<()> {
        while !self.is_in_foreground() {
            self.signals.collect();
            self.signals.take(SIGCONT);
            signals::stop()?;
            self.signals.collect();
            self.heed_ending(&mut Password::default());
            if !self.signals.take(SIGCONT) {
                // A program without a controlling shell is not stopped; the next call reports the
                // error.
                break;
            }
        }
        self.signals.collect();
        self.signals.take(SIGCONT);
        tcsetattr(&self.tty, OptionalActions::Now, &self.silent)?;
        Ok(tcflush(&self.tty, QueueSelector::IFlush)?)
    }

    /// The meaning of a byte on this terminal.
    fn key(&self, byte: u8) -> Key {
        let code = |index| self.before.special_codes[index] == byte && byte != 0;
        match byte {
            b'\r' | b'\n' => Key::End,
            _ if code(SpecialCodeIndex::VEOF) => Key::EndOfFile,
            _ if code(SpecialCodeIndex::VKILL) => Key::Kill,
            _ if code(SpecialCodeIndex::VERASE) => Key::Erase,
            // Backspace: terminals send one or the other.
            0x08 | 0x7f => Key::Erase,
            0..0x20 => Key::Control,
            _ => Key::Part,
        }
    }

    /// Restore the terminal, and discard what was typed of a password that will not be read.
    fn abandon(&self) {
        if self.is_in_foreground() {
            let _ = tcflush(&self.tty, QueueSelector::IFlush);
            self.restore();
        }
    }

    fn restore(&self) {
        if self.is_in_foreground() {
            // If this fails the terminal is gone.
            let _ = tcsetattr(&self.tty, OptionalActions::Now, &self.before);
        }
    }

    /// Whether the program is in the foreground and may change the terminal. If the terminal is
    /// gone, its use fails.
    fn is_in_foreground(&self) -> bool {
        tcgetpgrp(&self.tty).map_or(true, |group| group == getpgrp())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.restore();
        self.signals.release();
    }
}

/// `None` if the session has no terminal. Lack of descriptors or memory is an error instead:
/// somebody may be using the terminal.
fn if_there(tty: io::Result<File>) -> io::Result<Option<File>> {
    match tty {
        Ok(tty) => Ok(Some(tty)),
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => Err(error),
            _ => Ok(None),
        },
    }
}

enum Key {
    /// Part of the password.
    Part,
    End,
    EndOfFile,
    Erase,
    Kill,
    Control,
}

/// Remove the last character: its UTF-8 continuation bytes, and the byte before them.
fn erase(line: &mut Password) {
    while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_goes_at_a_time() {
        let mut line = Zeroizing::new("aë☃".as_bytes().to_vec());
        for left in ["aë", "a", "", ""] {
            erase(&mut line);
            assert_eq!(*line, left.as_bytes());
        }
    }

    #[test]
    fn want_of_descriptors_is_no_want_of_a_terminal() {
        let opened = |errno: Errno| if_there(Err(errno.into()));
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOMEM] {
            assert!(opened(errno).is_err(), "{errno}");
        }
        for errno in [Errno::NXIO, Errno::NOENT, Errno::ACCESS] {
            assert!(opened(errno).unwrap().is_none(), "{errno}");
        }
    }
}
