//! What is exported, under which versions, and where it is installed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use saltern_testing::program::repository;

use crate::installed::{archive, installed, run, succeed, told};

/// The functions that a library exports, with their versions.
fn exported(library: &Path) -> BTreeSet<String> {
    let listed = succeed(Command::new("nm").args(["-D", "--defined-only"]).arg(library));
    let symbols = listed.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        // Versions are listed themselves, as absolute symbols.
        (words.next() != Some("A")).then(|| words.next().expect("a name").to_owned())
    });
    symbols.collect()
}

#[test]
fn libraries_export_what_is_listed_and_nothing_else() {
    let installed = installed();
    let link = repository("bindings/c/link");
    for (library, list) in [
        ("libsaltern", "saltern"),
        ("libsaltern-yescrypt", "yescrypt"),
        ("libsaltern-blake2", "blake2"),
    ] {
        let names = std::fs::read_to_string(link.join(format!("{list}.symbols"))).unwrap();
        let wanted: BTreeSet<String> = names.lines().map(str::to_owned).collect();
        let shared = exported(&installed.lib().join(format!("{library}.so")));
        let versioned = wanted.iter().map(|name| format!("{name}@@SALTERN_0")).collect();
        assert_eq!(shared, versioned, "{library}");
        // The header declares each of them.
        let header =
            std::fs::read_to_string(repository(&format!("bindings/c/include/{list}.h"))).unwrap();
        for name in &wanted {
            assert!(header.contains(&format!("{name}(")), "{name} is not in {list}.h");
        }
        // Of groups with one name in two archives a program gets one: none may be left.
        let archive = installed.lib().join(format!("{library}.a"));
        let groups = succeed(Command::new("readelf").arg("--section-groups").arg(archive));
        assert!(!groups.contains("COMDAT"), "{groups}");
        let within = succeed(
            Command::new("nm")
                .args(["--defined-only", "--extern-only"])
                .arg(installed.lib().join(format!("{library}.a"))),
        );
        let within: BTreeSet<String> = within
            .lines()
            .filter_map(|line| line.split_whitespace().nth(2).map(str::to_owned))
            .collect();
        assert_eq!(within, wanted, "{library}.a");
    }
}

#[test]
fn the_shim_exports_what_programs_look_for() {
    let list = repository("bindings/c/link/crypt.symbols");
    let wanted = std::fs::read_to_string(list).unwrap();
    // The first version that glibc's libcrypt had is another one on aarch64.
    let first = if cfg!(target_arch = "aarch64") { "GLIBC_2.17" } else { "GLIBC_2.2.5" };
    let wanted = wanted.lines().map(|line| line.replace("GLIBC_2.2.5", first)).collect();
    assert_eq!(exported(&installed().shim()), wanted);
}

#[test]
fn libraries_have_their_names_and_stay_loaded() {
    let installed = installed();
    for (library, soname) in [
        ("libsaltern.so", "libsaltern.so.0"),
        ("libsaltern-yescrypt.so", "libsaltern-yescrypt.so.0"),
        ("libsaltern-blake2.so", "libsaltern-blake2.so.0"),
        ("libsaltern-crypt.so", "libsaltern-crypt.so"),
    ] {
        let head = succeed(Command::new("readelf").arg("-d").arg(installed.lib().join(library)));
        assert!(head.contains(&format!("[{soname}]")), "{head}");
        assert!(head.contains("NODELETE"), "{head}");
        assert!(!head.contains("TEXTREL"), "{head}");
    }
}

/// The crates, without the marks in their names, of names that end in `-` and something with dots.
fn crates(names: impl Iterator<Item = String>) -> BTreeSet<String> {
    let is_name = |part: &&str| !part.contains('.');
    names
        .map(|name| name.split('-').take_while(is_name).collect::<String>().replace('_', ""))
        .collect()
}

fn files(folder: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap())
}

/// Of each crate whose code is in the archive, as the names of its members say; those of Rust's
/// standard library are among its own.
#[test]
fn licences_of_all_that_is_linked_are_installed() {
    let members = succeed(Command::new("ar").arg("t").arg(archive()));
    let objects = members.lines().filter(|name| name.ends_with(".rcgu.o"));
    let linked = objects.filter_map(|name| Some(name.split_once('.')?.0.rsplit_once('-')?.0));
    let linked: BTreeSet<String> = linked.map(|name| name.replace('_', "")).collect();
    let rust = succeed(Command::new("rustc").args(["--print", "target-libdir"]));
    let rust = files(Path::new(rust.trim()));
    let rust = crates(rust.filter_map(|name| Some(name.strip_prefix("lib")?.to_owned())));
    let folder = installed().prefix().join("share/doc/saltern/licenses");
    let licensed = crates(files(&folder));
    let missing = |name: &&String| {
        !name.starts_with("saltern") && !rust.contains(*name) && !licensed.contains(*name)
    };
    let without: Vec<_> = linked.iter().filter(missing).collect();
    assert!(without.is_empty() && linked.len() > 40, "{without:?} of {linked:?}");
    for name in files(&folder) {
        let place = folder.join(&name);
        let mut texts = files(&place).map(|text| place.join(text).metadata().unwrap().len());
        assert!(texts.any(|len| len > 500), "{name}");
    }
}

#[test]
fn a_package_is_built_below_another_root() {
    let root = tempfile::tempdir().unwrap();
    let install = |prefix: &str| {
        let mut install = Command::new(repository("scripts/install"));
        install.arg("--archive").arg(archive()).args(["--prefix", prefix]);
        install.args(["--libdir", "lib64"]).arg("--root").arg(root.path());
        run(&mut install)
    };
    assert_eq!(install("usr").status.code(), Some(2), "a prefix that is no absolute path");
    let installed = install("/usr");
    assert!(installed.status.success(), "{}", told(&installed));
    for file in [
        "include/saltern.h",
        "include/saltern/yescrypt.h",
        "include/saltern/blake2.h",
        "lib64/libsaltern.a",
        "lib64/libsaltern.so.0",
        "lib64/libsaltern-crypt.so",
        "share/man/man3/saltern.3",
        "share/doc/saltern/licenses/saltern/LICENSE-MIT",
        "share/doc/saltern/licenses/rust-standard-library/COPYRIGHT-library.html",
    ] {
        assert!(root.path().join("usr").join(file).is_file(), "{file}");
    }
    let told = String::from_utf8(installed.stdout).unwrap();
    assert!(
        told.contains("linking libsaltern-blake2\n") && told.contains("installed into"),
        "{told}"
    );
    let package = root.path().join("usr/lib64/pkgconfig/saltern.pc");
    let package = std::fs::read_to_string(package).unwrap();
    // What is there when the package has been unpacked.
    assert!(package.contains("prefix=/usr\nlibdir=${prefix}/lib64\n"), "{package}");
}
