//! No System V shared memory.

use std::io;
use std::path::PathBuf;

use super::filesystem::unsupported;
use crate::format::paths::segment_name;
use crate::system::pages::RomPages;

/// There is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) key: i32,
    pub(crate) size: u64,
    pub(crate) attached: bool,
    pub(crate) owners: [u32; 2],
    pub(crate) mode: u32,
}

impl Segment {
    pub(crate) fn find(_: i32) -> io::Result<Segment> {
        Err(unsupported())
    }

    pub(crate) fn create(_: i32, _: usize, _: RomPages, _: u32) -> io::Result<Segment> {
        Err(unsupported())
    }

    pub(crate) fn name(&self) -> PathBuf {
        segment_name(self.key)
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
