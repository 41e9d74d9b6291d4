//! The work that a point of a grid means.

use anyhow::{Context, ensure};
use saltern_yescrypt::{
    Params,
    params::{Flags, Flavor, Mode},
};

use super::Point;
use crate::work::{Argon2, Cats, Fill, Message, Variant, Work, pages_from_name};

pub(super) fn work(point: &Point) -> anyhow::Result<Work> {
    let algorithm = point.algorithm.as_deref().unwrap_or("yescrypt");
    let mode = match algorithm {
        "yescrypt" => Mode::Rw,
        "worm" => Mode::Worm,
        "scrypt" => Mode::Classic,
        "escrypt" => Mode::Escrypt(Flags { rw: true, ..Flags::default() }),
        "escrypt-pwxform" => Mode::Escrypt(Flags { rw: true, pwxform: true, ..Flags::default() }),
        "rom-fill" => {
            let (nrom, r) = point.shape.context("shape = [[NROM, r], …]")?;
            let (p, threads) = (point.p.unwrap_or(1), point.fill_threads.unwrap_or(1));
            return Ok(Work::Fill(Fill { nrom, r, p, threads }));
        }
        "twocats" | "skinnycat" => {
            let kib = point.kib.context("kib of memory")?;
            ensure!(kib.is_power_of_two(), "kib = {kib}: a power of two");
            let (skinny, mem_cost) = (algorithm == "skinnycat", kib.ilog2());
            return Ok(Work::Cats(Cats { skinny, mem_cost }));
        }
        "argon2d" | "argon2id" => return argon2(point, algorithm == "argon2id"),
        other => {
            let variant = Variant::from_name(other);
            let variant = variant.with_context(|| format!("algorithm {other:?} is not known"))?;
            let bytes = point.bytes.context("bytes of a message")?;
            let messages = point.messages.unwrap_or(1);
            ensure!(messages >= 1, "messages = 0: 1 and more");
            return Ok(Work::Message(Message { variant, bytes, messages, file: point.file }));
        }
    };
    let (n, r) = point.shape.context("shape = [[N, r], …]")?;
    let mut params = Params::new(mode, n, r);
    let salsa = point.salsa.unwrap_or(8);
    params.flavor = if let Mode::Escrypt(_) = mode {
        Flavor::escrypt(8, 2, 4, 6, salsa)?
    } else {
        let bits = point.lookup.unwrap_or(128);
        let gather = point.gather.unwrap_or(512 / bits.max(1));
        let rounds = point.rounds.unwrap_or(6);
        Flavor::new(rounds, gather, bits / 64, point.sbox_kib.unwrap_or(12) << 10)?
            .with_salsa(salsa, Flavor::DEFAULT.salsa_tail())?
    };
    (params.p, params.t) = (point.p.unwrap_or(1), point.t.unwrap_or(0));
    params.nrom = point.nrom.unwrap_or(0);
    let pages = || pages_from_name(point.rom_pages.as_deref().unwrap_or("2 MiB"));
    let rom = (params.nrom > 0).then(pages).transpose()?;
    let work = Work::Yescrypt(params, rom);
    work.checked()?;
    Ok(work)
}

fn argon2(point: &Point, id: bool) -> anyhow::Result<Work> {
    let kib = point.kib.context("kib of Argon2")?;
    Ok(Work::Argon2(Argon2 { id, kib, t: point.t.unwrap_or(1), p: point.p.unwrap_or(1) }))
}
