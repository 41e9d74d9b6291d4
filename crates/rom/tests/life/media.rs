//! Every way in which an image gets into memory.

use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use saltern_rom::{
    Access, AttachOptions, CopyOptions, Create, DirectBuffer, Error, ImagePlace, Location, Lock,
    RomFile, RomPages, State, attach, attach_descriptor, copy, list, no_progress, remove,
    set_immutable, verify,
};
use saltern_testing::{chmod, skipped};
use saltern_yescrypt::rom::RomView;

use super::super::{Scratch, hash, params, reference, seed};

fn options(access: Access, pages: RomPages) -> AttachOptions<'static> {
    let mut options = AttachOptions::new();
    (options.access, options.pages) = (access, pages);
    options
}

/// What this process may do with the pages of an image, as the kernel says.
fn access(image: &[u8]) -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let address = image.as_ptr().addr() + image.len() / 2;
    let found = maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let [start, end] = [start, end].map(|text| usize::from_str_radix(text, 16).unwrap());
        (start..end).contains(&address).then(|| rest[..3].to_owned())
    });
    found.unwrap()
}

#[test]
fn all_ways_to_attach_a_file_give_one_image() {
    let (scratch, reference) = (Scratch::new(), reference());
    let (path, manifest) = scratch.rom("site.rom");
    let expected = hash(RomView::new(&reference).unwrap());
    for access in [Access::Auto, Access::Copy, Access::Memfd, Access::Map] {
        for pages in [RomPages::Base, RomPages::Transparent, RomPages::Huge2M, RomPages::Huge1G] {
            let attached = attach(&path, &options(access, pages)).unwrap();
            assert!(attached.as_bytes() == reference.as_bytes());
            assert_eq!(hash(attached.rom().unwrap()), expected);
            assert_eq!((attached.id(), attached.size()), (manifest.id(), 1 << 20));
            assert_eq!(self::access(attached.as_bytes()), "r--", "{access:?}");
            let place = attached.place();
            let right = match access {
                Access::Auto | Access::Copy => *place == ImagePlace::Private,
                Access::Memfd => *place == ImagePlace::Memfd,
                _ => matches!(place, ImagePlace::Mapped { protected: false, .. }),
            };
            assert!(right, "{access:?} {place:?}");
            assert_eq!(attached.descriptor().is_some(), access == Access::Memfd);
            // Either the pages that were asked for, or a word about it.
            let huge = matches!(pages, RomPages::Huge2M | RomPages::Huge1G)
                && access != Access::Map
                && access != Access::Auto;
            let got = attached.pages().page_size > 65536;
            assert!(!huge || got || !attached.notes().is_empty(), "{access:?} {pages:?}");
            assert!(!format!("{attached:?}{}{place}", attached.pages()).is_empty());
        }
    }
}

#[test]
fn memory_of_this_process_and_memory_files_are_filled_in_place() {
    let reference = reference();
    let seed = seed();
    for pages in [RomPages::Base, RomPages::Transparent, RomPages::Huge2M, RomPages::Huge1G] {
        let mut create = Create::new(params(), &seed);
        (create.pages, create.threads) = (pages, 2);
        for attached in [create.private().unwrap(), create.memfd().unwrap()] {
            assert!(attached.as_bytes() == reference.as_bytes());
            assert_eq!(access(attached.as_bytes()), "r--");
        }
    }
    // As opposed to memory that nobody has made read-only.
    assert_eq!(access(reference.as_bytes()), "rw-");
}

#[test]
fn a_memory_file_is_sealed_and_can_be_handed_on() {
    let seed = seed();
    let first = Create::new(params(), &seed).memfd().unwrap();
    let handed = first.descriptor().unwrap().try_clone_to_owned().unwrap();
    let file = std::fs::File::from(handed.try_clone().unwrap());
    assert!(file.set_len(0).is_err() && file.write_all_at(b"!", 0).is_err());
    let (manifest, expected) = (first.manifest().clone(), hash(first.rom().unwrap()));
    drop(first);
    let second = attach_descriptor(handed, &manifest, &AttachOptions::new()).unwrap();
    assert_eq!(hash(second.rom().unwrap()), expected);

    // A file that anybody may shorten is no such descriptor.
    let scratch = Scratch::new();
    let (path, manifest) = scratch.rom("site.rom");
    let plain = std::fs::File::open(&path).unwrap().as_fd().try_clone_to_owned().unwrap();
    let refused = attach_descriptor(plain, &manifest, &AttachOptions::new()).unwrap_err();
    assert!(matches!(refused, Error::Unsupported { .. }), "{refused}");
}

/// Removes a segment or file even if the test fails.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = set_immutable(&self.0, false);
        let _ = remove(&self.0);
    }
}

#[test]
fn a_system_v_segment_lives_until_it_is_removed() {
    let (scratch, reference) = (Scratch::new(), reference());
    let path = scratch.path("segment.rom");
    let key = 0x5a17_0000 | (std::process::id() as i32 & 0xffff);
    let seed = seed();
    let mut create = Create::new(params(), &seed);
    create.location = Location::Sysv { key };
    create.pages = RomPages::Huge2M;
    let _removed = Removed(path.clone());
    let manifest = create.file(&path).unwrap();
    assert_eq!(scratch.names(), ["segment.rom.json", "segment.rom.sums"]);
    let attached = attach(&path, &AttachOptions::new()).unwrap();
    assert!(attached.as_bytes() == reference.as_bytes());
    assert_eq!(*attached.place(), ImagePlace::Sysv { key });
    assert_eq!(access(attached.as_bytes()), "r--");
    assert!(matches!(create.file(&path), Err(Error::Exists { .. })));
    assert_eq!(verify(&path, None, &no_progress).unwrap().digest, manifest.digest);
    let found = list(scratch.directory.path()).unwrap();
    assert!(matches!(found[0].state, State::Ready(_)), "{found:?}");
    // To a file, and out of it.
    let file = scratch.path("file.rom");
    let copied = copy(&path, &file, &CopyOptions::new()).unwrap();
    assert_eq!(copied.location, Location::Beside);
    assert!(std::fs::read(&file).unwrap() == reference.as_bytes());
    remove(&path).unwrap();
    let expected = hash(RomView::new(&reference).unwrap());
    assert_eq!(hash(attached.rom().unwrap()), expected);
    assert!(matches!(attach(&path, &AttachOptions::new()), Err(Error::NoManifest { .. })));
    // After a boot there is the manifest alone: the same ROM can be made again, another cannot.
    std::fs::write(scratch.path("segment.rom.json"), manifest.to_json()).unwrap();
    assert!(matches!(attach(&path, &AttachOptions::new()), Err(Error::Io { .. })));
    let other = saltern_rom::Seed::from_bytes(b"other").unwrap();
    create.seed = &other;
    assert!(matches!(create.file(&path), Err(Error::WrongRom { .. })));
    create.seed = &seed;
    create.file(&path).unwrap();
    // And from a file on a disk.
    remove(&path).unwrap();
    let mut options = CopyOptions::new();
    options.location = Location::Sysv { key };
    copy(&file, &path, &options).unwrap();
    assert!(matches!(copy(&file, &path, &options), Err(Error::Exists { .. })));
    assert!(attach(&path, &AttachOptions::new()).unwrap().as_bytes() == reference.as_bytes());
}

#[test]
fn files_of_huge_pages_hold_images() {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let places =
        fields.filter(|fields| fields[2] == "hugetlbfs").map(|fields| fields[1].to_owned());
    let place = places.into_iter().find_map(|place| tempfile::tempdir_in(place).ok());
    let Some(place) = place else { return skipped("no hugetlbfs to write to") };
    let (scratch, reference) = (Scratch::new(), reference());
    let seed = seed();
    let mut create = Create::new(params(), &seed);
    create.location = Location::File { path: place.path().join("image") };
    let path = scratch.path("site.rom");
    match create.file(&path) {
        Err(Error::NoSpace { .. } | Error::NoMemory { .. } | Error::Io { .. }) => {
            return skipped("no huge pages for the hugetlbfs");
        }
        created => drop(created.unwrap()),
    }
    let attached = attach(&path, &options(Access::Map, RomPages::Base)).unwrap();
    assert!(attached.as_bytes() == reference.as_bytes() && attached.pages().page_size > 65536);
    let attached = attach(&path, &options(Access::Copy, RomPages::Base)).unwrap();
    assert!(attached.as_bytes() == reference.as_bytes());
    verify(&path, None, &no_progress).unwrap();
    let rom = RomFile::open(&path, None).unwrap();
    let mut block = DirectBuffer::new(1024).unwrap();
    rom.read_block(1023, 8, &mut block).unwrap();
    assert_eq!(block[..], reference.as_bytes()[1023 * 1024..]);
    // From there to a disk, and back.
    let file = scratch.path("file.rom");
    copy(&path, &file, &CopyOptions::new()).unwrap();
    remove(&path).unwrap();
    let mut options = CopyOptions::new();
    options.location = create.location.clone();
    copy(&file, &path, &options).unwrap();
    verify(&path, None, &no_progress).unwrap();
    // Shortened, it is refused.
    let image = place.path().join("image");
    chmod(&image, 0o600);
    std::fs::File::options().write(true).open(&image).unwrap().set_len(0).unwrap();
    assert!(matches!(attach(&path, &AttachOptions::new()), Err(Error::Size { .. })));
    remove(&path).unwrap();
    assert!(place.path().read_dir().unwrap().next().is_none());
}

#[test]
fn shared_memory_is_a_directory_of_files() {
    let Some(scratch) = Scratch::shared() else { return };
    let (path, _) = scratch.rom("site.rom");
    let _removed = Removed(path.clone());
    let reference = reference();
    let attached = attach(&path, &options(Access::Map, RomPages::Transparent)).unwrap();
    assert!(attached.as_bytes() == reference.as_bytes());
    let rom = RomFile::open(&path, None).unwrap();
    // tmpfs took to direct reads in Linux 6.6.
    assert_eq!(rom.is_direct(), rom.notes().is_empty());
    // An immutable file is mapped without being asked for.
    match set_immutable(&path, true) {
        Ok(()) => {
            let attached = attach(&path, &AttachOptions::new()).unwrap();
            assert!(matches!(attached.place(), ImagePlace::Mapped { protected: true, .. }));
            assert!(std::fs::remove_file(&path).is_err());
            assert!(remove(&path).is_err());
            set_immutable(&path, false).unwrap();
        }
        Err(error) => skipped(&format!("immutable files ({error})")),
    }
}

#[test]
fn an_image_elsewhere_is_found_through_its_manifest() {
    let (scratch, reference) = (Scratch::new(), reference());
    let seed = seed();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut create = Create::new(params(), &seed);
    create.location = Location::File { path: elsewhere.path().join("image") };
    let path = scratch.path("site.rom");
    create.file(&path).unwrap();
    assert_eq!(scratch.names(), ["site.rom.json", "site.rom.sums"]);
    let attached = attach(&path, &AttachOptions::new()).unwrap();
    assert!(attached.as_bytes() == reference.as_bytes());
    verify(&path, None, &no_progress).unwrap();
    remove(&path).unwrap();
    assert!(!elsewhere.path().join("image").exists() && scratch.names().is_empty());
}

#[test]
fn locking_is_reported() {
    let scratch = Scratch::new();
    let (path, _) = scratch.rom("site.rom");
    let mut options = AttachOptions::new();
    assert!(!attach(&path, &options).unwrap().locked());
    options.lock = Lock::Try;
    let attached = attach(&path, &options).unwrap();
    assert!(attached.locked() == attached.notes().is_empty());
}

#[test]
fn blocks_are_read_from_a_file_in_any_size() {
    let (scratch, reference) = (Scratch::new(), reference());
    let (path, manifest) = scratch.rom("site.rom");
    let rom = RomFile::open(&path, Some(manifest.hash)).unwrap();
    assert_eq!(rom.is_direct(), rom.notes().is_empty(), "{:?}", rom.notes());
    let image = reference.as_bytes();
    for r in [1, 2, 8, 32, 1024, 4096] {
        let len = 128 * r as usize;
        let mut buffer = DirectBuffer::new(len).unwrap();
        let blocks = rom.blocks(r).unwrap();
        for j in [0, 1, blocks / 2 + 1, blocks - 1, blocks, u64::MAX] {
            buffer.fill(0);
            rom.read_block(j, r, &mut buffer).unwrap();
            let at = (j % blocks) as usize * len;
            assert!(buffer[..] == image[at..at + len], "r = {r}, j = {j}");
            // Into unaligned memory too.
            let mut unaligned = vec![0; len + 1];
            rom.read_block(j, r, &mut unaligned[1..]).unwrap();
            assert!(unaligned[1..] == image[at..at + len]);
        }
    }
    for r in [0, 3, 8192, u32::MAX] {
        assert!(matches!(rom.blocks(r), Err(Error::Yescrypt(_))), "{r}");
    }
    assert!(matches!(rom.read_block(0, 8, &mut [0; 1023]), Err(Error::Yescrypt(_))));
    let other = [1; 32].into();
    assert!(matches!(RomFile::open(&path, Some(other)), Err(Error::WrongRom { .. })));
}
