//! Asking on the terminal without echo.
//!
//! Echo goes off before the question appears, so that nothing typed (or pasted, or sent by a script) in answer to it
//! can show. The terminal's own line editing goes off, too, since its way of interrupting a program would leave the terminal
//! without echo; the few keys that matter are handled here.

#[cfg(unix)]
pub(crate) use unix::Terminal;

#[cfg(not(unix))]
pub(crate) use elsewhere::Terminal;

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::{self, Read, Write};

    use anyhow::{Context, bail};
    use rustix::process::{Signal, getpid, kill_process};
    use rustix::termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
    };
    use zeroize::Zeroizing;

    use crate::password::{Password, push};

    /// The terminal of the session, silent until this is dropped.
    pub(crate) struct Terminal {
        tty: File,
        before: Termios,
    }

    impl Terminal {
        /// Silence the terminal; `None` if the session has none. What was typed ahead is thrown away.
        pub(crate) fn open() -> Option<Terminal> {
            let tty = File::options().read(true).write(true).open("/dev/tty").ok()?;
            let before = tcgetattr(&tty).ok()?;
            let mut silent = before.clone();
            let noisy = LocalModes::ECHO | LocalModes::ECHONL;
            silent.local_modes.remove(noisy | LocalModes::ICANON | LocalModes::ISIG);
            silent.special_codes[SpecialCodeIndex::VMIN] = 1;
            silent.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(&tty, OptionalActions::Flush, &silent).ok()?;
            Some(Terminal { tty, before })
        }

        /// Ask a question and read the answer: the bytes typed up to the end of the line.
        pub(crate) fn ask(&mut self, question: &str) -> anyhow::Result<Password> {
            let context = "cannot ask for the password on the terminal";
            self.tty.write_all(question.as_bytes()).context(context)?;
            let answer = self.read_line();
            self.tty.write_all(b"\n").context(context)?;
            answer
        }

        fn read_line(&mut self) -> anyhow::Result<Password> {
            let mut line = Zeroizing::new(Vec::with_capacity(256));
            loop {
                let byte =
                    self.read_byte().context("cannot read the password from the terminal")?;
                match self.key(byte) {
                    Key::End => return Ok(line),
                    Key::EndOfFile if line.is_empty() => bail!("no password was entered"),
                    Key::EndOfFile => return Ok(line),
                    Key::Erase => erase(&mut line),
                    Key::Kill => line.clear(),
                    Key::Interrupt => self.interrupt()?,
                    Key::Part => push(&mut line, byte),
                    // An arrow key, say. Guessing what was meant could make another password of it.
                    Key::Control => bail!(
                        "a control character (0x{byte:02x}) was typed: use --stdin for a password that has one"
                    ),
                }
            }
        }

        fn read_byte(&mut self) -> io::Result<u8> {
            let mut byte = Zeroizing::new([0]);
            self.tty.read_exact(&mut *byte)?;
            Ok(byte[0])
        }

        /// What a byte means on this terminal.
        fn key(&self, byte: u8) -> Key {
            let code = |index| self.before.special_codes[index] == byte && byte != 0;
            match byte {
                b'\r' | b'\n' => Key::End,
                _ if code(SpecialCodeIndex::VINTR) || code(SpecialCodeIndex::VQUIT) => {
                    Key::Interrupt
                }
                _ if code(SpecialCodeIndex::VEOF) => Key::EndOfFile,
                _ if code(SpecialCodeIndex::VKILL) => Key::Kill,
                _ if code(SpecialCodeIndex::VERASE) => Key::Erase,
                // Backspace, whichever of the two the terminal sends.
                0x08 | 0x7f => Key::Erase,
                0..0x20 => Key::Control,
                _ => Key::Part,
            }
        }

        /// End the program as the interrupt key does elsewhere, but with the terminal as it was.
        fn interrupt(&mut self) -> anyhow::Result<()> {
            self.restore();
            kill_process(getpid(), Signal::INT).context("interrupted")?;
            bail!("interrupted")
        }

        fn restore(&self) {
            // Where this fails the terminal is gone.
            let _ = tcsetattr(&self.tty, OptionalActions::Now, &self.before);
        }
    }

    impl Drop for Terminal {
        fn drop(&mut self) {
            self.restore();
        }
    }

    enum Key {
        /// Belongs to the password.
        Part,
        End,
        EndOfFile,
        Erase,
        Kill,
        Interrupt,
        Control,
    }

    /// Remove the last character: the bytes that continue one in UTF-8, and the one before.
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
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use crate::password::Password;

    /// No terminal is known here.
    pub(crate) enum Terminal {}

    impl Terminal {
        /// Always `None`.
        pub(crate) fn open() -> Option<Terminal> {
            None
        }

        /// Cannot be called.
        pub(crate) fn ask(&mut self, _question: &str) -> anyhow::Result<Password> {
            match *self {}
        }
    }
}
