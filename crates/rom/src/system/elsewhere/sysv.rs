//! No System V shared memory.

use std::io;
use std::path::PathBuf;

use super::filesystem::unsupported;
use crate::system::pages::Pages;

/// The key that the demonstration programs of the C implementation use.
pub const UPSTREAM_KEY: i32 = 0x7965_730a;

pub(crate) fn segment_name(key: i32) -> PathBuf {
    format!("System V segment {key:#010x}").into()
}

/// There is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) size: u64,
    pub(crate) attached: bool,
    pub(crate) owners: [u32; 2],
    pub(crate) mode: u32,
}

impl Segment {
    pub(crate) fn find(_: i32) -> io::Result<Segment> {
        Err(unsupported())
    }

    pub(crate) fn create(_: i32, _: usize, _: Pages, _: u32) -> io::Result<Segment> {
        Err(unsupported())
    }

    pub(crate) fn identifier(&self) -> i32 {
        0
    }

    pub(crate) fn set_mode(&self, _: u32) -> io::Result<()> {
        Err(unsupported())
    }

    pub(crate) fn remove(&self) -> io::Result<()> {
        Err(unsupported())
    }
}
