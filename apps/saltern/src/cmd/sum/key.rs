//! Reading the key of `--keyed`. It comes from a file or a pipe, never from the command line, where
//! every user of the machine could see it.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::Path;

use saltern_wipe::Zeroizing;

use super::algorithm::{Algorithm, Key};
use super::input;
use super::quote::quote;
use crate::streams;

/// Read the key, all bytes of `file` or of standard input, as they are.
///
/// # Errors
///
/// A line for the user: the source cannot be read, or its content is not a key for `algorithm`.
pub(super) fn read(file: Option<&Path>, algorithm: Algorithm) -> Result<Key, String> {
    let (source, title) = match file {
        Some(path) => (
            File::open(path),
            String::from_utf8_lossy(&quote(path.as_os_str().as_encoded_bytes())).into_owned(),
        ),
        None if io::stdin().is_terminal() => {
            return Err("the key is not read from a terminal; pipe it in or use --key-file".into());
        }
        None => (streams::stdin(), "standard input".into()),
    };
    let max = algorithm.max_bytes();
    // One byte more than the longest key detects a key that is too long, whatever its length.
    let mut bytes = Zeroizing::new(vec![0; max + 1]);
    let len = source
        .and_then(|file| input::fill(&mut &file, &mut bytes))
        .map_err(|error| format!("cannot read the key from {title}: {}", input::reason(&error)))?;
    bytes.truncate(len);
    let name = algorithm.name();
    match len {
        0 => Err(format!("the key from {title} is empty; {name} takes 1 to {max} bytes")),
        _ if len > max => {
            Err(format!("the key from {title} is too long; {name} takes 1 to {max} bytes"))
        }
        _ => Ok(Key::new(bytes)),
    }
}
