//! What is left in memory that a pool gives back.

use std::io;
use std::sync::Arc;

use saltern_pool::{
    Derive, Fault, Pool, PoolConfig, Terms,
    source::{BlockMemory, BlockRom, BlockSource, BlockSources, Completion, Request, stored_rom},
};
use saltern_testing::allocator::{Watching, forbid, forbidden};
use saltern_yescrypt::{
    Limits, Params, Workspace,
    hazmat::Pages,
    rom::{RomId, RomImage, RomMasks, RomParams, RomReading, RomUse},
};

#[global_allocator]
static ALLOCATOR: Watching = Watching;

const BLOCK: usize = 1024;
/// So many that the numbers of blocks cannot be anything else.
const BLOCKS: u64 = 1 << 50;

struct Vast(RomImage);

impl BlockRom for Vast {
    fn id(&self) -> RomId {
        "0123456789abcdef".parse().unwrap()
    }

    fn size(&self) -> u64 {
        BLOCKS * BLOCK as u64
    }

    fn tail(&self) -> &[u8] {
        self.0.as_bytes()
    }

    fn alignment(&self) -> usize {
        BLOCK
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let j = offset / BLOCK as u64;
        forbid(j);
        let start = (j % 64) as usize * BLOCK;
        buffer.copy_from_slice(&self.0.as_bytes()[start..][..BLOCK]);
        Ok(BLOCK)
    }

    fn is_right(&self, _: u64, _: &[u8]) -> bool {
        true
    }

    fn read_again(&self, _: u64, _: &mut [u8]) -> Result<(), Fault> {
        Ok(())
    }
}

#[derive(Debug)]
struct Sources;

struct Source(Vec<Request>);

impl BlockSources for Sources {
    fn open(&self, _: usize) -> io::Result<Box<dyn BlockSource>> {
        Ok(Box::new(Source(Vec::new())))
    }
}

impl BlockSource for Source {
    fn memory(&mut self, len: usize) -> io::Result<Box<dyn BlockMemory>> {
        struct Aligned(RomImage);
        impl std::ops::Deref for Aligned {
            type Target = [u8];

            fn deref(&self) -> &[u8] {
                self.0.as_bytes()
            }
        }
        impl std::ops::DerefMut for Aligned {
            fn deref_mut(&mut self) -> &mut [u8] {
                self.0.as_bytes_mut()
            }
        }
        RomImage::zeroed(len).map(|image| Box::new(Aligned(image)) as _).map_err(io::Error::other)
    }

    fn submit(&mut self, request: Request) {
        self.0.push(request);
    }

    fn flush(&mut self) {}

    fn collect(&mut self, wait: bool, ended: &mut Vec<Completion>) {
        let last = if wait { self.0.len() } else { 0 };
        for Request { tag, rom, offset, len, mut buffer } in self.0.drain(..last) {
            let outcome = rom.read(offset, &mut buffer.memory[..len]);
            ended.push(Completion { tag, buffer: Some(buffer), outcome });
        }
    }

    fn keep(&mut self, _: usize, _: &[u64]) {}
}

/// Which blocks a hash read says something about its password.
#[test]
fn numbers_of_blocks_are_not_left_behind() {
    let image = RomImage::init(&RomParams::new(64, 8, 1), b"a seed", &mut Workspace::new());
    let rom = stored_rom(Arc::new(Vast(image.unwrap()))).unwrap();
    let params = Params::yescrypt(256, 8).check(&Limits::unlimited()).unwrap();
    // The last one announces more reads at once than have buffers.
    for look_ahead in [0, 5, 40] {
        let mut config = PoolConfig::default();
        (config.threads, config.pages) = (1, Pages::Standard);
        config.sources = Some(Arc::new(Sources));
        let pool = Pool::new(config).unwrap();
        let masks = RomMasks { fill: 1, mix: 1 };
        let reading = RomReading { nrom: BLOCKS, masks, look_ahead };
        let roms = vec![RomUse { rom: rom.clone(), reading }];
        let inputs = ["a", "b", "c", "d", "e"].map(|password| (password, "salt"));
        let ticket = pool.derive(&Derive { params, roms, len: 32 }, inputs, Terms::bulk());
        assert!(ticket.unwrap().wait().iter().all(Result::is_ok));
    }
    let (numbers, found) = forbidden();
    assert!(numbers > 1000, "{numbers}");
    assert_eq!(found, 0, "of {numbers} numbers");
}
