//! Asking on the terminal without echo.

#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod unix;

#[cfg(unix)]
pub(crate) use self::unix::Terminal;

#[cfg(not(unix))]
pub(crate) use self::elsewhere::Terminal;

#[cfg(not(unix))]
mod elsewhere {
    use crate::secret::Password;

    /// Terminals are not supported on this system.
    pub(crate) enum Terminal {}

    impl Terminal {
        /// Always `None`.
        pub(crate) fn open() -> anyhow::Result<Option<Terminal>> {
            Ok(None)
        }

        /// Cannot be called.
        pub(crate) fn ask(&mut self, _question: &str) -> anyhow::Result<Password> {
            match *self {}
        }
    }
}
