//! `saltern hash`: a password in, one string out.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::ensure;
use clap::{ArgGroup, ValueEnum};
use saltern_yescrypt::{Params, Setting};

use crate::jsonl::{self, JsonlArgs, Task};
use crate::key::KeyArgs;
use crate::limits::{LimitArgs, explain};
use crate::new_form::NewForm;
use crate::number::number;
use crate::output::{self, Output};
use crate::password::{EMPTY, PasswordArgs, Prompt};
use crate::policy;
use crate::protection::Protection;
use crate::rom::NewRomArgs;
use crate::site::{Origin, Site};

const EXAMPLES: &str = "\
Costs of yescrypt, as crypt(3) counts them:
   1  N=1024  1 MiB     5  N=4096    16 MiB     9  N=65536   256 MiB
   2  N=2048  2 MiB     6  N=8192    32 MiB    10  N=131072  512 MiB
   3  N=1024  4 MiB     7  N=16384   64 MiB    11  N=262144    1 GiB
   4  N=2048  8 MiB     8  N=32768  128 MiB
with r=8 for costs 1 and 2, r=32 above. Of these, scrypt has 6 to 11.

Examples:
  saltern hash                           ask for a password
  saltern hash --cost 7                  64 MiB instead of 16 MiB
  saltern hash --n 2048 --r 16           your own parameters: 4 MiB
  saltern hash --stdin < password.txt    take it from a file or a pipe
  saltern hash --setting '$y$j9T$Salt'   as crypt(3) with this setting
  saltern hash --key 2026=pepper.key     encrypted with this key
  saltern hash --rom shm:site            needs that ROM to verify
  saltern hash --rom big.rom --rom-access direct
                                         reads that ROM from its file
  saltern hash --policy saltern.toml     as new strings of the site
  saltern hash -m help                   the schemes
  saltern hash --jsonl < users.jsonl     many, on all processors

With --jsonl a line holds an object with `password` or `password_hex`
for bytes that are not UTF-8; optionally `setting`, as --setting;
`account`, as --account; and `id`, which is repeated in the answer.
Answers are objects with `line` and `hash` or `error`, such as
  {\"id\":\"bob\",\"password\":\"secret\"}
  {\"line\":1,\"id\":\"bob\",\"hash\":\"$y$j9T$…\"}
They come in the order of the lines, or with --unordered as soon as each
is ready. Notes that would be printed on the terminal are in `notes`. A
line's `timeout_ms` takes precedence over --deadline. A bad line is
answered with its error and does not affect the others.

Exit status: 0 a string was printed, with --jsonl one for each line; 2 an
error, with --jsonl in any line.";

/// The output of `-m help`, as of mkpasswd.
const METHODS: &str = "\
Available methods:
yescrypt\t$y$, costs 1 to 11 (the default)
scrypt\t\t$7$, costs 6 to 11
";

/// Hash a password and print the string that a shadow file stores
///
/// The string begins with `$y$` (yescrypt) or `$7$` (scrypt) and is byte for byte what crypt(3) on
/// a current Linux makes from the same password and setting. Without --stdin or --password-fd the
/// program prompts for the password on the terminal, twice and without echo; without a terminal it
/// reads one line of standard input.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    how: SettingArgs,

    /// Hash with the cost, key and ROM of this site policy
    #[arg(long, help_heading = "New string", value_name = "FILE")]
    policy: Option<PathBuf>,

    /// Id of the account that the string is sealed for, if the policy has an active key for seals
    #[arg(
        long,
        help_heading = "New string",
        value_name = "ID",
        requires = "policy",
        conflicts_with = "jsonl"
    )]
    account: Option<OsString>,

    #[command(flatten)]
    key: KeyArgs,

    #[command(flatten)]
    rom: NewRomArgs,

    /// Accept an empty password (an empty line of input)
    #[arg(long, help_heading = "Password")]
    allow_empty: bool,

    #[command(flatten)]
    password: PasswordArgs,

    #[command(flatten)]
    many: JsonlArgs,

    #[command(flatten)]
    limits: LimitArgs,
}

/// The scheme and parameters of the new string.
#[derive(clap::Args)]
#[command(next_help_heading = "New string")]
#[command(group = ArgGroup::new("kind").args(["cost", "n", "setting"]))]
struct SettingArgs {
    /// Cost, on the scale of crypt(3) (default: 5 for yescrypt, 7 for scrypt)
    #[arg(long, short = 'R', visible_alias = "rounds", conflicts_with = "policy", value_parser = number(1..=11_u32))]
    cost: Option<u32>,

    /// Number of blocks, a power of two
    #[arg(long, conflicts_with = "policy", value_parser = number(0..=u64::MAX))]
    n: Option<u64>,

    /// Size of a block in units of 128 bytes; with --n (default: 32)
    #[arg(long, requires = "n", value_parser = number(0..=u32::MAX))]
    r: Option<u32>,

    /// Parallelism; with --n (default: 1)
    #[arg(long, requires = "n", value_parser = number(0..=u32::MAX))]
    p: Option<u32>,

    /// Additional time, yescrypt only; with --n (default: 0)
    #[arg(long, requires = "n", value_parser = number(0..=u32::MAX))]
    t: Option<u32>,

    /// Take parameters and salt from this string: a setting or a complete hash
    #[arg(long, short = 'S', conflicts_with_all = ["jsonl", "policy"])]
    setting: Option<OsString>,

    /// Scheme of the new string; `help` lists them
    #[arg(
        long,
        short = 'm',
        visible_alias = "method",
        default_value = "yescrypt",
        conflicts_with_all = ["setting", "policy"]
    )]
    scheme: SchemeName,
}

/// The schemes that make new strings.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SchemeName {
    /// `$y$`
    Yescrypt,
    /// `$7$`
    Scrypt,
    /// List the schemes
    Help,
}

/// Run the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.how.scheme == SchemeName::Help {
        output::print(METHODS)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (site, form) = args.site()?;
    if args.many.jsonl {
        return jsonl::run(&args.many, site, Task::Hash { form, allow_empty: args.allow_empty });
    }
    let setting = form.setting(args.how.text())?;
    let password = args.password.read(Prompt::Twice)?;
    ensure!(!password.is_empty() || args.allow_empty, EMPTY);
    let notes = form.notes(&setting, &password);
    let mut passwords = site.passwords()?.clone();
    if let Some(account) = &args.account {
        passwords = passwords.for_account(account.as_encoded_bytes());
    }
    let hash = passwords.hash_with_setting(&*password, setting).wait();
    let hash = hash.map_err(|error| anyhow::Error::msg(site.origin.words(&error)))?;
    // Dropped before writing, which may take long: no secret is left by then.
    drop((passwords, site, form, password));
    let mut output = Output::new();
    output.line(hash)?;
    output.flush()?;
    output::note(&notes);
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// The policy of a file or of the options, and the form of new strings.
    fn site(&self) -> anyhow::Result<(Site, NewForm)> {
        let level = self.limits.level()?;
        if let Some(file) = &self.policy {
            let site = self.many.open(policy::read(file)?, Origin::File, level)?;
            let form = NewForm::of_site(&site);
            return Ok((site, form));
        }
        let mut policy = self.limits.policy()?;
        let mut params = self.how.params()?;
        // Checked before a password is asked for, or a large ROM is attached: a hash that cannot be
        // computed needs neither.
        params.check(&policy.limits).map_err(explain)?;
        let protection = Protection::new(&self.key, &self.rom);
        protection.check_scheme(self.how.scheme == SchemeName::Yescrypt)?;
        let new = match self.how.text() {
            Some(text) => {
                protection.check(&Setting::parse(text)?)?;
                self.key.add_to(&mut policy, None)?;
                None
            }
            None => {
                self.key.add_new_to(&mut policy, self.rom.omit_ids())?;
                Some(&mut params)
            }
        };
        let roms = self.rom.add_to(&mut policy, new)?;
        let site = self.many.open(policy, Origin::Options, level)?;
        let form = NewForm::of_options(&site, params, &roms, protection)?;
        if self.how.setting.is_none() {
            // Anything refused now would be refused for each password.
            form.setting(None)?;
        }
        Ok((site, form))
    }
}

impl SettingArgs {
    /// The parameters, from the setting if there is one.
    fn params(&self) -> anyhow::Result<Params> {
        if let Some(text) = self.text() {
            return Ok(*Setting::parse(text)?.params());
        }
        let scrypt = self.scheme == SchemeName::Scrypt;
        let Some(n) = self.n else {
            let of_cost = if scrypt { Params::scrypt_from_cost } else { Params::from_cost };
            return Ok(of_cost(self.cost.unwrap_or(0))?);
        };
        let (r, p) = (self.r.unwrap_or(32), self.p.unwrap_or(1));
        if scrypt {
            ensure!(self.t.is_none(), "--t is not a parameter of scrypt: leave it out");
            return Ok(Params::scrypt(n, r, p));
        }
        let mut params = Params::yescrypt(n, r);
        params.p = p;
        params.t = self.t.unwrap_or(0);
        Ok(params)
    }

    /// The given setting: the whole argument, since crypt(3) also checks what follows the salt.
    fn text(&self) -> Option<&[u8]> {
        self.setting.as_ref().map(|text| text.as_encoded_bytes())
    }
}
