//! Control groups (cgroups(7)), both versions: the memory that they allow.

use std::path::{Path, PathBuf};

/// A limit that the control groups of this process set to its memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupLimit {
    /// Bytes.
    pub bytes: u64,
    /// The file that sets it.
    pub file: PathBuf,
}

/// What the control groups of this process allow it: the limit beyond which processes are killed,
/// and the one beyond which they are slowed down. `None` where there is no such limit, or no
/// control groups.
#[must_use]
pub fn group_limits() -> (Option<GroupLimit>, Option<GroupLimit>) {
    limits(&own_groups())
}

/// The least that the limits of the control groups of this process leave.
pub(crate) fn left() -> Option<u64> {
    least_left(&own_groups())
}

fn limits(groups: &[Group]) -> (Option<GroupLimit>, Option<GroupLimit>) {
    let least = |name: fn(Version) -> Option<&'static str>| {
        let limits = groups.iter().filter_map(|group| group.limit(name(group.version)?));
        limits.min_by_key(|limit| limit.bytes)
    };
    (least(|version| Some(version.max())), least(Version::high))
}

/// A control group that counts memory.
struct Group {
    folder: PathBuf,
    version: Version,
}

#[derive(Clone, Copy)]
enum Version {
    One,
    Two,
}

impl Version {
    const fn max(self) -> &'static str {
        match self {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        }
    }

    const fn high(self) -> Option<&'static str> {
        match self {
            Version::One => None,
            Version::Two => Some("memory.high"),
        }
    }

    /// What counts the memory that cannot be reclaimed.
    const fn allocated(self) -> [&'static str; 2] {
        match self {
            Version::One => ["total_rss ", "total_shmem "],
            Version::Two => ["anon ", "shmem "],
        }
    }
}

impl Group {
    fn limit(&self, name: &str) -> Option<GroupLimit> {
        let file = self.folder.join(name);
        let bytes = std::fs::read_to_string(&file).ok()?.trim().parse().ok()?;
        Some(GroupLimit { bytes, file })
    }

    /// What its limit leaves. Page cache can be reclaimed, and does not count.
    fn left(&self) -> Option<u64> {
        let limit = self.limit(self.version.max())?.bytes;
        let statistics = std::fs::read_to_string(self.folder.join("memory.stat"));
        let statistics = statistics.unwrap_or_default();
        let used = |name| {
            let line = statistics.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse::<u64>().ok()
        };
        let allocated = self.version.allocated().into_iter().filter_map(used).sum();
        Some(limit.saturating_sub(allocated))
    }
}

fn own_groups() -> Vec<Group> {
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    groups(Path::new("/sys/fs/cgroup"), &own)
}

/// The groups of a process (cgroups(7)), whose `/proc/PROCESS/cgroup` this is, and those around
/// them. In a container the outermost may be its own.
fn groups(root: &Path, own: &str) -> Vec<Group> {
    let mut groups = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let (root, version) = match controllers {
            "" => (root.to_owned(), Version::Two),
            _ if controllers.split(',').any(|one| one == "memory") => {
                (root.join("memory"), Version::One)
            }
            _ => continue,
        };
        let around = Path::new(group.trim_start_matches('/')).ancestors();
        groups.extend(around.map(|group| Group { folder: root.join(group), version }));
    }
    groups
}

fn least_left(groups: &[Group]) -> Option<u64> {
    groups.iter().filter_map(Group::left).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_of_all_groups_around_counts() {
        let root = tempfile::tempdir().unwrap();
        let limit = |own: &str| least_left(&groups(root.path(), own));
        std::fs::create_dir_all(root.path().join("site/login")).unwrap();
        assert_eq!(limit("0::/site/login\n"), None);
        for (group, bytes, least) in [
            ("site/login", "max", None),
            ("", "9000", Some(9000)),
            ("site", "4000", Some(4000)),
            ("site/login", "5000", Some(4000)),
            ("site/login", "3000", Some(3000)),
        ] {
            std::fs::write(root.path().join(group).join("memory.max"), bytes).unwrap();
            assert_eq!(limit("1:cpu:/other\n0::/site/login\n"), least, "{group} {bytes}");
        }
        assert_eq!([limit("0::/site\n"), limit("0::/\n")], [Some(4000), Some(9000)]);
        assert_eq!(limit("1:memory:/site\n"), None);
        let statistics = "anon 1500\nfile 900\nshmem 500\nanon_thp 100\n";
        std::fs::write(root.path().join("site/memory.stat"), statistics).unwrap();
        assert_eq!(limit("0::/site/login\n"), Some(2000));
        std::fs::write(root.path().join("site/memory.stat"), "anon 5000\n").unwrap();
        assert_eq!(limit("0::/site/login\n"), Some(0));
    }

    #[test]
    fn limits_are_told_with_their_files_in_both_versions() {
        let root = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let file = root.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        let told = |own: &str| {
            let (max, high) = limits(&groups(root.path(), own));
            let told = |limit: GroupLimit| {
                let file = limit.file.strip_prefix(root.path()).unwrap().to_owned();
                (limit.bytes, file.to_str().unwrap().to_owned())
            };
            (max.map(told), high.map(told))
        };
        assert_eq!(told("0::/site\n2:cpu,memory:/site\n"), (None, None));
        write("site/memory.max", "5000\n");
        write("site/memory.high", "max\n");
        write("memory.high", "4000\n");
        let wanted = (Some((5000, "site/memory.max".into())), Some((4000, "memory.high".into())));
        assert_eq!(told("0::/site/a\n"), wanted);
        write("memory/site/memory.limit_in_bytes", "3000\n");
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/site/memory.stat", "rss 7\ntotal_rss 1000\ntotal_shmem 500\n");
        let wanted = Some((3000, "memory/site/memory.limit_in_bytes".into()));
        assert_eq!(told("3:cpu,memory:/site\n0::/\n").0, wanted);
        assert_eq!(least_left(&groups(root.path(), "3:memory:/site\n")), Some(1500));
        // In a container, whose group has another name inside.
        assert_eq!(told("3:memory:/docker/1\n").0.unwrap().0, 9_223_372_036_854_771_712);
    }
}
