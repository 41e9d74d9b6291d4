//! Memory that the kernel keeps for an engine: no more than the buffers that it has. Alone in its process, whose pinned memory is looked at.

use saltern_rom::{Backend, Create, EngineConfig, RomFile, Seed, SsdEngine, Work, WorkRom};
use saltern_yescrypt::{Limits, Params, RomMasks, RomParams};

/// KiB of this process that the kernel holds for devices to write to.
fn pinned() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmPin:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse().unwrap()
}

#[test]
fn buffers_that_are_given_back_are_no_longer_the_kernels() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rom");
    let seed = Seed::from_bytes(b"sixteen bytes and more").unwrap();
    Create::new(RomParams::new(64, 512, 1), &seed).file(&path).unwrap();
    let mut config = EngineConfig::default();
    (config.backend, config.threads, config.in_flight) = (Backend::IoUring, 1, 2);
    let rom = RomFile::open(&path, None).unwrap();
    let engine = match SsdEngine::new(&config, vec![rom.into()]) {
        Err(error) => return eprintln!("SKIPPED: no io_uring here: {error}"),
        Ok(engine) => engine,
    };
    let params = Params::yescrypt(64, 512).check(&Limits::unlimited()).unwrap();
    let masks = RomMasks { fill: 1, mix: 1 };
    let hash = |look_ahead| {
        let work =
            Work { params, roms: vec![WorkRom { rom: 0, nrom: 64, masks, look_ahead }], len: 32 };
        engine.derive(&work, [("password", "salt")]).unwrap().wait().remove(0).unwrap();
        pinned()
    };
    // Eight blocks on their way, then one.
    let many = hash(15);
    if many == 0 {
        return eprintln!("SKIPPED: no registered buffers here, or the kernel does not count them");
    }
    assert!(many >= 8 * 64, "{many} KiB");
    let few = hash(0);
    assert!((64..=many / 4).contains(&few), "{few} KiB after {many}");
}
