//! The other process.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};

use rustix::process::{Resource, Rlimit, setrlimit};
use saltern_rom::{
    Access, AttachOptions, ComputeIn, Create, DirectBuffer, Error, Location, Lock, RomFile,
    RomPages, Seed, attach,
};
use saltern_yescrypt::{
    Limits, Params, Workspace, derive,
    rom::{RomParams, RomView},
};

/// 4 MiB, which takes some tens of milliseconds.
pub(crate) fn params() -> RomParams {
    RomParams::new(4096, 8, 4)
}

pub(crate) fn seed() -> Seed {
    Seed::from_bytes(b"the seed of all children").unwrap()
}

/// One hash with a ROM of [`params`].
pub(crate) fn hash(rom: RomView<'_>) -> String {
    let mut params = Params::yescrypt(64, 8);
    params.nrom = 4096;
    let params = params.check(&Limits::unlimited()).unwrap();
    let mut out = [0; 32];
    derive(b"password", b"salt", &params, Some(&rom), &mut Workspace::new(), &mut out).unwrap();
    saltern_testing::hex::hex(&out)
}

/// What a child is to do, as words.
const TASK: &str = "SALTERN_ROM_CHILD";

/// A command that makes this program do something else; `wrapped` runs it through another program.
pub(crate) fn command(wrapped: &[&str], task: &[&str]) -> Command {
    let own = std::env::current_exe().unwrap();
    let test = ["faults::child::child", "--exact", "--nocapture", "--test-threads=1"];
    let mut command = match wrapped {
        [] => Command::new(own),
        [program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments).arg(own);
            command
        }
    };
    command.args(test).env(TASK, task.join("\n")).env("RUST_BACKTRACE", "0");
    command
}

/// A running child, with which one can talk in lines.
pub(crate) struct Running {
    pub(crate) child: Child,
    input: ChildStdin,
    output: BufReader<std::process::ChildStdout>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Running { child, input, output: BufReader::new(output) }
    }

    /// The child's next line that is meant for its parent; empty when it has ended.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if let Some(start) = line.find("child: ") {
                return line[start + 7..].trim().to_owned();
            }
            line.clear();
        }
        line
    }

    /// Lets a child that waits go on.
    pub(crate) fn go_on(&mut self) {
        self.input.write_all(b"\n").unwrap();
    }

    pub(crate) fn end(mut self) -> ExitStatus {
        drop(self.input);
        let mut rest = Vec::new();
        self.output.read_to_end(&mut rest).unwrap();
        self.child.wait().unwrap()
    }
}

/// Runs a child to its end; its only line.
pub(crate) fn run(wrapped: &[&str], task: &[&str]) -> String {
    let mut child = Running::start(command(wrapped, task));
    let line = child.line();
    assert!(child.end().success(), "{task:?}: {line}");
    line
}

/// Does what the environment says, if it does; else sees to it that a child with nonsense to do is
/// noticed.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else {
        let child =
            command(&[], &["nonsense"]).stderr(Stdio::null()).stdout(Stdio::null()).status();
        return assert!(!child.unwrap().success());
    };
    let words: Vec<&str> = task.split('\n').collect();
    let done = match words[..] {
        ["create", path, how] => create(Path::new(path), how),
        ["create-in-file-limit", path, limit] => {
            let limit = limit.parse().unwrap();
            limited(Resource::Fsize, limit);
            create(Path::new(path), "memory")
        }
        ["attach", path, access] => hash_later(Path::new(path), access),
        ["read", path] => read_later(Path::new(path)),
        ["lock", path, how] => lock(Path::new(path), how),
        _ => panic!("no such task: {task}"),
    };
    match done {
        Ok(said) => println!("child: {said}"),
        Err(error) => println!("child: error: {error}"),
    }
}

fn limited(resource: Resource, limit: u64) {
    setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) }).unwrap();
}

fn create(path: &Path, how: &str) -> Result<String, Error> {
    let seed = seed();
    let mut create = Create::new(params(), &seed);
    create.threads = 2;
    for word in how.split('+') {
        match word {
            "memory" => create.compute_in = ComputeIn::Memory,
            "mapping" => create.compute_in = ComputeIn::Mapping,
            "replace" => create.replace = true,
            key => create.location = Location::Sysv { key: key.parse().unwrap() },
        }
    }
    println!("child: begun");
    Ok(format!("made {}", create.file(path)?.id()))
}

fn wait() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

fn hash_later(path: &Path, access: &str) -> Result<String, Error> {
    let mut options = AttachOptions::new();
    (options.pages, options.access) = match access {
        "auto" => (RomPages::Transparent, Access::Auto),
        "memfd" => (RomPages::Base, Access::Memfd),
        _ => (RomPages::Base, Access::Map),
    };
    let attached = attach(path, &options)?;
    println!("child: attached");
    wait();
    Ok(hash(attached.rom()?))
}

fn read_later(path: &Path) -> Result<String, Error> {
    let rom = RomFile::open(path, None)?;
    println!("child: attached");
    wait();
    let mut block = DirectBuffer::new(128 * 8)?;
    for j in 0..4096 {
        rom.read_block(j, 8, &mut block)?;
    }
    Ok("read".to_owned())
}

fn lock(path: &Path, how: &str) -> Result<String, Error> {
    limited(Resource::Memlock, 0);
    let mut options = AttachOptions::new();
    options.lock = if how == "require" { Lock::Require } else { Lock::Try };
    let attached = attach(path, &options)?;
    Ok(format!("locked: {}; {}", attached.locked(), attached.notes().join("; ")))
}
