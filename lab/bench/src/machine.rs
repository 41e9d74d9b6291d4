//! Where and with which code: what a record says beside the numbers.

use std::fs::read_to_string;
use std::process::Command;

use saltern_yescrypt::hazmat::Level;

use crate::record::{Build, Cache, Machine};

impl Machine {
    /// This machine. What the system does not tell is left empty.
    #[must_use]
    pub fn here() -> Machine {
        Machine {
            processor: saltern_tune::processor(),
            cores: processors().len(),
            level: Level::detect().name().to_owned(),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            memory_kib: memory_kib("MemTotal:").unwrap_or(0),
            caches: caches(),
            huge_pages: huge_pages(),
        }
    }
}

/// The processors that this process may run on, by the system's numbers.
#[must_use]
pub fn processors() -> Vec<usize> {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    #[cfg(target_os = "linux")]
    if let Ok(set) = rustix::thread::sched_getaffinity(None) {
        let allowed = (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu));
        let mut allowed: Vec<_> = allowed.take(count).collect();
        // One thread of each core first, so that the second ones add what they add at the end.
        allowed.sort_by_key(|&cpu| siblings(cpu).iter().position(|&sibling| sibling == cpu));
        return allowed;
    }
    (0..count).collect()
}

/// The processors that share a core with this one, itself among them; empty where the system does
/// not tell.
#[must_use]
pub fn siblings(processor: usize) -> Vec<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list");
    processors_in(&read_to_string(path).unwrap_or_default())
}

/// The numbers in the system's form of a list of processors: `3`, `0-7`, `0,64`.
fn processors_in(list: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for range in list.trim().split(',') {
        let mut ends = range.split('-').map(str::parse::<usize>);
        match (ends.next(), ends.next()) {
            (Some(Ok(first)), Some(Ok(last))) => found.extend(first..=last),
            (Some(Ok(one)), None) => found.push(one),
            _ => {}
        }
    }
    found
}

/// What the second thread of a core is here, in words.
#[must_use]
pub fn threads_of_cores() -> String {
    let processors = processors();
    let first = |cpu: &&usize| siblings(**cpu).first().is_none_or(|first| first == *cpu);
    let cores = processors.iter().filter(first).count();
    if cores == processors.len() {
        return "this machine shows no second threads of its cores: whether two processors share \
                one cannot be told"
            .to_owned();
    }
    format!(
        "{} processors are the threads of {cores} cores: up to {cores} threads have a core each, \
         and what more of them add is what second threads add",
        processors.len()
    )
}

/// Keeps the calling thread on one processor, where the system can do that.
pub fn pin(processor: usize) {
    keep_on(&[processor]);
}

/// Keeps the calling thread, and threads and processes that it starts later, on these processors,
/// where the system can do that.
pub fn keep_on(processors: &[usize]) {
    #[cfg(target_os = "linux")]
    {
        let mut set = rustix::thread::CpuSet::new();
        processors.iter().for_each(|&processor| set.set(processor));
        // A processor that has gone away is no reason not to measure.
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = processors;
}

/// A line of /proc/meminfo: `MemTotal:`, `MemAvailable:`.
#[must_use]
pub fn memory_kib(line: &str) -> Option<u64> {
    kib_in(&read_to_string("/proc/meminfo").ok()?, line)
}

/// The size that a file of the system says in such a line: `MemTotal:  16384 kB`.
pub(crate) fn kib_in(file: &str, line: &str) -> Option<u64> {
    let line = file.lines().find_map(|text| text.strip_prefix(line))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn caches() -> Vec<Cache> {
    let cache = |index: u32| {
        let read = |name: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
            read_to_string(path).ok().map(|text| text.trim().to_owned())
        };
        if read("type")? == "Instruction" {
            return None;
        }
        Some(Cache {
            level: read("level")?.parse().ok()?,
            kib: read("size")?.strip_suffix('K')?.parse().ok()?,
            shared_by: processors_in(&read("shared_cpu_list")?).len(),
        })
    };
    (0..8).filter_map(cache).collect()
}

/// The choice in brackets: `always [madvise] never`.
fn huge_pages() -> Option<String> {
    let text = read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

impl Build {
    /// This build. Commit and compiler are those of the source directory, if it is still there.
    #[must_use]
    pub fn here() -> Build {
        Build {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: output_of("git", &["describe", "--always", "--dirty"]),
            rustc: output_of("rustc", &["--version"]),
            profile: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
        }
    }
}

fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let source = env!("CARGO_MANIFEST_DIR");
    let output = Command::new(program).args(arguments).current_dir(source).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_processors_and_memory() {
        let machine = Machine::here();
        assert!(machine.cores >= 1 && machine.cores == processors().len());
        assert!(!machine.level.is_empty());
        #[cfg(target_os = "linux")]
        assert!(machine.memory_kib > 1 << 16 && memory_kib("MemAvailable:").is_some());
    }

    #[test]
    fn lists_of_processors() {
        assert_eq!(processors_in("3\n"), [3]);
        assert_eq!(processors_in("0-2,64-66"), [0, 1, 2, 64, 65, 66]);
        assert_eq!(processors_in("0,64"), [0, 64]);
        assert!(["", "x", "1-"].iter().all(|list| processors_in(list).is_empty()));
    }
}
