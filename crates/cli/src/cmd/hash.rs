//! `saltern hash`: a password in, one string out.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use clap::{ArgGroup, ValueEnum};
use saltern_yescrypt::{Error, Hasher, Limits, Params, Scheme, Setting, escrypt};

use crate::crypt3;
use crate::effort::{EffortArgs, explain};
use crate::jsonl::{self, Job, JsonlArgs};
use crate::key::KeyArgs;
use crate::output::{Output, tell};
use crate::password::{PasswordArgs, Prompt};

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
  saltern hash --n 2048 --r 16           parameters of your own: 4 MiB
  saltern hash --stdin < password.txt    take it from a file or a pipe
  saltern hash --setting '$y$j9T$Salt'   as crypt(3) with this setting
  saltern hash --key-file pepper.key     needs the key to verify
  saltern hash --jsonl < users.jsonl     many, on all processors

With --jsonl a line holds an object with `password`, or `password_hex`
for bytes that are no text; if need be `setting`, as --setting; and `id`,
which is repeated in the answer. Answers are objects with `line` and
`hash` or `error`, such as
  {\"id\":\"bob\",\"password\":\"secret\"}
  {\"line\":1,\"id\":\"bob\",\"hash\":\"$y$j9T$…\"}
They come in the order of the lines, each as soon as it can. A bad line
is answered by its error; the others are not touched.

Exit status: 0 a string was printed, with --jsonl one for each line; 2 an
error, with --jsonl in any line.";

/// Hash a password and print the string that a shadow file stores
///
/// The string begins with `$y$` (yescrypt) or `$7$` (scrypt) and is byte for byte what crypt(3) of a current
/// Linux makes of the same password and setting. Without --stdin or --password-fd the password is asked for on
/// the terminal, twice and without echo; where there is no terminal, one line of standard input is read.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    how: SettingArgs,

    #[command(flatten)]
    key: KeyArgs,

    /// Accept an empty password, as an empty line of input
    #[arg(long)]
    allow_empty: bool,

    #[command(flatten)]
    password: PasswordArgs,

    #[command(flatten)]
    many: JsonlArgs,

    #[command(flatten)]
    effort: EffortArgs,
}

/// What the new string is to be.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("kind").args(["cost", "n", "setting"]))]
struct SettingArgs {
    /// Cost, on the scale of crypt(3) (default: 5 for yescrypt, 7 for scrypt)
    #[arg(long, short = 'R', visible_alias = "rounds", value_parser = clap::value_parser!(u32).range(1..=11))]
    cost: Option<u32>,

    /// Number of blocks, a power of two
    #[arg(long)]
    n: Option<u64>,

    /// Size of a block in units of 128 bytes; with --n (default: 32)
    #[arg(long, requires = "n")]
    r: Option<u32>,

    /// Parallelism; with --n (default: 1)
    #[arg(long, requires = "n")]
    p: Option<u32>,

    /// Additional time, yescrypt only; with --n (default: 0)
    #[arg(long, requires = "n")]
    t: Option<u32>,

    /// Take parameters and salt from this string: a setting or a complete hash
    #[arg(long, short = 'S', conflicts_with = "jsonl")]
    setting: Option<OsString>,

    /// Scheme of the new string
    #[arg(long, short = 'm', default_value = "yescrypt", conflicts_with = "setting")]
    scheme: SchemeName,
}

/// The schemes that make new strings.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SchemeName {
    /// `$y$`
    Yescrypt,
    /// `$7$`
    Scrypt,
}

/// A setting of one generation or the other.
enum AnySetting {
    Current(Setting),
    Escrypt(escrypt::Setting),
}

impl AnySetting {
    fn check(&self, limits: &Limits) -> Result<(), Error> {
        match self {
            AnySetting::Current(setting) => setting.params().check(limits).map(|_| ()),
            AnySetting::Escrypt(setting) => setting.params().check(limits).map(|_| ()),
        }
    }

    fn takes_key(&self) -> bool {
        matches!(self, AnySetting::Current(setting) if setting.scheme() == Scheme::Yescrypt)
    }

    fn as_bytes(&self) -> &[u8] {
        match self {
            AnySetting::Current(setting) => setting.as_bytes(),
            AnySetting::Escrypt(setting) => setting.as_bytes(),
        }
    }

    /// Why crypt(3) of a plain Linux cannot work with it.
    fn obstacles(&self) -> Vec<String> {
        match self {
            AnySetting::Current(setting) => crypt3::obstacles(setting),
            AnySetting::Escrypt(_) => vec!["it does not know this generation".to_owned()],
        }
    }
}

/// Run the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let limits = args.effort.limits();
    let setting = args.how.setting()?;
    // Before anybody is asked for a password: what cannot be computed needs none.
    setting.check(&limits).map_err(explain)?;
    let mut hasher = Hasher::new().with_limits(limits);
    if let Some(key) = args.key.read()? {
        ensure!(setting.takes_key(), "a key works with yescrypt strings only");
        hasher = hasher.with_key(key);
    }
    if args.many.jsonl {
        let pool = args.many.pool(args.effort.level()?)?;
        let (how, allow_empty) = (args.how, args.allow_empty);
        let job = Job::Hash { setting: Box::new(move || how.new_setting()), allow_empty };
        return jsonl::run(job, hasher, pool);
    }
    let mut workspace = args.effort.workspace()?;
    let password = args.password.read(Prompt::Twice)?;
    if password.is_empty() && !args.allow_empty {
        bail!("the password is empty: give --allow-empty if that is meant");
    }
    let hash = hasher.hash_with_setting(&mut workspace, &password, setting.as_bytes());
    let hash = hash.map_err(explain)?;
    let mut output = Output::new();
    output.line(&hash)?;
    output.flush()?;
    args.tell_where_it_fails(&setting, &password);
    Ok(ExitCode::SUCCESS)
}

impl SettingArgs {
    /// The one that is given, or a new one.
    fn setting(&self) -> anyhow::Result<AnySetting> {
        let Some(text) = self.setting.as_ref().map(|text| text.as_encoded_bytes()) else {
            return Ok(AnySetting::Current(self.new_setting()?));
        };
        Ok(match escrypt::is_escrypt(text) {
            true => AnySetting::Escrypt(escrypt::Setting::parse(text)?),
            false => AnySetting::Current(Setting::parse(text)?),
        })
    }

    fn new_setting(&self) -> anyhow::Result<Setting> {
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).context("the system gives no random bytes for a salt")?;
        let scheme = match self.scheme {
            SchemeName::Yescrypt => Scheme::Yescrypt,
            SchemeName::Scrypt => Scheme::Scrypt,
        };
        let Some(n) = self.n else {
            return Ok(Setting::from_cost(scheme, self.cost.unwrap_or(0), &salt)?);
        };
        let (r, p) = (self.r.unwrap_or(32), self.p.unwrap_or(1));
        if scheme == Scheme::Scrypt {
            ensure!(self.t.is_none(), "--t is not a parameter of scrypt: leave it out");
            return Ok(Setting::scrypt(&Params::scrypt(n, r, p), &salt)?);
        }
        let mut params = Params::yescrypt(n, r);
        params.p = p;
        params.t = self.t.unwrap_or(0);
        Ok(Setting::new(&params, &salt)?)
    }
}

impl Args {
    /// Say on standard error when crypt(3) of a plain Linux will not verify what was printed.
    fn tell_where_it_fails(&self, setting: &AnySetting, password: &[u8]) {
        let mut reasons = setting.obstacles();
        if self.key.is_given() {
            reasons.push("it is encrypted with a key".to_owned());
        }
        reasons.extend(crypt3::password_obstacle(password));
        for reason in reasons {
            tell(format_args!(
                "note: crypt(3) of a plain Linux cannot verify this string: {reason}"
            ));
        }
    }
}
