//! For fuzzing; applications do not need it. Exempt from semantic versioning.

use std::path::PathBuf;

use crate::Manifest;
use crate::format::sums::Sums;

/// Whether a chunk matches a table, which consists of all of these bytes.
///
/// # Errors
/// What is wrong with the table.
pub fn check_with_table(
    sums: &[u8],
    manifest: &Manifest,
    number: u64,
    chunk: &[u8],
) -> Result<bool, String> {
    let sums = Sums::parse(Box::new(sums.to_vec()), sums.len() as u64, manifest)?;
    Ok(sums.check_each(&[number], [chunk].into_iter(), PathBuf::new).is_ok())
}
