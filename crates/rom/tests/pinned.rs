//! Memory that the kernel keeps for a pool: no more than its buffers. Alone in its process, whose
//! pinned memory is measured.

use std::sync::Arc;

use saltern_pool::{Derive, Pool, PoolConfig, Terms};
use saltern_rom::{Backend, Create, RomFile, RomReaders, Seed};
use saltern_testing::process::memory;
use saltern_testing::skipped;
use saltern_yescrypt::{
    Limits, Params,
    rom::{RomParams, RomReading, RomUse},
};

#[test]
fn buffers_that_are_given_back_are_no_longer_the_kernels() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rom");
    let seed = Seed::from_bytes(b"sixteen bytes and more").unwrap();
    Create::new(RomParams::new(64, 512, 1), &seed).file(&path).unwrap();
    let mut config = PoolConfig::default();
    (config.threads, config.in_flight) = (1, 2);
    config.sources = Some(Arc::new(RomReaders::new(Backend::IoUring)));
    let rom = Arc::new(RomFile::open(&path, None).unwrap()).rom().unwrap();
    let pool = match Pool::new(config) {
        Err(error) => return skipped(&format!("no io_uring here: {error}")),
        Ok(pool) => pool,
    };
    let params = Params::yescrypt(64, 512).check(&Limits::unlimited()).unwrap();
    let hash = |look_ahead| {
        let reading = RomReading { look_ahead, ..RomReading::new(64) };
        let what = Derive { params, roms: vec![RomUse { rom: rom.clone(), reading }], len: 32 };
        let found = pool.derive(&what, [("password", "salt")], Terms::bulk()).unwrap().wait();
        assert!(found[0].is_ok());
        memory("self", "VmPin")
    };
    // Eight blocks on their way, then one.
    let many = hash(15);
    if many == 0 {
        return skipped("no registered buffers here, or the kernel does not count them");
    }
    assert!(many >= 8 * (64 << 10), "{many} bytes");
    let few = hash(0);
    assert!((64 << 10..=many / 4).contains(&few), "{few} bytes after {many}");
}
