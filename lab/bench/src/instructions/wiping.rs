//! Instructions that wiping takes, in a program optimised as those that are published: fewer than
//! in a loop over bytes, and not none, as if the compiler had removed it.

use std::hint::black_box;

use anyhow::ensure;
use saltern_wipe::{Zeroize, Zeroizing, zeroize_stack};

use super::{answer, child, mark, total};

/// The name of the child process that wipes.
pub const PROBE: &str = "wiping";

/// Bytes that are wiped each time.
const BYTES: usize = 1 << 16;

/// What is wiped, in the order in which the child does it.
const FORMS: [&str; 4] =
    ["a list that is dropped", "an array that is dropped", "a slice", "the stack"];

/// In the child: wipes, in each form.
pub fn probe() {
    let list = Zeroizing::new(black_box(vec![1_u8; BYTES]));
    mark();
    drop(list);
    mark();
    let array = black_box(Box::new(Zeroizing::new([1_u8; BYTES])));
    mark();
    drop(array);
    mark();
    let mut slice = black_box(vec![1_u8; BYTES]);
    mark();
    slice[..].zeroize();
    mark();
    drop(slice);
    mark();
    zeroize_stack::<BYTES>();
    mark();
}

/// What takes too many instructions or too few.
///
/// # Errors
/// No valgrind.
pub fn faults() -> anyhow::Result<Vec<String>> {
    let directory = tempfile::tempdir()?;
    let dumps = directory.path().join("count");
    let mut child = child(PROBE, &dumps)?;
    // An instruction that fills memory by itself is counted once for each byte.
    let most = usize::MAX >> 1;
    child.env("GLIBC_TUNABLES", format!("glibc.cpu.x86_rep_stosb_threshold={most}"));
    ensure!(answer(child)?.is_empty(), "the child has nothing to say");
    let mut faults = Vec::new();
    for (index, form) in FORMS.iter().enumerate() {
        let count = total(&dumps, 2 * index + 2)?;
        println!("wiping {form}: {count} instructions for {BYTES} bytes");
        if !(BYTES as u64 / 64..BYTES as u64 / 8).contains(&count) {
            faults.push(format!("wiping {form} takes {count} instructions for {BYTES} bytes"));
        }
    }
    Ok(faults)
}
