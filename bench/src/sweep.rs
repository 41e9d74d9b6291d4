//! All tunings at one size: pwxform with other round counts, S-box sizes and lookup widths, and Salsa20 in its place.

use std::hint::black_box;

use anyhow::{Context, ensure};
use saltern_reference::yescrypt as reference;
use saltern_yescrypt::{
    CheckedParams, Derivation, Flavor, Level, Limits, Mode, Params, Workspace, derive, derive_many,
};
use serde::Serialize;

use crate::paired::{self, Plan, Record, Summary};

/// N and r of the sweep: 4 MiB.
const SHAPE: (u64, u32) = (2048, 16);
/// PWXrounds.
pub const ROUNDS: [u32; 4] = [6, 3, 2, 1];
/// Kilobytes of S-boxes (Sbytes / 1024).
pub const SBOX_KIB: [u32; 6] = [12, 24, 48, 96, 192, 384];
/// PWXsimple, lanes of 64 bits in a lookup, with the PWXgather that makes 64 bytes of it.
pub const LOOKUPS: [(u32, u32); 3] = [(2, 4), (4, 2), (8, 1)];
/// Rounds of Salsa20 when it mixes alone, and how many times as many bytes per second as pwxform it mixed in the C code of
/// yescrypt's predecessor, generation 0.5 (both one hash at a time).
const SALSA: [(u32, f64); 3] = [(8, 0.63), (2, 2.14), (1, 3.52)];

/// What one tuning costs at 4 MiB in one thread.
#[derive(Clone, Debug, Serialize)]
pub struct Tuned {
    /// PWXrounds, or rounds of Salsa20.
    pub rounds: u32,
    /// Kilobytes of S-boxes; 0 where Salsa20 mixes.
    pub sbox_kib: u32,
    /// Bits of a lookup; 0 where Salsa20 mixes.
    pub lookup_bits: u32,
    /// Milliseconds for one hash computed alone.
    pub single_ms: Summary,
    /// Milliseconds for each hash of a batch.
    pub batch_ms: Summary,
    /// Both, against the default tuning in the same turns; bytes mixed per second where Salsa20 mixes, which mixes 1.5 times as many.
    pub records: [Record; 2],
}

impl Tuned {
    fn is(&self, rounds: u32, sbox_kib: u32, lookup_bits: u32) -> bool {
        (self.rounds, self.sbox_kib, self.lookup_bits) == (rounds, sbox_kib, lookup_bits)
    }
}

fn params(mode: Mode, flavor: Flavor) -> Params {
    let mut params = Params::new(mode, SHAPE.0, SHAPE.1);
    params.flavor = flavor;
    params
}

/// A tuning of pwxform.
///
/// # Errors
/// Those of [`Flavor::new`] and of measuring.
pub fn pwxform(
    plan: Plan,
    [rounds, sbox_kib]: [u32; 2],
    (simple, gather): (u32, u32),
    workspace: &mut Workspace,
) -> anyhow::Result<Tuned> {
    let flavor = Flavor::new(rounds, gather, simple, sbox_kib << 10)?;
    let name = format!("sweep {rounds} rounds, {sbox_kib} KiB, {} bits", 64 * simple);
    let tuned = measure(plan, &name, params(Mode::Rw, flavor), workspace)?;
    Ok(Tuned { rounds, sbox_kib, lookup_bits: 64 * simple, ..tuned })
}

/// The kernel with two groups of pwxform in one 256-bit register against the usual one, on the default flavour: one hash, and as many as
/// advance together. None below AVX2.
///
/// # Errors
/// Those of deriving, and a difference between the two.
pub fn pairs(plan: Plan, level: Level) -> anyhow::Result<Vec<Record>> {
    let params = params(Mode::Rw, Flavor::DEFAULT).check(&Limits::unlimited())?;
    let mut workspaces = [Workspace::with_level(level)?, Workspace::with_level(level)?];
    if !workspaces[0].pair_groups() {
        return Ok(Vec::new());
    }
    let run = |workspace: &mut Workspace, hashes: usize| {
        let mut keys = vec![[0; 32]; hashes];
        let mut jobs: Vec<_> = keys
            .iter_mut()
            .map(|out| Derivation { password: b"password", salt: b"salt", out })
            .collect();
        derive_many(&mut jobs, &params, None, workspace).map(|()| keys)
    };
    let [paired, usual] = &mut workspaces;
    let mut records = Vec::new();
    for (form, hashes) in [("single", 1), ("batch", params.degree())] {
        ensure!(run(paired, hashes)? == run(usual, hashes)?, "two kernels differ");
        let rates = paired::compare(
            plan,
            |_| black_box(run(paired, hashes)).map_or(0.0, |keys| keys.len() as f64),
            |_| black_box(run(usual, hashes)).map_or(0.0, |keys| keys.len() as f64),
        );
        let sides = ["two groups in 256 bits", "one in 128 bits"];
        records.push(Record::new(&format!("pairs {form} 4 MiB"), sides, "hashes/s", &rates));
    }
    Ok(records)
}

/// Salsa20 mixing alone, with 8, 2 and 1 rounds: the WORM mode, which reads only in its second loop.
///
/// # Errors
/// Those of measuring.
pub fn salsa(plan: Plan, workspace: &mut Workspace) -> anyhow::Result<Vec<Tuned>> {
    let one = |(rounds, goal)| {
        let flavor = Flavor::DEFAULT.with_salsa(rounds, Flavor::DEFAULT.salsa_tail())?;
        let name = format!("sweep Salsa20/{rounds}");
        let mut tuned = measure(plan, &name, params(Mode::Worm, flavor), workspace)?;
        tuned.records[0].goal = Some(goal);
        Ok(Tuned { rounds, ..tuned })
    };
    SALSA.into_iter().map(one).collect()
}

/// Measures one tuning beside the default one: alone, then in batches.
fn measure(
    plan: Plan,
    name: &str,
    params: Params,
    workspace: &mut Workspace,
) -> anyhow::Result<Tuned> {
    let ours = params.check(&Limits::unlimited())?;
    let default = Params::yescrypt(SHAPE.0, SHAPE.1).check(&Limits::unlimited())?;
    check(&ours, workspace).context(name.to_owned())?;
    // One workspace for each side: both stay as they are, and neither evicts the other more than a neighbour would.
    let mut other = Workspace::with_level(workspace.level())?;
    let mut sides = |batch: bool| {
        let (amount, unit) = match params.mode {
            Mode::Rw => ([1.0; 2], "hashes/s"),
            _ => ([&ours, &default].map(|p| p.params().work() as f64 / 1e9), "GB mixed/s"),
        };
        let rates = paired::compare(
            plan,
            |_| amount[0] * run(&ours, batch, workspace),
            |_| amount[1] * run(&default, batch, &mut other),
        );
        let form = if batch { "batch" } else { "single" };
        let record = Record::new(
            &format!("{name}, {form}"),
            ["this tuning", "the default one"],
            unit,
            &rates,
        );
        let times: Vec<f64> = rates[0].iter().map(|rate| 1e3 * amount[0] / rate).collect();
        (Summary::of(&times), record)
    };
    let ((single_ms, single), (batch_ms, batch)) = (sides(false), sides(true));
    let records = [single, batch];
    Ok(Tuned { rounds: 0, sbox_kib: 0, lookup_bits: 0, single_ms, batch_ms, records })
}

/// One hash, or as many as advance together; how many it was.
fn run(params: &CheckedParams, batch: bool, workspace: &mut Workspace) -> f64 {
    let count = if batch { params.degree() } else { 1 };
    _ = black_box(compute(params, count, workspace));
    count as f64
}

fn compute(
    params: &CheckedParams,
    count: usize,
    workspace: &mut Workspace,
) -> Result<Vec<[u8; 32]>, saltern_yescrypt::Error> {
    let inputs: Vec<[u8; 16]> = (0..count as u8).map(|number| [number; 16]).collect();
    let mut hashes = vec![[0; 32]; count];
    if let [hash] = &mut hashes[..] {
        derive(&inputs[0], &inputs[0], params, None, workspace, hash)?;
        return Ok(hashes);
    }
    let jobs = inputs.iter().zip(&mut hashes);
    let mut jobs: Vec<_> =
        jobs.map(|(input, out)| Derivation { password: input, salt: input, out }).collect();
    derive_many(&mut jobs, params, None, workspace)?;
    Ok(hashes)
}

/// Makes sure that alone and in a batch the hashes are those of the reference, which is the only other code with all tunings.
fn check(params: &CheckedParams, workspace: &mut Workspace) -> anyhow::Result<()> {
    let (flavor, mode) = (params.params().flavor, params.params().mode);
    let tuning = reference::Tuning {
        simple: flavor.simple(),
        gather: flavor.gather(),
        rounds: flavor.rounds(),
        swidth: (flavor.sbox_bytes() / 24 / flavor.simple()).ilog2(),
        salsa_main: flavor.salsa_mix(),
        salsa_pwx: flavor.salsa_tail(),
    };
    let mut slow = match mode {
        Mode::Rw => reference::Params::from_flags(tuning.flags().unwrap_or(reference::RW_DEFAULT)),
        _ => reference::Params::from_flags(1),
    };
    (slow.n, slow.r, slow.tuning) = (SHAPE.0, SHAPE.1, tuning);
    let together = compute(params, params.degree(), workspace)?;
    ensure!(compute(params, 1, workspace)?[0] == together[0], "alone and in a batch differ");
    for (number, hash) in (0..).zip(&together) {
        let expected = reference::kdf(&[number; 16], &[number; 16], &slow, None, 32);
        ensure!(expected? == hash, "not what the reference computes");
    }
    Ok(())
}

/// The sweep as Markdown: milliseconds per hash and, in parentheses, hashes per second.
#[must_use]
pub fn table(sweep: &[Tuned], form: &str, time: impl Fn(&Tuned) -> Summary) -> String {
    let mut text = format!("| {form}: rounds, lookup |");
    for kib in SBOX_KIB {
        text += &format!(" {kib} KiB |");
    }
    text += &format!("\n|---|{}\n", "---|".repeat(SBOX_KIB.len()));
    for rounds in ROUNDS {
        for (simple, _) in LOOKUPS {
            let bits = 64 * simple;
            text += &format!("| {rounds}, {bits} bits |");
            for kib in SBOX_KIB {
                let cell = sweep.iter().find(|tuned| tuned.is(rounds, kib, bits));
                text += &cell.map_or(" – |".to_owned(), |tuned| cell_text(time(tuned)));
            }
            text.push('\n');
        }
    }
    for salsa in sweep.iter().filter(|tuned| tuned.sbox_kib == 0) {
        let blanks = " |".repeat(SBOX_KIB.len() - 1);
        text += &format!("| Salsa20/{} |{}{blanks}\n", salsa.rounds, cell_text(time(salsa)));
    }
    text
}

fn cell_text(ms: Summary) -> String {
    format!(" {:.3} ({:.0}) |", ms.median, 1e3 / ms.median)
}

/// Whether 4 MiB take less than a millisecond in one thread, in one line.
#[must_use]
pub fn answer(sweep: &[Tuned]) -> String {
    let mut parts = Vec::new();
    for rounds in [2, 1] {
        if let Some(tuned) = sweep.iter().find(|tuned| tuned.is(rounds, 12, 128)) {
            let [single, batch] = [tuned.single_ms, tuned.batch_ms].map(|ms| ms.median);
            let verdict = if single < 1.0 { "yes" } else { "no" };
            let counted = if rounds == 1 { "1 round" } else { "2 rounds" };
            parts.push(format!(
                "{counted} {verdict}, {single:.3} ms alone, {batch:.3} ms each in a batch"
            ));
        }
    }
    format!("4 MiB in one thread under 1 ms (12 KiB, 128 bits): {}", parts.join("; "))
}
