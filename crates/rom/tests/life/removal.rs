//! What is never removed or replaced.

use std::ops::ControlFlow;
use std::sync::Mutex;

use saltern_rom::{Create, Error, Location, Manifest, no_progress, remove, set_immutable, verify};
use saltern_testing::skipped;

use crate::{Scratch, params, seed};

#[test]
fn a_link_to_a_manifest_cannot_have_another_roms_image_removed() {
    let (scratch, seed) = (Scratch::new(), seed());
    let (path, image) = (scratch.path("site.rom"), scratch.path("elsewhere"));
    let mut create = Create::new(params(), &seed);
    create.location = Location::File { path: image.clone() };
    create.file(&path).unwrap();
    let link = scratch.path("link.rom");
    std::os::unix::fs::symlink(Manifest::path_for(&path), Manifest::path_for(&link)).unwrap();
    for refused in [remove(&link), set_immutable(&link, false)] {
        assert!(matches!(refused, Err(Error::NotRegular { .. })), "{refused:?}");
    }
    assert!(image.exists());
    remove(&path).unwrap();
    assert_eq!(scratch.names(), ["link.rom.json"]);
}

#[test]
fn what_is_being_made_is_not_removed() {
    let (scratch, seed) = (Scratch::new(), seed());
    let (path, _) = scratch.rom("site.rom");
    let answers = Mutex::new(Vec::new());
    let watch = |_| {
        answers.lock().unwrap().push(remove(&path));
        ControlFlow::Continue(())
    };
    let mut create = Create::new(params(), &seed);
    (create.replace, create.watch) = (true, &watch);
    create.file(&path).unwrap();
    let answers = answers.into_inner().unwrap();
    assert!(!answers.is_empty());
    assert!(answers.iter().all(|answer| matches!(answer, Err(Error::Busy { .. }))), "{answers:?}");
    verify(&path, None, &no_progress).unwrap();
    remove(&path).unwrap();
    assert!(scratch.names().is_empty());
}

#[test]
fn what_cannot_be_replaced_is_refused_before_its_manifest_is() {
    let (scratch, seed) = (Scratch::new(), seed());
    let path = scratch.path("directory");
    std::fs::create_dir(&path).unwrap();
    let mut create = Create::new(params(), &seed);
    create.replace = true;
    assert!(matches!(create.file(&path), Err(Error::NotRegular { .. })));
    assert_eq!(scratch.names(), ["directory"]);
    let (path, manifest) = scratch.rom("site.rom");
    if set_immutable(&path, true).is_err() {
        return skipped("immutable files (root, and a file system that has them)");
    }
    let refused = create.file(&path);
    set_immutable(&path, false).unwrap();
    assert!(matches!(refused, Err(Error::Immutable { .. })), "{refused:?}");
    assert_eq!(Manifest::read(&path).unwrap(), manifest);
}
