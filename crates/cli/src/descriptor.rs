//! Descriptors that the program was started with and is told to read by their numbers.

use std::fs::File;
use std::io;
use std::num::ParseIntError;
use std::str::FromStr;
use std::sync::Arc;

/// The file behind a descriptor, opened while the command line is parsed: later the number could be
/// that of a file which the program has opened itself.
#[derive(Clone)]
pub(crate) struct Descriptor {
    pub(crate) number: u32,
    file: Arc<io::Result<File>>,
}

impl FromStr for Descriptor {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        let number = text.parse()?;
        Ok(Descriptor { number, file: Arc::new(open(number)) })
    }
}

impl Descriptor {
    /// The file, read from where the descriptor stood.
    ///
    /// # Errors
    ///
    /// There was no such descriptor, or it cannot be opened anew.
    pub(crate) fn file(&self) -> anyhow::Result<&File> {
        self.file.as_ref().as_ref().map_err(|error| match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code).into(),
            None => anyhow::anyhow!("{error}"),
        })
    }
}

/// Open a descriptor anew by its name under /dev/fd. That starts a regular file at its beginning,
/// hence the seek to where the descriptor stands; a pipe goes on where it is; a socket cannot be
/// opened in this way.
fn open(number: u32) -> io::Result<File> {
    use std::io::Seek;
    let mut file = File::open(format!("/dev/fd/{number}"))?;
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
    let position = info.lines().find_map(|line| line.strip_prefix("pos:")?.trim().parse().ok());
    if let (true, Some(position)) = (file.metadata()?.is_file(), position) {
        file.seek(io::SeekFrom::Start(position))?;
    }
    Ok(file)
}
