//! The text of a policy.

use std::fmt::Write;
use std::path::Path;

use anyhow::Context;
use saltern::Policy;
use saltern::policy::words::{ACCESS, FLAVORS, SYNTAXES, WIPES, quoted, word};
use saltern::policy::{KeySource, Params, RomSource, size_text};
use saltern_yescrypt::hazmat::Pages;

use crate::output::memory_words;

/// A file that says what the policy says, with every value.
pub(super) fn text(policy: &Policy) -> anyhow::Result<String> {
    let mut text = String::new();
    let schemes: Vec<_> = policy.schemes.iter().map(|scheme| quoted(scheme.name())).collect();
    writeln!(text, "schemes = [{}]", schemes.join(", "))?;
    if let Some(source) = &policy.assume_unnamed_key {
        writeln!(text, "assume_unnamed_key = {}", key_file(source)?)?;
    }
    if let Some(id) = &policy.assume_unnamed_rom {
        writeln!(text, "assume_unnamed_rom = \"{id}\"")?;
    }
    writeln!(text, "check_roms = \"{}ms\"", policy.check_roms.as_millis())?;
    writeln!(text, "\n# New hashes: {} each.\n[params]", memory_words(policy.params.memory()))?;
    params(&mut text, &policy.params)?;
    writeln!(
        text,
        "\n# What is weaker is reported: {}.\n[floor]",
        memory_words(policy.floor.memory())
    )?;
    params(&mut text, &policy.floor)?;
    writeln!(text, "salt = {}", policy.min_salt)?;
    limits(&mut text, policy)?;
    keys_and_roms(&mut text, policy)?;
    pool(&mut text, policy)?;
    decoy(&mut text, policy)?;
    Ok(text)
}

fn params(text: &mut String, params: &Params) -> std::fmt::Result {
    let Params { n, r, p, t, .. } = params;
    writeln!(text, "n = {n}\nr = {r}\np = {p}\nt = {t}")
}

fn limits(text: &mut String, policy: &Policy) -> std::fmt::Result {
    let limits = &policy.limits;
    writeln!(text, "\n[limits]")?;
    writeln!(
        text,
        "memory = \"{}\"\nwork = \"{}\"",
        size_text(limits.max_memory),
        size_text(limits.max_work)
    )?;
    let flavors = word(FLAVORS, &limits.flavors);
    let syntax = word(SYNTAXES, &limits.syntax);
    for (name, limit, most) in [
        ("n", limits.max_n, u64::MAX),
        ("r", limits.max_r.into(), u32::MAX.into()),
        ("p", limits.max_p.into(), u32::MAX.into()),
        ("t", limits.max_t.into(), u32::MAX.into()),
    ] {
        if limit == most {
            writeln!(text, "# {name}: no limit")?;
        } else {
            writeln!(text, "{name} = {limit}")?;
        }
    }
    writeln!(text, "password = {}\nrom = {}", limits.max_password, limits.rom)?;
    writeln!(text, "flavors = \"{flavors}\"\nsyntax = \"{syntax}\"")
}

fn keys_and_roms(text: &mut String, policy: &Policy) -> anyhow::Result<()> {
    for key in &policy.keys {
        let (name, file) = (quoted(key.name.as_str()), key_file(&key.source)?);
        writeln!(text, "\n[[keys]]\nname = {name}\nfile = {file}")?;
        let fingerprint = key.name.fingerprint().map(|it| it.to_string()).unwrap_or_default();
        writeln!(text, "fingerprint = \"{fingerprint}\"\nactive = {}", key.active)?;
    }
    for rom in &policy.roms {
        let RomSource::Image { path, hash, access } = &rom.source else { continue };
        let access = word(ACCESS, access);
        writeln!(text, "\n[[roms]]\nimage = {}\nhash = \"{hash}\"", file(path)?)?;
        writeln!(text, "access = \"{access}\"\nactive = {}", rom.active)?;
    }
    Ok(())
}

fn pool(text: &mut String, policy: &Policy) -> std::fmt::Result {
    let pool = &policy.pool;
    writeln!(
        text,
        "\n[pool]\nthreads = {}\nmemory = \"{}\"",
        pool.threads,
        size_text(pool.memory)
    )?;
    writeln!(text, "queue = {}\nin_flight = {}", pool.max_waiting, pool.in_flight)?;
    writeln!(text, "patience = \"{}ms\"", pool.patience.as_millis())?;
    if let Some(deadline) = policy.deadline {
        writeln!(text, "deadline = \"{}ms\"", deadline.as_millis())?;
    }
    let wipe = word(WIPES, &pool.wipe);
    writeln!(text, "wipe = \"{wipe}\"\nhuge_pages = {}", pool.pages == Pages::Huge)?;
    writeln!(text, "prepare = {}", pool.prepare.is_some())?;
    writeln!(text, "processors = {:?}", pool.processors)
}

fn decoy(text: &mut String, policy: &Policy) -> anyhow::Result<()> {
    let decoy = &policy.decoy;
    if let Some(source) = &decoy.key {
        writeln!(text, "\n[decoy]\nkey = {}", key_file(source)?)?;
    }
    for cost in &decoy.costs {
        let like = quoted(&cost.like);
        writeln!(text, "\n[[decoy.costs]]\nlike = {like}\nshare = {}", cost.share)?;
    }
    Ok(())
}

fn key_file(source: &KeySource) -> anyhow::Result<String> {
    match source {
        KeySource::File(path) => file(path),
        KeySource::Value(_) => anyhow::bail!("a key that is not in a file cannot be shown"),
    }
}

/// A file, wherever the text will be.
fn file(path: &Path) -> anyhow::Result<String> {
    let full = std::path::absolute(path).with_context(|| path.display().to_string())?;
    let text = full.to_str().with_context(|| format!("{} is not UTF-8", full.display()))?;
    Ok(quoted(text))
}
