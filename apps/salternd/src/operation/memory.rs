//! The memory that the service may take, and what its control group allows.

use std::path::Path;

use anyhow::bail;
use saltern::Policy;
use saltern::policy::{Access, Remember, RomSource, size_text};
use saltern::users::MAX;
use saltern_rom::{GroupLimit, group_limits, is_in_memory};

use super::config::Config;
use crate::transport::HANDSHAKES;

/// What the process takes beside its pool, its ROMs and its clients, and each thread of the pool.
const PROCESS: u64 = 16 << 20;
const THREAD: u64 = 256 << 10;

/// How many times its size a file of users takes, while one version is read beside another.
const USERS: u64 = 8;

/// The most that a connection takes beside bodies: measured (docs/service.md).
const CONNECTION: u64 = 96 << 10;

/// Refuses a policy whose hashes do not fit into the memory of this process: it would be killed.
///
/// # Errors
/// If the limit of the control group is lower.
pub(super) fn check(policy: &Policy, config: &Config) -> anyhow::Result<()> {
    fits(policy, config, group_limits().0.as_ref())
}

/// A remark if hashes fit, but attacks with as many connections and bodies as are allowed might
/// not.
pub(super) fn note(policy: &Policy, config: &Config) -> Option<String> {
    let (max, high) = group_limits();
    remark(needed(policy, config), at_most(policy, config), max.as_ref(), high.as_ref())
}

fn fits(policy: &Policy, config: &Config, max: Option<&GroupLimit>) -> anyhow::Result<()> {
    let needed = needed(policy, config);
    if let Some(max) = max.filter(|max| max.bytes < needed) {
        bail!(
            "pool.memory = {:?} and copied ROMs take {} of memory with what the process needs, but \
             its control group has {} ({}): lower pool.memory, or raise that limit (MemoryMax of \
             systemd, --memory of a container)",
            size_text(policy.pool.memory),
            mib(needed),
            mib(max.bytes),
            max.file.display(),
        );
    }
    Ok(())
}

fn remark(
    needed: u64,
    most: u64,
    max: Option<&GroupLimit>,
    high: Option<&GroupLimit>,
) -> Option<String> {
    let named = |limit: &GroupLimit| format!("{} ({})", mib(limit.bytes), limit.file.display());
    if let Some(high) = high.filter(|high| high.bytes < needed) {
        return Some(format!(
            "hashes and copied ROMs take {}, but the control group is slowed down beyond {}",
            mib(needed),
            named(high)
        ));
    }
    let max = max.filter(|max| max.bytes < most)?;
    Some(format!(
        "with as many connections and bodies as limits.connections and limits.bodies allow, the \
         service may take {}, but its control group has {}",
        mib(most),
        named(max)
    ))
}

/// What hashes take, with the copies of ROMs, remembered logins and files of users.
fn needed(policy: &Policy, config: &Config) -> u64 {
    let roms: u64 = policy.roms.iter().map(|rom| copied(&rom.source)).sum();
    let threads = THREAD * policy.pool.threads as u64;
    let logins = policy.remember.as_ref().map_or(0, Remember::memory);
    let size = |file: &Path| std::fs::metadata(file).map_or(0, |found| found.len());
    let users = USERS * config.user_files().map(|file| size(file).min(MAX as u64)).sum::<u64>();
    policy.pool.memory.saturating_add(roms).saturating_add(PROCESS + threads + logins + users)
}

/// The memory at most: what hashes take, and everything that clients may take.
fn at_most(policy: &Policy, config: &Config) -> u64 {
    let limits = config.limits();
    let tls = config.listen.iter().filter(|listen| listen.tls().is_some()).count();
    let connections = limits.connections * config.listen.len().max(1) + HANDSHAKES * tls;
    let connections = connections as u64;
    // A body is read, and then decoded.
    needed(policy, config).saturating_add(2 * limits.bodies as u64 + connections * CONNECTION)
}

/// The bytes of a ROM that is copied into memory.
fn copied(source: &RomSource) -> u64 {
    let RomSource::Image { path, access, .. } = source else { return 0 };
    let copied = match access {
        Some(Access::Copy | Access::Memfd) => true,
        Some(Access::Auto) => is_in_memory(path).is_ok_and(|is_in_memory| !is_in_memory),
        _ => false,
    };
    let size = || std::fs::metadata(path).map_or(0, |image| image.len());
    if copied { size() } else { 0 }
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_and_what_may_not_is_remarked() {
        let mut policy = Policy::default();
        (policy.pool.memory, policy.pool.threads) = (4 << 30, 4);
        let limit = |mib: u64| GroupLimit { bytes: mib << 20, file: "/g/memory.max".into() };
        let error = fits(&policy, &Config::default(), Some(&limit(256))).unwrap_err().to_string();
        for told in ["pool.memory = \"4 GiB\"", "take 4113 MiB", "has 256 MiB (/g/memory.max)"] {
            assert!(error.contains(told), "{error}");
        }
        let fits = |limit: Option<GroupLimit>| fits(&policy, &Config::default(), limit.as_ref());
        assert!(fits(Some(limit(4112))).is_err());
        assert!(fits(Some(limit(4113))).is_ok() && fits(None).is_ok());

        let (needed, most) =
            (needed(&policy, &Config::default()), at_most(&policy, &Config::default()));
        // 4096 connections, and bodies of 64 MiB.
        assert_eq!(most - needed, (4096 * CONNECTION) + (128 << 20));
        let remark = |max: Option<u64>, high: Option<u64>| {
            remark(needed, most, max.map(limit).as_ref(), high.map(limit).as_ref())
        };
        assert!(remark(Some(4500), None).unwrap().contains("has 4500 MiB (/g/memory.max)"));
        assert!(remark(None, Some(4000)).unwrap().contains("slowed down beyond 4000 MiB"));
        assert_eq!(remark(Some(8000), Some(5000)), None);
        assert_eq!(remark(None, None), None);
    }
}
