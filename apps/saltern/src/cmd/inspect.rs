//! `saltern inspect`: the contents of a stored string.

mod escrypt;
mod forms;

use std::process::ExitCode;

use anyhow::bail;
use clap::ArgGroup;
use saltern::policy::{self, memory_text};
use saltern::table::{Kind, identify, scheme, seal_key};
use saltern_yescrypt::{
    Error, HashString, Params, Scheme, Setting,
    params::Mode,
    rom::{NamedRom, RomMasks, RomReading},
};
use serde::Serialize;

use crate::crypt3;
use crate::entries::{self, Entry, EntryArgs, OF_A_FILE};
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  saltern inspect '$y$j9T$SaltForThisHash0'
  sudo saltern inspect --hash-file /etc/shadow
  saltern inspect --json --hash-file users.txt | jq .scheme
  saltern inspect --formats              every form that is recognised

Exit status: 0 every string was recognised, other schemes by their name;
2 an error, or a string that is malformed or unknown.";

/// Show the scheme, parameters and memory of a stored string, and whether crypt(3) can verify it
///
/// Nothing is computed and no password is needed. Settings (strings without the hash at the end)
/// are accepted, too.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("what").args(["hash", "hash_file", "formats"]).required(true))]
#[command(group = ArgGroup::new("of_a_file").args(OF_A_FILE).multiple(true).conflicts_with("hash"))]
pub(crate) struct Args {
    #[command(flatten)]
    entries: EntryArgs,

    /// Print one JSON object for each string, or for each form
    #[arg(long)]
    json: bool,

    /// List the forms of strings that are recognised: which of them are verified and wrapped
    #[arg(long)]
    formats: bool,
}

/// The record of one string, in the order shown.
#[derive(Default, Serialize)]
struct Record {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    /// Name of the scheme; null if there is none.
    scheme: Option<&'static str>,
    /// One of `hash`, `setting`, `foreign`, `locked`, `no-password`, `shadowed`, `error`.
    kind: &'static str,
    /// The scheme that a policy must accept for a `foreign` string to be verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_as: Option<&'static str>,
    /// What to do about a `foreign` string that no policy verifies.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'static str>,
    /// The hash within this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    over: Option<Inner>,
    /// The key of the seal before the string.
    #[serde(skip_serializing_if = "Option::is_none")]
    seal: Option<String>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    details: Option<Details>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    escrypt: Option<escrypt::Details>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The hash within a wrapped one, which is verified under a policy.
#[derive(Serialize)]
struct Inner {
    /// Its name in policies.
    scheme: &'static str,
    setting: String,
}

/// Details of the schemes that this program computes.
#[derive(Serialize)]
struct Details {
    mode: &'static str,
    flags: Option<u32>,
    flavor: Option<FlavorDetails>,
    #[serde(rename = "N")]
    n: u64,
    r: u32,
    p: u32,
    t: u32,
    g: u32,
    #[serde(rename = "NROM")]
    nrom: u64,
    /// The id of the ROM before a `$y$` string.
    #[serde(skip_serializing_if = "Option::is_none")]
    rom: Option<String>,
    /// The ROMs of an extended string.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    roms: Vec<RomDetails>,
    /// The name of the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    salt_bytes: usize,
    memory_bytes: u128,
    /// The cost number of crypt(3) for these parameters.
    cost: Option<u32>,
    /// Whether crypt(3) on a plain Linux can verify the string, unless it is encrypted with a key.
    crypt3: bool,
    crypt3_obstacles: Vec<String>,
}

/// The constants of pwxform, and the rounds of Salsa20.
#[derive(Serialize)]
struct FlavorDetails {
    default: bool,
    rounds: u32,
    gather: u32,
    simple: u32,
    sbox_bytes: u32,
    /// In the block mix and at the end of pwxform's, if these are not 8 and 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    salsa: Option<[u32; 2]>,
}

/// A ROM of a list.
#[derive(Serialize)]
struct RomDetails {
    id: String,
    #[serde(rename = "NROM")]
    nrom: u64,
    fill_mask: u32,
    mix_mask: u32,
    look_ahead: u32,
}

impl RomDetails {
    fn new(named: &NamedRom) -> Self {
        let &NamedRom { id, reading: RomReading { nrom, masks, look_ahead } } = named;
        let RomMasks { fill, mix } = masks;
        RomDetails { id: id.to_string(), nrom, fill_mask: fill, mix_mask: mix, look_ahead }
    }

    fn words(&self) -> String {
        let RomDetails { id, nrom, fill_mask, mix_mask, look_ahead } = self;
        let ahead = match look_ahead {
            0 => String::new(),
            steps => format!(", chosen {steps} steps before"),
        };
        format!("{id}, NROM={nrom}, read with masks {fill_mask} and {mix_mask}{ahead}")
    }
}

/// Run the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.formats {
        return forms::list(args.json);
    }
    let entries = args.entries.read(None)?;
    let mut output = Output::new();
    let mut errors = 0;
    for entry in &entries {
        let record = inspect(entry);
        errors += usize::from(record.error.is_some());
        match &record.error {
            _ if args.json => output.json(&record)?,
            Some(error) if entry.line.is_none() => bail!("{error}"),
            _ => output.line(words(entry, &record))?,
        }
    }
    output.flush()?;
    if errors > 0 {
        bail!("{errors} of {} strings are malformed or unknown", entries.len());
    }
    Ok(ExitCode::SUCCESS)
}

fn inspect(entry: &Entry) -> Record {
    let mut record = Record { line: entry.line, user: entry.user(), ..Record::default() };
    let result = entry.stored().and_then(|stored| record.fill(stored));
    if let Err(error) = result {
        record.kind = "error";
        record.error = Some(error);
    }
    record
}

impl Record {
    fn fill(&mut self, stored: &str) -> Result<(), String> {
        let kind = identify(stored).map_err(|error| error.to_string())?;
        self.scheme = entries::scheme(kind);
        self.seal = seal_key(stored).map_err(|error| error.to_string())?;
        match kind {
            Kind::Ours(_, text) => self.fill_ours(text)?,
            Kind::Wrapped { inner, outer } => {
                let scheme = scheme(stored).map_err(|error| error.to_string())?;
                let scheme = scheme.map_or("", policy::Scheme::name);
                self.over = Some(Inner { scheme, setting: inner.to_owned() });
                self.fill_ours(outer)?;
                self.is_not_crypt3("it does not know hashes over hashes");
            }
            Kind::Foreign(known, _) => {
                self.accepted_as = known.scheme.map(policy::Scheme::name);
                self.advice = known.advice();
                self.kind = "foreign";
            }
            Kind::Locked => self.kind = "locked",
            Kind::Empty => self.kind = "no-password",
            Kind::Shadowed => self.kind = "shadowed",
            _ => {}
        }
        if self.seal.is_some() {
            self.is_not_crypt3("it does not know seals");
        }
        Ok(())
    }

    /// Notes why a plain Linux cannot verify the string.
    fn is_not_crypt3(&mut self, obstacle: &str) {
        if let Some(details) = &mut self.details {
            details.crypt3 = false;
            details.crypt3_obstacles.push(obstacle.to_owned());
        }
    }

    /// Fills in the contents of a string of ours.
    fn fill_ours(&mut self, text: &str) -> Result<(), String> {
        let (kind, setting) = parse(text.as_bytes()).map_err(|error| error.to_string())?;
        self.kind = kind;
        if setting.scheme() == Scheme::Escrypt {
            self.escrypt = Some(escrypt::Details::new(&setting));
        } else {
            self.details = Some(Details::new(&setting));
        }
        Ok(())
    }
}

/// The kind of a string, and its setting.
fn parse(field: &[u8]) -> Result<(&'static str, Setting), Error> {
    let error = match HashString::parse(field) {
        Ok(hash) => return Ok(("hash", hash.setting().clone())),
        Err(error) => error,
    };
    // Text that is a setting as a whole is one; a truncated hash is not.
    let setting = Setting::parse(field).map_err(|_| error)?;
    let whole = setting.as_bytes() == field.strip_suffix(b"$").unwrap_or(field);
    if whole { Ok(("setting", setting)) } else { Err(error) }
}

impl Details {
    fn new(setting: &Setting) -> Details {
        let params = setting.params();
        let flavor = params.flavor;
        let flavor_details = FlavorDetails {
            default: flavor == saltern_yescrypt::params::Flavor::DEFAULT,
            rounds: flavor.rounds(),
            gather: flavor.gather(),
            simple: flavor.simple(),
            sbox_bytes: flavor.sbox_bytes(),
            salsa: Some([flavor.salsa_mix(), flavor.salsa_tail()])
                .filter(|rounds| *rounds != [8, 2]),
        };
        let crypt3_obstacles = crypt3::obstacles(setting);
        Details {
            mode: match params.mode {
                Mode::Classic => "classic",
                Mode::Worm => "worm",
                Mode::Rw => "rw",
                Mode::Escrypt(_) => "escrypt",
            },
            flags: params.flags(),
            flavor: (params.mode == Mode::Rw).then_some(flavor_details),
            n: params.n,
            r: params.r,
            p: params.p,
            t: params.t,
            g: params.g,
            nrom: params.nrom,
            rom: setting.rom_id().map(|id| id.to_string()),
            roms: setting.roms().iter().map(RomDetails::new).collect(),
            key: setting.key_id().map(|id| id.to_string()),
            salt_bytes: setting.salt().len(),
            memory_bytes: params.memory(),
            cost: cost(setting.scheme(), params),
            crypt3: crypt3_obstacles.is_empty(),
            crypt3_obstacles,
        }
    }
}

/// The cost number for the parameters.
fn cost(scheme: Scheme, params: &Params) -> Option<u32> {
    let of_cost = match scheme {
        Scheme::Yescrypt => Params::from_cost,
        Scheme::Scrypt => Params::scrypt_from_cost,
        _ => return None,
    };
    (1..=11).find(|&cost| of_cost(cost).is_ok_and(|known| known == *params))
}

/// The record for people: one line in a file of several, a small table for a single string.
fn words(entry: &Entry, record: &Record) -> String {
    let Some(label) = entry.label() else {
        return record.table();
    };
    let mut line = format!("{label}: {}", record.summary());
    if let Some(details) = &record.details {
        line += &format!(", {}, {}", details.parameters(), details.verdict());
    }
    if let Some(details) = &record.escrypt {
        line += &format!(", {}, {}", details.parameters(), details.verdict());
    }
    line
}

impl Record {
    fn headline(&self) -> String {
        match (self.kind, self.scheme, &self.error) {
            (_, _, Some(error)) => format!("error: {error}"),
            ("locked", ..) => "locked: no password matches".to_owned(),
            ("no-password", ..) => "no password is set".to_owned(),
            ("shadowed", ..) => "the string is in the shadow file".to_owned(),
            ("foreign", Some(name), _) => match self.accepted_as {
                Some(scheme) => format!("{name}, verified under a policy that accepts {scheme}"),
                None => {
                    let advice = self.advice.unwrap_or_default();
                    format!("{name}, which this program does not compute: {advice}")
                }
            },
            (kind, Some(name), _) => match &self.over {
                Some(inner) => format!("{name} {kind} over a hash of {}", inner.scheme),
                None => format!("{name} {kind}"),
            },
            (kind, None, _) => kind.to_owned(),
        }
    }

    /// What it is, and whether it is sealed.
    fn summary(&self) -> String {
        let sealed = if self.seal.is_some() { ", sealed" } else { "" };
        self.headline() + sealed
    }

    fn table(&self) -> String {
        if let Some(details) = &self.escrypt {
            let mut rows = vec![("string", self.summary())];
            rows.extend(details.rows());
            return layout(&rows);
        }
        let Some(details) = &self.details else {
            return self.summary();
        };
        let mut rows = vec![("string", self.headline()), ("mode", details.mode_words())];
        if let Some(cost) = details.cost {
            rows.push(("cost", format!("{cost} on the scale of crypt(3)")));
        }
        rows.push(("parameters", details.parameters()));
        rows.extend(self.over.iter().map(|inner| ("over", inner.setting.clone())));
        if let Some(rom) = &details.rom {
            rows.push(("ROM", rom.clone()));
        }
        rows.extend(details.roms.iter().map(|rom| ("ROM", rom.words())));
        if let Some(key) = &details.key {
            rows.push(("key", key.clone()));
        }
        rows.extend(self.seal.iter().map(|key| ("sealed with", key.clone())));
        rows.push(("memory", memory_text(details.memory_bytes)));
        rows.push(("salt", format!("{} bytes", details.salt_bytes)));
        rows.push(("crypt(3)", details.verdict()));
        layout(&rows)
    }
}

fn layout(rows: &[(&str, String)]) -> String {
    let rows: Vec<_> = rows.iter().map(|(name, value)| format!("{name:<12}{value}")).collect();
    rows.join("\n")
}

impl Details {
    fn mode_words(&self) -> String {
        match (&self.flavor, self.mode) {
            (Some(flavor), _) => format!(
                "yescrypt, {} pwxform: {} rounds, gather {}, simple {}, S-boxes of {} KiB{}",
                if flavor.default { "the default" } else { "a non-default" },
                flavor.rounds,
                flavor.gather,
                flavor.simple,
                flavor.sbox_bytes >> 10,
                match flavor.salsa {
                    None => String::new(),
                    Some([mix, tail]) => format!(", Salsa20 with {mix} and {tail} rounds"),
                },
            ),
            (None, "worm") => "WORM: scrypt with yescrypt's adjustable time".to_owned(),
            (None, _) => "classic scrypt".to_owned(),
        }
    }

    fn parameters(&self) -> String {
        let mut text = format!("N={} r={} p={} t={}", self.n, self.r, self.p, self.t);
        if self.g != 0 {
            text += &format!(" g={}", self.g);
        }
        if self.nrom != 0 {
            text += &format!(" NROM={}", self.nrom);
        }
        text
    }

    fn verdict(&self) -> String {
        if self.crypt3 {
            return "a plain Linux can verify it, unless it is encrypted with a key".to_owned();
        }
        format!("a plain Linux cannot verify it: {}", self.crypt3_obstacles.join("; "))
    }
}
