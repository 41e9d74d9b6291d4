//! The program `salternd`.

mod wiping;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use saltern_server::operation::{Endpoint, Options, check, health, run};

#[global_allocator]
static ALLOCATOR: wiping::Wiping = wiping::Wiping;

/// Hash and verify passwords as a service, over HTTP
///
/// Without --config it listens on one Unix socket, only for the user who starts it, with the
/// default policy or that of --policy.
///
/// SIGHUP reloads the files; SIGTERM ends the service once all requests in progress are done.
#[derive(Parser)]
#[command(name = "salternd", version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    options: Args,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Args)]
struct Args {
    /// Configuration file, such as /etc/saltern/salternd.toml
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,

    /// Run without a configuration file: the same as leaving out --config
    #[arg(long, conflicts_with = "config")]
    dev: bool,

    /// Without --config: policy of the site, such as saltern.toml
    #[arg(long, value_name = "FILE", global = true, conflicts_with = "config")]
    policy: Option<PathBuf>,

    /// Without --config: path of the Unix socket
    #[arg(long, value_name = "PATH", global = true, conflicts_with = "config")]
    socket: Option<PathBuf>,

    /// Without --config: also listen on this loopback address, such as 127.0.0.1:8080; anyone who
    /// can connect to it may do everything
    #[arg(long, value_name = "ADDRESS", global = true, conflicts_with = "config")]
    tcp: Option<std::net::SocketAddr>,

    /// Show the state of the service on a page at /, for clients with the right `admin`
    #[arg(long)]
    dashboard: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Read and check all files, keys and ROMs as the service would, without listening
    Check,
    /// Ask the running service with this configuration whether it is ready: for probes
    Health,
    /// Print the OpenAPI document of the service
    Openapi,
}

fn main() -> ExitCode {
    let Cli { options, command } = Cli::parse();
    keep_memory_in();
    let Args { config, policy, socket, tcp, dashboard, .. } = options;
    let options = Options { config, policy, socket, dashboard, tcp };
    let done = match command {
        None => {
            wiping::give_back_in_the_background();
            run(&options, listening)
        }
        Some(Command::Check) => check(&options).map(|notes| {
            notes.iter().for_each(|note| println!("warning: {note}"));
            println!("everything is in order");
        }),
        Some(Command::Health) => health(&options).map(|()| println!("ready")),
        Some(Command::Openapi) => {
            print!("{}", saltern_server::api::document());
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("salternd: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Prevents core dumps, and access to the memory by other processes of the same user. If the system
/// refuses this, the service runs without that protection.
fn keep_memory_in() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// Prints where it listens, and how to try it; failure to print is ignored.
fn listening(endpoints: &[Endpoint]) {
    let mut text = String::new();
    for endpoint in endpoints {
        text += &format!("salternd: listening on {endpoint}\n");
        let (option, url) = match endpoint {
            Endpoint::Unix(path) => {
                (format!("--unix-socket {} ", path.display()), "http://localhost".to_owned())
            }
            Endpoint::Tcp(_) => (String::new(), endpoint.to_string()),
            // Clients without a certificate are refused.
            _ => continue,
        };
        text +=
            &format!("  curl {option}--json '{{\"password\":\"correct horse\"}}' {url}/v1/hash\n");
    }
    let _ = std::io::stdout().write_all(text.as_bytes());
}
