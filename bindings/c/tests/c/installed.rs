//! The libraries, installed once for all tests, and programs that are compiled with them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use saltern_testing::program::repository;
use tempfile::TempDir;

/// Where everything lies. The folder goes away with the process.
pub(crate) struct Installed {
    folder: TempDir,
}

/// The static library that was built together with this test.
pub(crate) fn archive() -> PathBuf {
    let program = std::env::current_exe().expect("this program has a name");
    let folder = program.parent().expect("it is in a folder");
    let made = |path: &Path| path.metadata().and_then(|data| data.modified());
    let archives = std::fs::read_dir(folder).expect("the folder can be read");
    let archives = archives.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let ours = archives.filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("libsaltern_capi") && name.ends_with(".a")
    });
    let newest = ours.max_by_key(|path| made(path).unwrap_or(SystemTime::UNIX_EPOCH));
    newest.unwrap_or_else(|| panic!("no libsaltern_capi.a in {}", folder.display()))
}

/// The libraries, in a folder of their own.
pub(crate) fn installed() -> &'static Installed {
    static DONE: OnceLock<Installed> = OnceLock::new();
    DONE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let mut install = Command::new(repository("scripts/install"));
        install.env_remove("DESTDIR").arg("--archive").arg(archive()).arg("--prefix");
        succeed(install.arg(folder.path()));
        Installed { folder }
    })
}

impl Installed {
    pub(crate) fn prefix(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn lib(&self) -> PathBuf {
        self.prefix().join("lib")
    }

    pub(crate) fn shim(&self) -> PathBuf {
        self.lib().join("libsaltern-crypt.so")
    }

    /// What pkg-config says of packages.
    pub(crate) fn flags(&self, packages: &[&str], options: &[&str]) -> Vec<String> {
        let mut config = Command::new("pkg-config");
        config.env("PKG_CONFIG_PATH", self.lib().join("pkgconfig")).args(options).args(packages);
        let text = succeed(&mut config);
        text.split_whitespace().map(str::to_owned).collect()
    }

    /// A program out of a source, by a compiler with options, with the shared libraries.
    pub(crate) fn program(&self, compiler: &[&str], source: &Path, packages: &[&str]) -> PathBuf {
        let stem = source.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        let name = format!("{stem}-{}", compiler.join("").replace(['/', '=', '+'], "_"));
        self.made(&name, |place| {
            let mut compile = Command::new(compiler[0]);
            compile.args(&compiler[1..]).args(WARNINGS).arg(source).arg("-o").arg(place);
            self.link(&mut compile, packages);
        })
    }

    /// A program of these tests whose crypt(3) is the shim's.
    pub(crate) fn with_shim(&self, name: &str, flags: &[&str], packages: &[&str]) -> PathBuf {
        self.made(name, |place| {
            let mut compile = Command::new("gcc");
            compile.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-g"]).args(flags);
            compile.arg(repository(&format!("bindings/c/tests/c/{name}.c"))).arg("-o").arg(place);
            self.link(compile.arg(self.shim()), packages);
        })
    }

    fn link(&self, compile: &mut Command, packages: &[&str]) {
        compile.args(self.flags(packages, &["--cflags", "--libs"])).arg("-pthread");
        succeed(compile.arg(format!("-Wl,-rpath,{}", self.lib().display())));
    }

    /// A program that is compiled once: another test may be running it already.
    pub(crate) fn made(&self, name: &str, compile: impl FnOnce(&Path)) -> PathBuf {
        static MADE: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let place = self.prefix().join(name);
        if !made.contains(name) {
            compile(&place);
            made.insert(name.to_owned());
        }
        place
    }

    /// A program of these tests, with gcc.
    pub(crate) fn test_program(&self, name: &str, packages: &[&str]) -> PathBuf {
        let source = repository(&format!("bindings/c/tests/c/{name}"));
        self.program(&["gcc", "-std=gnu11", "-O1", "-g"], &source, packages)
    }
}

pub(crate) const WARNINGS: &[&str] = &["-Wall", "-Wextra", "-pedantic", "-Werror"];

/// Whether a program is on this machine.
pub(crate) fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Runs a command that has to succeed; returns what it prints.
pub(crate) fn succeed(command: &mut Command) -> String {
    let output = run(command);
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, told(&output));
    String::from_utf8(output.stdout).expect("what it prints is text")
}

pub(crate) fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

pub(crate) fn told(output: &Output) -> String {
    let [out, error] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{out}\n{error}")
}
