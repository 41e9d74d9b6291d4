use std::io;

use saltern_pool::source::{BlockBuffer, BlockRom, BlockSource, Request};
use saltern_pool::{Fault, Pool, PoolConfig, Terms};
use saltern_yescrypt::rom::{NamedRom, RomId, RomParams, RomSet};
use saltern_yescrypt::{HashString, Hasher, Params};

use super::*;
use crate::operations::create::Create;
use crate::operations::seed::Seed;

/// A bit that flips in the end of the image while that is in memory: every hash reads it. Of an
/// image of whole chunks, and of one whose last chunk is shorter.
#[test]
fn a_damaged_end_is_an_error_and_no_mismatch() {
    for (nrom, r) in [(64, 32), (16, 1000)] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("site.rom");
        let seed = Seed::from_bytes(b"seed").unwrap();
        Create::new(RomParams::new(nrom, r, 1), &seed).file(&path).unwrap();
        let file = Arc::new(RomFile::open(&path, None).unwrap());
        let mut config = PoolConfig::default();
        config.threads = 1;
        config.sources = Some(Arc::new(RomReaders::new(Backend::Threads)));
        let pool = Pool::new(config).unwrap();
        let hasher = |rom: Rom| {
            let (mut set, id) = (RomSet::new(), file.id());
            set.attach(id, rom).unwrap();
            let hasher = Hasher::new().with_params(Params::yescrypt(64, r)).with_roms(set);
            Arc::new(hasher.with_named_roms(&[NamedRom::new(id, nrom)]))
        };
        // The last block, as hashes of this r read it, with one bit of its beginning changed.
        let damaged = || {
            let len = file.size().min(TAIL);
            let start = (file.size() - len) / u64::from(file.manifest().chunk)
                * u64::from(file.manifest().chunk);
            let mut end = DirectBuffer::new((file.size() - start) as usize).unwrap();
            file.read_range(start, &mut end).unwrap();
            let at = end.len() - 128 * r as usize;
            end[at] ^= 16;
            let end = end.frozen().unwrap();
            let rom = FileRom { file: Arc::clone(&file), end, len: len as usize };
            stored_rom(Arc::new(rom)).unwrap()
        };
        let (good, bad) = (hasher(file.rom().unwrap()), hasher(damaged()));
        let setting = good.setting(b"a salt of bytes").unwrap();
        let hash = |hasher| {
            let setting = setting.clone();
            pool.hash_one_with_setting(hasher, "right", setting, Terms::bulk()).unwrap().wait()
        };
        let verify = |hasher, word: &str, stored: &HashString| {
            pool.verify_one(hasher, word, stored.clone(), Terms::bulk()).unwrap().wait()
        };
        let stored = hash(&good).unwrap();
        assert_eq!(verify(&good, "right", &stored), Ok(true));
        assert_eq!(verify(&good, "wrong", &stored), Ok(false));
        let refused = hash(&bad).map(drop);
        let answers = ["right", "wrong"].map(|word| verify(&bad, word, &stored).map(drop));
        for refused in [refused].into_iter().chain(answers) {
            assert!(
                matches!(refused, Err(saltern_pool::Error::RomUnavailable { .. })),
                "{refused:?}"
            );
        }
    }
}

/// A ROM of somebody else's, whose reads panic where they should.
struct Fickle(DirectBuffer);

impl BlockRom for Fickle {
    fn id(&self) -> RomId {
        "0123456789abcdef".parse().unwrap()
    }

    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn tail(&self) -> &[u8] {
        &self.0
    }

    fn alignment(&self) -> usize {
        4096
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        assert!(offset > 0, "a panic that the test wants");
        Ok(buffer.len())
    }

    fn is_right(&self, _: u64, _: &[u8]) -> bool {
        true
    }

    fn read_again(&self, _: u64, _: &mut [u8]) -> Result<(), Fault> {
        Ok(())
    }
}

#[test]
fn a_panic_in_a_reading_thread_is_the_end_of_one_read() {
    a_read_panics(1);
    // Where there is no such thread, it is the caller's.
    a_read_panics(0);
}

fn a_read_panics(threads: usize) {
    let readers = threads::Readers::start(threads);
    let mut source = readers.source();
    let rom: Arc<dyn BlockRom> = Arc::new(Fickle(DirectBuffer::new(8192).unwrap()));
    for (tag, offset) in [(3, 0), (4, 4096)] {
        let buffer = BlockBuffer { memory: source.memory(4096).unwrap(), id: 1 };
        source.submit(Request { tag, rom: Arc::clone(&rom), offset, len: 4096, buffer });
    }
    let mut ended = Vec::new();
    while ended.len() < 2 {
        source.collect(true, &mut ended);
    }
    let [first, second] = &ended[..] else { panic!("two reads, and as many ends") };
    assert!(first.tag == 3 && first.outcome.is_err() && first.buffer.is_some());
    assert!(second.tag == 4 && matches!(second.outcome, Ok(4096)));
}
