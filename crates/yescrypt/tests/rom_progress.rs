//! Filling a ROM with a watch: the same bytes, consistent progress, and cancelling at any moment.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use saltern_yescrypt::{
    Error, Workspace,
    rom::{RomImage, RomParams, RomView, init_rom_with},
};

/// 12 MiB, so that each pass is watched several times; slices of two lengths, p being no power of
/// two.
fn params() -> RomParams {
    let mut params = RomParams::new(4096, 24, 3);
    params.t = 1;
    params
}

fn workspace(threads: usize) -> Workspace {
    let mut workspace = Workspace::new();
    workspace.set_threads(threads);
    workspace
}

#[test]
fn a_watched_fill_gives_the_same_image_and_its_progress_adds_up() {
    let plain = RomImage::init(&params(), b"seed", &mut workspace(1)).unwrap();
    for threads in [1, 2, 5] {
        let mut image = RomImage::zeroed(plain.as_bytes().len()).unwrap();
        let seen = Mutex::new(Vec::new());
        let watch = |progress| {
            seen.lock().unwrap().push(progress);
            ControlFlow::Continue(())
        };
        let bytes = image.as_bytes_mut();
        let digest =
            init_rom_with(&params(), b"seed", bytes, &mut workspace(threads), &watch).unwrap();
        assert!(image.as_bytes() == plain.as_bytes(), "{threads} threads");
        assert_eq!(RomView::new(&image).unwrap().digest(), digest);
        let mut seen = seen.into_inner().unwrap();
        seen.sort_by_key(|progress| progress.done);
        assert!(seen.len() >= 12, "{} calls", seen.len());
        assert!(seen.is_sorted_by_key(|progress| progress.pass));
        let last = seen.last().unwrap();
        // p = 3 leaves some blocks to the last slice that the estimate does not round as it does.
        assert!(last.done <= last.total && last.done > last.total / 100 * 99, "{last:?}");
    }
}

#[test]
fn a_fill_can_be_ended_at_any_call_and_leaves_no_rom() {
    let plain = RomImage::init(&params(), b"seed", &mut workspace(1)).unwrap();
    for last_call in [1, 2, 7, 12] {
        let mut image = RomImage::zeroed(plain.as_bytes().len()).unwrap();
        // An image that is filled again loses its tag first.
        image.as_bytes_mut().copy_from_slice(plain.as_bytes());
        let calls = AtomicU64::new(0);
        let watch = |_| match calls.fetch_add(1, Ordering::Relaxed) + 1 < last_call {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        let bytes = image.as_bytes_mut();
        let ended = init_rom_with(&params(), b"seed", bytes, &mut workspace(2), &watch);
        assert_eq!(ended, Err(Error::Cancelled));
        assert_eq!(RomView::new(&image).unwrap_err(), Error::RomTag);
    }
}
