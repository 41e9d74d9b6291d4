//! `saltern census`: counts of a table of stored strings.

use std::fmt::Display;
use std::process::ExitCode;

use anyhow::bail;
use saltern::table::{Census, Entry, Table};
use saltern::{Error, Policy};
use serde::Serialize;

use crate::number::number;
use crate::output::{Output, tell};
use crate::policy::{self, PolicyArgs};
use crate::table::{self, LineArgs, lines_help};

const EXAMPLES: &str = concat!(
    "\
Examples:
  saltern census --policy saltern.toml < users.txt
  saltern census --json < users.jsonl
  saltern census --policy saltern.toml --decoy < users.txt
                                         for the policy: [[decoy.costs]]
  saltern census --policy saltern.toml --retire-key 2024 < users.txt

",
    lines_help!(),
    "

Strings counted as `refused` are not verified: the policy does not accept
their scheme, or they exceed its limits, or the scheme is known only by
name (`unsupported`). They are left out of --decoy. Strings counted as
`kept` are of other schemes and stronger than new hashes: a login keeps
them, unless the policy's `replace` is \"others\" or names the scheme.

With a policy that has [[seal.keys]], seals are checked, for the id in
the first field, or where --id-field or --id-key say. Strings that were
exchanged, altered or inserted are `tampered`; each is listed with its
line and id at the end, with --json in `unsound`. Without its id, a
sealed string is only counted, or bad if the policy requires seals.

With --retire-key, --retire-seal-key or --retire-rom the last line says
whether the key or the ROM can be removed from the policy, that is,
whether every string could be read and none needs it. The input must be
the whole table.

Exit status: 0 counted; 1 the key or ROM to be retired is still needed;
2 an error, or bad lines, which are reported."
);

/// Count the schemes, costs, keys and ROMs in a table of stored strings
///
/// Reads lines with stored strings from standard input. Nothing is computed, and no password is
/// needed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    policy: PolicyArgs,

    /// Print the counts as one JSON object
    #[arg(long, conflicts_with = "decoy")]
    json: bool,

    /// Print the most frequent costs as [[decoy.costs]] entries for the policy
    #[arg(long)]
    decoy: bool,

    /// How many costs to print
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = number(0..=usize::MAX))]
    most: usize,

    /// Report whether the key of this name can be removed from the policy
    #[arg(long, value_name = "NAME", conflicts_with_all = ["json", "decoy"])]
    retire_key: Option<String>,

    /// Report whether the key for seals of this name can be removed from the policy
    #[arg(long, value_name = "NAME", conflicts_with_all = ["json", "decoy"])]
    retire_seal_key: Option<String>,

    /// Report whether the ROM of this id can be removed from the policy
    #[arg(long, value_name = "ID", conflicts_with_all = ["json", "decoy"])]
    retire_rom: Option<String>,

    #[command(flatten)]
    lines: LineArgs,
}

/// A census in the form of `--json`.
#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    census: &'a Census,
    without_string: u64,
    /// The strings that are tampered, or sealed with an unknown key; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unsound: Vec<Unsound>,
}

/// A string that is not the one sealed for its account, or of which nobody knows it.
#[derive(Serialize)]
struct Unsound {
    line: u64,
    /// The id of the account.
    id: Option<String>,
    why: String,
}

impl Unsound {
    fn of(entry: &Entry<'_>, error: &Error) -> Self {
        let id = entry.account.map(|id| String::from_utf8_lossy(id).into_owned());
        Unsound { line: entry.number, id, why: error.to_string() }
    }
}

/// Run the subcommand.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let table = policy::table(&args.policy.read()?)?;
    args.check_names(table.policy())?;
    let mut census = Census::default();
    let mut unsound = Vec::new();
    let report = args.lines.look(table.policy(), |entry| {
        let of_account = table::of(&table, entry);
        of_account.count(entry.stored, &mut census).map(Ok).inspect_err(|error| {
            if matches!(error, Error::Tampered { .. } | Error::Unavailable { .. }) {
                unsound.push(Unsound::of(entry, error));
            }
        })
    })?;
    // Lines in which no string was found are bad as well.
    census.bad = report.bad - unsound.len() as u64;
    let mut output = Output::new();
    if args.json {
        output.json(&Record { census: &census, without_string: report.others, unsound })?;
    } else if args.decoy {
        for cost in census.costs(args.most) {
            output.bytes(cost.to_toml().as_bytes())?;
        }
        if census.refused > 0 {
            let left = census.refused;
            tell(format_args!("{left} strings are left out: the policy refuses them"));
        }
    } else {
        args.show(&census, report.others, table.policy(), &mut output)?;
        for Unsound { line, id, why } in &unsound {
            let id = id.as_deref().unwrap_or("of an unknown account").escape_debug();
            output.line(format!("line {line}, {id}: {why}"))?;
        }
    }
    let needed = args.retire(&table, &census, &mut output)?;
    output.flush()?;
    if census.bad > 0 {
        tell(format_args!("{} of {} lines are bad", census.bad, report.lines));
    }
    if report.bad > 0 {
        return Ok(ExitCode::from(2));
    }
    if table::is_without_strings(&report) {
        return Ok(ExitCode::from(2));
    }
    Ok(if needed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Args {
    fn show(
        &self,
        census: &Census,
        others: u64,
        policy: &Policy,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        let Census { accounts, locked, bad, outdated, needs_login, below_floor, .. } = census;
        let refused = census.refused;
        output.line(format!("accounts     {accounts}, of which {locked} locked"))?;
        output.line(format!("no string    {others}"))?;
        output.line(format!("bad          {bad}"))?;
        output.line(format!("refused      {refused}, which the policy does not verify"))?;
        output.line(format!("outdated     {outdated}, of which {needs_login} need a login"))?;
        output.line(format!("kept         {}, stronger than new hashes", census.kept))?;
        output.line(format!("below floor  {below_floor}"))?;
        output.line(format!("wrapped      {}", census.wrapped))?;
        if !policy.seal.keys.is_empty() || census.sealed > 0 {
            let Census { sealed, unsealed, tampered, unknown_seals, needs_seal, .. } = census;
            output.line(format!("sealed       {sealed}, and {unsealed} are not"))?;
            output.line(format!("to be sealed {needs_seal}, by `saltern seal`"))?;
            output.line(format!("tampered     {tampered}"))?;
            output.line(format!("unknown seal {unknown_seals}, of keys that the policy lacks"))?;
        }
        let scheme = |scheme: &saltern::policy::Scheme| {
            let accepted = policy.schemes.contains(scheme);
            let fast = if scheme.is_fast() { ", a fast digest: wrap it" } else { "" };
            let accepted = if accepted { "" } else { " (not accepted by the policy)" };
            format!("{scheme}{accepted}{fast}")
        };
        list("schemes", census.schemes.iter().map(|(at, count)| (scheme(at), *count)), output)?;
        let unsupported = census.unsupported.iter();
        list("unsupported", unsupported.map(|(name, count)| (name, *count)), output)?;
        list("keys", census.keys.iter().map(|(key, count)| (key, *count)), output)?;
        list("seal keys", census.seals.iter().map(|(key, count)| (key, *count)), output)?;
        list("ROMs", census.roms.iter().map(|(rom, count)| (rom, *count)), output)?;
        let others = [
            ("keys", census.other_keys),
            ("seal keys", census.other_seals),
            ("ROMs", census.other_roms),
        ];
        for (what, others) in others {
            if others > 0 {
                output.line(format!(
                    "{others:>12}  of other {what}, which the policy does not have"
                ))?;
            }
        }
        let costs = census.costs(self.most);
        let rest: u64 = census.costs.values().sum::<u64>() + census.other_costs;
        let rest = rest - costs.iter().map(|cost| cost.share).sum::<u64>();
        list("costs", costs.iter().map(|cost| (&cost.like, cost.share)), output)?;
        if rest > 0 {
            output.line(format!("{rest:>12}  of other costs; --most shows more of them"))?;
        }
        Ok(())
    }

    /// Refuses names that are not in the policy: a typo would look as if nobody needed the key or
    /// ROM.
    fn check_names(&self, policy: &Policy) -> anyhow::Result<()> {
        let keys: Vec<_> = policy.keys.iter().map(|key| key.name.as_str().to_owned()).collect();
        let seals = policy.seal.keys.iter().map(|key| key.name.as_str().to_owned()).collect();
        let roms: Vec<_> = policy.roms.iter().map(|rom| rom.id.to_string()).collect();
        for (what, wanted, has) in [
            ("key", &self.retire_key, keys),
            ("seal key", &self.retire_seal_key, seals),
            ("ROM", &self.retire_rom, roms),
        ] {
            let Some(name) = wanted.as_ref().filter(|name| !has.contains(name)) else { continue };
            let has = if has.is_empty() { "none".to_owned() } else { has.join(", ") };
            bail!("the policy has no {what} {name}: it has {has}");
        }
        Ok(())
    }

    /// Reports whether the key or ROM to retire is still needed.
    fn retire(&self, table: &Table, census: &Census, output: &mut Output) -> anyhow::Result<bool> {
        let mut needed = false;
        let retired = [&self.retire_key, &self.retire_seal_key, &self.retire_rom];
        if retired.iter().any(|name| name.is_some()) && census.accounts == 0 {
            output.flush()?;
            bail!("no stored string was counted, so it is unknown what can be retired");
        }
        let key = self.retire_key.as_ref().map(|key| ("key", key, table.retire_key(key, census)));
        let rom = self.retire_rom.as_ref().map(|rom| ("ROM", rom, table.retire_rom(rom, census)));
        let seal = self.retire_seal_key.as_ref();
        let seal = seal.map(|key| ("seal key", key, table.retire_seal_key(key, census)));
        for (what, name, result) in [key, seal, rom].into_iter().flatten() {
            needed |= result.is_err();
            output.line(match result {
                Ok(()) => format!("the {what} {name} can be retired"),
                Err(error) => error.to_string(),
            })?;
        }
        Ok(needed)
    }
}

fn list(
    title: &str,
    counts: impl Iterator<Item = (impl Display, u64)>,
    output: &mut Output,
) -> anyhow::Result<()> {
    for (at, (name, count)) in counts.enumerate() {
        if at == 0 {
            output.line(title)?;
        }
        output.line(format!("{count:>12}  {name}"))?;
    }
    Ok(())
}
