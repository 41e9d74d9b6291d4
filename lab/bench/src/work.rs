//! What is computed: the part of a case that does not depend on who computes it.

use anyhow::{Context, bail, ensure};
use saltern_chart::markup;
use saltern_yescrypt::{
    Limits, Params,
    hazmat::Pages,
    params::{CheckedParams, Mode},
};

use crate::record;

/// One piece of work, to be done with many inputs.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// yescrypt, scrypt, or escrypt in its RW mode, perhaps with a ROM of `Params::nrom` blocks in
    /// memory on such pages. Every odd step of escrypt reads it.
    Yescrypt(Params, Option<Pages>),
    /// Argon2.
    Argon2(Argon2),
    /// BLAKE2 and its relatives.
    Message(Message),
    /// Filling a ROM, in memory that is there already.
    Fill(Fill),
    /// TwoCats or SkinnyCat on BLAKE2s.
    Cats(Cats),
}

/// TwoCats with the settings of its simple call, or SkinnyCat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cats {
    /// SkinnyCat, or else TwoCats.
    pub skinny: bool,
    /// Binary logarithm of the memory in KiB.
    pub mem_cost: u32,
}

/// A ROM to be filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Blocks.
    pub nrom: u64,
    /// Size of a block in units of 128 bytes.
    pub r: u32,
    /// Slices.
    pub p: u32,
    /// Threads that work on them.
    pub threads: u8,
}

impl Fill {
    /// Of the image.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        128 * u64::from(self.r) * self.nrom
    }
}

/// Argon2, version 1.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argon2 {
    /// Argon2id, or else Argon2d.
    pub id: bool,
    /// Memory in KiB.
    pub kib: u32,
    /// Passes.
    pub t: u32,
    /// Lanes.
    pub p: u32,
}

/// Messages to be hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// By what.
    pub variant: Variant,
    /// Bytes of each.
    pub bytes: usize,
    /// How many in one call.
    pub messages: usize,
    /// From a file, by a program, instead of from memory.
    pub file: bool,
}

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names say it")]
pub enum Variant {
    Blake2b,
    Blake2s,
    Blake2bp,
    Blake2sp,
    Blake3,
}

impl Variant {
    const ALL: [Variant; 5] =
        [Variant::Blake2b, Variant::Blake2s, Variant::Blake2bp, Variant::Blake2sp, Variant::Blake3];

    /// As in records and on command lines.
    #[must_use]
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// The inverse of [`Variant::name`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<Variant> {
        Self::ALL.into_iter().find(|variant| variant.name() == name)
    }
}

impl Work {
    /// The parameters of yescrypt, of either generation.
    ///
    /// # Errors
    /// Work of another kind.
    pub fn params(&self) -> anyhow::Result<&Params> {
        match self {
            Work::Yescrypt(params, _) => Ok(params),
            other => bail!("{other:?} has no parameters of yescrypt"),
        }
    }

    /// [`Work::params`] as the library takes them.
    ///
    /// # Errors
    /// Those, and parameters that cannot be computed.
    pub fn checked(&self) -> anyhow::Result<CheckedParams> {
        let mut params = *self.params()?;
        if is_escrypt(&params) {
            // Lists of ROMs are apart from the parameters.
            params.nrom = 0;
        }
        Ok(params.check(&Limits::unlimited())?)
    }

    /// Bytes of memory of one hash; 0 where it does not matter.
    #[must_use]
    pub fn memory(&self) -> u64 {
        match self {
            Work::Yescrypt(params, _) => 128 * u64::from(params.r) * params.n,
            Work::Argon2(argon2) => u64::from(argon2.kib) << 10,
            Work::Message(_) => 0,
            Work::Fill(fill) => fill.bytes(),
            Work::Cats(cats) => 1024 << cats.mem_cost,
        }
    }

    /// Bytes that are worked through for each hash, where there are any and bytes in a second say
    /// more than hashes in a second.
    #[must_use]
    pub fn input_bytes(&self) -> Option<u64> {
        match self {
            Work::Message(message) => Some(message.bytes as u64).filter(|&bytes| bytes > 0),
            Work::Fill(fill) => Some(fill.bytes()),
            Work::Yescrypt(..) | Work::Argon2(_) | Work::Cats(_) => None,
        }
    }

    /// Bytes that one hash moves, as a multiple of [`Work::memory`], and the part of it that is
    /// read from a ROM. For messages 1.
    ///
    /// What is counted are whole blocks. A loop that fills memory writes each of N blocks once, and
    /// in the RW mode reads one for each that it writes. A loop that mixes reads a block in each of
    /// its steps and in the RW mode writes it back. Of the reads half go to the ROM if there is
    /// one, from which nothing is written back. With t = 2 in the RW mode, the second loop runs N
    /// times and the factor is the 4 of yescrypt's predecessor; its 3 and 2 are WORM with t = 2 and
    /// with t = 0, the latter being classic scrypt's.
    ///
    /// ```
    /// use saltern_bench::work::Work;
    /// use saltern_yescrypt::{Params, params::Mode};
    /// let mut params = Params::yescrypt(4096, 8);
    /// params.t = 2;
    /// assert_eq!(Work::Yescrypt(params, None).traffic(), (4.0, 0.0));
    /// params.mode = Mode::Worm;
    /// assert_eq!(Work::Yescrypt(params, None).traffic(), (3.0, 0.0));
    /// assert_eq!(Work::Yescrypt(Params::scrypt(4096, 8, 1), None).traffic(), (2.0, 0.0));
    /// ```
    #[must_use]
    pub fn traffic(&self) -> (f64, f64) {
        match self {
            Work::Yescrypt(params, _) => traffic(params),
            // Each block is written once, after two have been read.
            Work::Argon2(argon2) => (3.0 * f64::from(argon2.t), 0.0),
            Work::Cats(_) => (3.0, 0.0),
            Work::Message(_) | Work::Fill(_) => (1.0, 0.0),
        }
    }

    /// Its part of a record.
    #[must_use]
    pub fn record(&self) -> record::Work {
        match self {
            Work::Yescrypt(params, rom) => of_yescrypt(params, *rom),
            Work::Argon2(Argon2 { id, kib, t, p }) => record::Work {
                algorithm: if *id { "argon2id" } else { "argon2d" }.to_owned(),
                memory_kib: Some((*kib).into()),
                t: Some(*t),
                p: Some(*p),
                ..record::Work::default()
            },
            Work::Message(message) => record::Work {
                algorithm: message.variant.name(),
                bytes: Some(message.bytes as u64),
                messages: Some(message.messages as u64),
                ..record::Work::default()
            },
            Work::Cats(cats) => record::Work {
                algorithm: if cats.skinny { "skinnycat" } else { "twocats" }.to_owned(),
                memory_kib: Some((1_u64 << cats.mem_cost) as f64),
                ..record::Work::default()
            },
            Work::Fill(fill) => record::Work {
                algorithm: "rom-fill".to_owned(),
                n: Some(fill.nrom),
                r: Some(fill.r),
                p: Some(fill.p),
                threads: Some(fill.threads.into()),
                memory_kib: Some((fill.bytes() >> 10) as f64),
                ..record::Work::default()
            },
        }
    }
}

/// Whether these are parameters of escrypt, or yescrypt 0.5.
#[must_use]
pub fn is_escrypt(params: &Params) -> bool {
    matches!(params.mode, Mode::Escrypt(_))
}

fn traffic(params: &Params) -> (f64, f64) {
    if is_escrypt(params) {
        // The loops of today's RW mode.
        let mut today = Params::yescrypt(params.n, params.r);
        (today.t, today.nrom) = (params.t, params.nrom);
        return traffic(&today);
    }
    let block = 128 * u128::from(params.r);
    let (n, p) = (params.n as f64, f64::from(params.p));
    let mixing = (params.mixed() / block) as f64 - if params.mode == Mode::Rw { n } else { p * n };
    let (blocks, rom) = match (params.mode, params.nrom) {
        // Each of p slices is written back to by one of the p instances that read it.
        (Mode::Rw, 0) => (2.0 * n + mixing + mixing / p, 0.0),
        (Mode::Rw, _) => (2.0 * n + mixing + mixing / (2.0 * p), (n + mixing) / 2.0),
        _ => (p * n + mixing, 0.0),
    };
    (blocks / n, rom / n)
}

fn of_yescrypt(params: &Params, rom: Option<Pages>) -> record::Work {
    let flavor = &params.flavor;
    let rw = (params.mode == Mode::Rw).then_some(());
    let pwxform = matches!(params.mode, Mode::Escrypt(flags) if flags.pwxform);
    let rom_bytes = 128 * u64::from(params.r) * params.nrom;
    record::Work {
        algorithm: match params.mode {
            Mode::Classic => "scrypt",
            Mode::Worm => "yescrypt-worm",
            Mode::Rw => "yescrypt",
            Mode::Escrypt(flags) if flags.pwxform => "escrypt-pwxform",
            Mode::Escrypt(_) => "escrypt",
        }
        .to_owned(),
        memory_kib: Some(0.125 * f64::from(params.r) * params.n as f64),
        n: Some(params.n),
        r: Some(params.r),
        p: Some(params.p),
        t: Some(params.t),
        rounds: rw.map(|()| flavor.rounds()),
        sbox_kib: rw.map(|()| flavor.sbox_bytes() >> 10),
        lookup_bits: rw.map(|()| 64 * flavor.simple()),
        gather: rw.map(|()| flavor.gather()),
        salsa_rounds: (rw.is_none() && !pwxform).then(|| flavor.salsa_mix()),
        rom_kib: rom.map(|_| rom_bytes >> 10),
        rom_medium: rom.map(medium),
        ..record::Work::default()
    }
}

fn medium(pages: Pages) -> String {
    format!("RAM, {} pages", pages_name(pages))
}

/// Pages as in records and cases.
#[must_use]
pub fn pages_name(pages: Pages) -> &'static str {
    match pages {
        Pages::Standard => "4 KiB",
        Pages::Huge => "2 MiB",
    }
}

/// The inverse of [`pages_name`].
///
/// # Errors
/// Other names.
pub fn pages_from_name(name: &str) -> anyhow::Result<Pages> {
    let known = [Pages::Standard, Pages::Huge].into_iter().find(|pages| pages_name(*pages) == name);
    known.with_context(|| format!("pages {name:?}: only \"4 KiB\" and \"2 MiB\" are known"))
}

impl record::Work {
    /// A short name of the work that tells it from others: the middle part of a cell's name.
    #[must_use]
    pub fn slug(&self) -> String {
        let mut parts = vec![self.algorithm.clone()];
        let mut push = |prefix: &str, value: Option<u64>, usual: u64, suffix: &str| {
            if let Some(value) = value.filter(|value| *value != usual) {
                parts.push(format!("{prefix}{value}{suffix}"));
            }
        };
        if self.n.is_none() {
            push("", self.memory_kib.map(|kib| kib as u64), 0, "KiB");
        }
        push("N", self.n, 0, "");
        push("r", self.r.map(u64::from), 0, "");
        push("p", self.p.map(u64::from), 1, "");
        push("t", self.t.map(u64::from), 0, "");
        push("", self.threads.map(u64::from), 1, "threads");
        push("", self.rounds.map(u64::from), 0, "rounds");
        push("", self.sbox_kib.map(u64::from), 0, "KiB");
        push("", self.lookup_bits.map(u64::from), 0, "bit");
        if self.gather.zip(self.lookup_bits).is_some_and(|(gather, bits)| gather * bits != 512) {
            push("gather", self.gather.map(u64::from), 0, "");
        }
        push("salsa", self.salsa_rounds.map(u64::from), 0, "");
        push("rom", self.rom_kib, 0, "KiB");
        push("", self.bytes, u64::MAX, "B");
        push("x", self.messages, 1, "");
        if let Some(medium) = &self.rom_medium {
            parts.push(medium.replace([' ', ','], ""));
        }
        parts.join("-")
    }

    /// The work in words.
    #[must_use]
    pub fn words(&self) -> String {
        let mut text = match self.algorithm.as_str() {
            "yescrypt-worm" => "yescrypt WORM".to_owned(),
            "escrypt" => "escrypt RW".to_owned(),
            "escrypt-pwxform" => "escrypt RW ($7X$)".to_owned(),
            "argon2d" => "Argon2d".to_owned(),
            "argon2id" => "Argon2id".to_owned(),
            "twocats" => "TwoCats".to_owned(),
            "skinnycat" => "SkinnyCat".to_owned(),
            "rom-fill" => "filling a ROM,".to_owned(),
            other => other.replace("blake", "BLAKE"),
        };
        if let Some(kib) = self.memory_kib {
            text += &format!(" {}", markup::kib(kib));
        }
        if let Some((n, r)) = self.n.zip(self.r) {
            let usual = self.algorithm == "yescrypt" && self.p == Some(1) && self.t == Some(0);
            // What crypt(3) makes by default has a name that everybody knows.
            let name = if usual && (n, r) == (4096, 32) { ", $y$j9T$" } else { "" };
            text += &format!(" (N={n} r={r}{name})");
        }
        let extra = [("p", self.p, 1), ("t", self.t, 0), ("threads", self.threads, 1)];
        for (name, value, usual) in extra {
            if let Some(value) = value.filter(|value| *value != usual) {
                text += &format!(", {name}={value}");
            }
        }
        if let (Some(rounds), Some(kib), Some(bits)) =
            (self.rounds, self.sbox_kib, self.lookup_bits)
            && (rounds, kib, bits) != (6, 12, 128)
        {
            let rounds = markup::plural(rounds as usize, "round");
            text += &format!(", {rounds}, {kib} KiB S-boxes, {bits}-bit lookups");
        }
        if let Some(gather) = self.gather
            && gather * self.lookup_bits.unwrap_or(128) != 512
        {
            text += &format!(", gather {gather}");
        }
        if let Some(rounds) = self.salsa_rounds {
            text += &format!(", Salsa20/{rounds}");
        }
        if let Some(kib) = self.rom_kib {
            text += &format!(", ROM of {}", markup::kib(kib as f64));
        }
        if let Some(medium) = &self.rom_medium {
            text += &format!(" in {medium}");
        }
        if let Some((bytes, messages)) = self.bytes.zip(self.messages) {
            let many =
                if messages == 1 { String::new() } else { format!(", {messages} messages of") };
            text += &format!("{many} {}", markup::bytes(bytes as f64));
        }
        text
    }
}

/// Makes sure that a number of hashes of some work fits into memory beside all else.
///
/// # Errors
/// If it does not.
pub fn ensure_memory(needed: u64) -> anyhow::Result<()> {
    if let Some(kib) = crate::machine::memory_kib("MemAvailable:") {
        let available = (kib << 10) / 4 * 3;
        ensure!(
            needed <= available,
            "{} of memory are needed, at most three quarters of what is free are used: {}",
            markup::bytes(needed as f64),
            markup::bytes(available as f64)
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors(params: Params) -> (f64, f64) {
        Work::Yescrypt(params, None).traffic()
    }

    #[test]
    fn traffic_is_counted_in_blocks() {
        let mut params = Params::yescrypt(3072, 8);
        params.n = 4096;
        let (all, rom) = factors(params);
        // N / 3 steps of the second loop, rounded up to an even number: 1366.
        assert_eq!((all, rom), ((2.0 * 4096.0 + 2.0 * 1366.0) / 4096.0, 0.0));
        params.nrom = 1 << 16;
        let (all, rom) = factors(params);
        assert_eq!(all, (2.0 * 4096.0 + 1.5 * 1366.0) / 4096.0);
        assert_eq!(rom, (4096.0 + 1366.0) / 8192.0);
        assert_eq!(factors(Params::new(Mode::Worm, 4096, 8)), (2.0, 0.0));
        assert_eq!(factors(Params::scrypt(4096, 8, 3)), (6.0, 0.0));
    }

    #[test]
    fn words_and_names() {
        let work = Work::Yescrypt(Params::yescrypt(2048, 7), None).record();
        assert_eq!(work.slug(), "yescrypt-N2048-r7-6rounds-12KiB-128bit");
        assert_eq!(work.words(), "yescrypt 1.75 MiB (N=2048 r=7)");
        let message =
            Message { variant: Variant::Blake2bp, bytes: 1 << 20, messages: 1, file: false };
        assert_eq!(Work::Message(message).record().words(), "BLAKE2bp 1 MiB");
        for variant in Variant::ALL {
            assert_eq!(Variant::from_name(&variant.name()), Some(variant));
        }
        assert_eq!(Variant::Blake2bp.name(), "blake2bp");
        assert!(pages_from_name("2 MiB").is_ok() && pages_from_name("2 GiB").is_err());
    }
}
