//! `saltern users`: edit a file of users, as htpasswd does.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::Subcommand;
use saltern::table::{Kind, identify, seal_key};
use saltern::users::Users;

use crate::new_file;
use crate::output::Output;
use crate::password::{PasswordArgs, Prompt};
use crate::policy::PolicyArgs;
use crate::site::{Origin, Site};

const EXAMPLES: &str = "\
Examples:
  saltern users add site.users alice --create
  saltern users passwd site.users alice --stdin < alice.password
  saltern users remove site.users alice
  saltern users list site.users

A line of the file is a name, a colon, and the stored string, as htpasswd
writes it. Empty lines and those that begin with # stay as they are, and
so do all other users. The file is replaced when the new one is complete,
with its owner and permissions; two programs that change it at the same
time do not lose each other's change. `salternd` reads it for
GET /v1/forward-auth.

Exit status: 0 done; 2 an error.";

/// Edit a file of users and their passwords, as htpasswd does
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Add a user, and ask for the password
    Add {
        #[command(flatten)]
        new: NewPassword,
        /// Make the file if there is none
        #[arg(long)]
        create: bool,
    },
    /// Set a new password for a user
    Passwd {
        #[command(flatten)]
        new: NewPassword,
    },
    /// Remove a user
    Remove {
        /// File of users
        file: PathBuf,
        /// Name of the user
        name: String,
    },
    /// Print the names, and what their strings are
    List {
        /// File of users
        file: PathBuf,
    },
}

#[derive(clap::Args)]
struct NewPassword {
    /// File of users
    file: PathBuf,
    /// Name of the user: 1 to 255 bytes without colons, control characters and outer spaces
    name: String,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    password: PasswordArgs,
}

/// Run the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.task {
        Task::Add { new, create } => add(&new, create)?,
        Task::Passwd { new } => {
            let NewPassword { file, name, .. } = &new;
            if Users::read(file)?.find(name).is_none() {
                bail!("{} has no user {name:?}: `saltern users add` adds one", file.display());
            }
            let stored = new.hash()?;
            Users::edit(file, |users| match users.find(name) {
                Some(_) => users.set(name, &stored).map(|()| true).map_err(Into::into),
                None => bail!("{} no longer has a user {name:?}", file.display()),
            })?;
        }
        Task::Remove { file, name } => Users::edit(&file, |users| match users.remove(&name)? {
            true => Ok(true),
            false => bail!("{} has no user {name:?}", file.display()),
        })?,
        Task::List { file } => list(&file)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn add(new: &NewPassword, create: bool) -> anyhow::Result<()> {
    let NewPassword { file, name, .. } = new;
    let exists = |users: &Users| match users.find(name) {
        Some(_) => bail!(
            "{} has a user {name:?} already: `saltern users passwd` sets a new password",
            file.display()
        ),
        None => Ok(()),
    };
    let is_new = create && file.symlink_metadata().is_err();
    let mut users = if is_new { Users::parse("")? } else { Users::read(file)? };
    exists(&users)?;
    // A name that cannot be used is refused before a password is asked for.
    users.set(name, "")?;
    if is_new {
        new_file::check(file, "a file of users")?;
        users.set(name, &new.hash()?)?;
        return new_file::create(file, users.text().as_bytes(), "a file of users");
    }
    let stored = new.hash()?;
    Users::edit(file, |users| {
        exists(users)?;
        users.set(name, &stored)?;
        Ok(true)
    })
}

impl NewPassword {
    /// The string for the password that is asked for.
    fn hash(&self) -> anyhow::Result<String> {
        let site = Site::one(self.policy.read()?, Origin::File, None)?;
        let password = self.password.read(Prompt::Twice)?;
        if password.is_empty() {
            bail!("the password is empty");
        }
        let passwords = site.passwords()?.for_account(&self.name);
        Ok(passwords.hash(&*password).wait()?)
    }
}

fn list(file: &Path) -> anyhow::Result<()> {
    let users = Users::read(file)?;
    let mut output = Output::new();
    for (name, stored) in users.iter() {
        let what = match identify(stored) {
            Ok(Kind::Ours(scheme, _)) => scheme.to_string(),
            Ok(Kind::Foreign(format, _)) => format.to_string(),
            Ok(Kind::Wrapped { .. }) => "wrapped".to_owned(),
            Ok(Kind::Locked) => "locked".to_owned(),
            Ok(Kind::Empty) => "no password".to_owned(),
            Ok(_) => "elsewhere".to_owned(),
            Err(error) => error.to_string(),
        };
        let sealed = if let Ok(Some(_)) = seal_key(stored) { ", sealed" } else { "" };
        output.line(format!("{name}: {what}{sealed}"))?;
    }
    output.flush()
}
