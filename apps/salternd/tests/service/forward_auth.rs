//! Proxies that ask whether a request may pass.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use base64ct::{Base64, Encoding};

use super::daemon::{
    Answer, Daemon, POLICY, another, ask, ask_with, config, folder, key_entry, until,
};

/// Of 1 MiB, made with "secret".
const OLD: &str = "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$pLOAA.GWfQElzJMkN.JqzcItGXS.DsOZsBOX0fO4NDC";

const USERS: &str = "[[users]]\nname = \"site\"\nfile = \"site.users\"\nrealm = \"Members only\"\n";

fn basic(credentials: impl AsRef<[u8]>) -> String {
    format!("authorization: Basic {}\r\n", Base64::encode_string(credentials.as_ref()))
}

fn asked(daemon: &Daemon, head: &str) -> Answer {
    ask(&daemon.socket(), "GET", "/v1/forward-auth", head, "")
}

/// A service with a file of users.
fn with_users(more: &str, policy: &str, users: &str) -> Daemon {
    let folder = folder(&config(&(USERS.to_owned() + more)), policy);
    std::fs::write(folder.path().join("site.users"), users).unwrap();
    Daemon::start_in(folder)
}

#[test]
fn who_is_in_the_file_passes_with_the_right_password() {
    let users = format!("# staff\nalice:{OLD}\nd\u{e9}:{OLD}\nbob:!{OLD}\ncarol:\n");
    let daemon = with_users("", POLICY, &users);
    for (user, header) in [("alice", "remote-user: alice"), ("d\u{e9}", "remote-user: d\u{e9}")] {
        let answer = asked(&daemon, &basic(format!("{user}:secret")));
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.head.contains(header), "{answer:?}");
    }
    let long = "x".repeat(600);
    let denied = [
        basic("alice:Secret"),
        basic("alice:"),
        basic("alice"),
        basic(format!("alice:{long}")),
        basic("alice:se\0cret"),
        basic("bob:secret"),
        basic("carol:"),
        basic("carol:secret"),
        basic("mallory:secret"),
        basic(format!("mallory:{long}")),
        basic(":secret"),
        basic(b"\xff:secret"),
        basic("# staff:secret"),
        String::new(),
        "authorization: Bearer abc\r\n".to_owned(),
        "authorization: Basic ???\r\n".to_owned(),
        "authorization: Basic\r\n".to_owned(),
        basic("alice:secret") + &basic("alice:secret"),
    ];
    let mut answers: Vec<String> = Vec::new();
    for head in &denied {
        let answer = asked(&daemon, head);
        assert_eq!((answer.status, &*answer.body), (401, ""), "{head}: {answer:?}");
        let without_date = answer.head.lines().filter(|line| !line.starts_with("date:"));
        answers.push(without_date.collect::<Vec<_>>().join("\n"));
    }
    assert!(
        answers[0].contains("www-authenticate: basic realm=\"members only\", charset=\"utf-8\"")
    );
    answers.dedup();
    assert_eq!(answers.len(), 1, "all of them alike");
    assert_eq!(
        daemon.metric("saltern_requests_total", "op=\"forward-auth\",outcome=\"match\""),
        2.0
    );
}

#[test]
fn the_file_is_chosen_by_name() {
    let daemon = with_users("", POLICY, &format!("alice:{OLD}\n"));
    let ask_for = |query: &str| {
        let path = format!("/v1/forward-auth{query}");
        ask(&daemon.socket(), "GET", &path, &basic("alice:secret"), "").status
    };
    assert_eq!(["", "?users=site"].map(ask_for), [200, 200]);
    let misspelled = ["?users", "?user=site", "?%75sers=site", "?users=site&users=site", "?"];
    for query in ["?users=", "?users=other"].iter().chain(&misspelled) {
        assert_eq!(ask_for(query), 422, "{query}");
    }
    let none = Daemon::simple();
    assert_eq!(asked(&none, &basic("alice:secret")).status, 422);
    let post = ask(&daemon.socket(), "POST", "/v1/forward-auth", &basic("alice:secret"), "");
    assert_eq!(post.status, 405);
}

#[test]
fn a_client_needs_the_right_to_verify() {
    let (other, address) = another("rights = [\"hash\"]");
    let daemon = with_users(&other, POLICY, &format!("alice:{OLD}\n"));
    let answer = ask_with(address, "/v1/forward-auth", &basic("alice:secret"));
    assert_eq!(answer.status, 403);
    assert_eq!(asked(&daemon, &basic("alice:secret")).status, 200);
}

#[test]
fn a_file_that_changes_counts_at_once_and_a_broken_one_does_not() {
    let daemon = with_users("", POLICY, &format!("alice:{OLD}\n"));
    let status = |user: &str| asked(&daemon, &basic(format!("{user}:secret"))).status;
    assert_eq!((status("alice"), status("bob")), (200, 401));
    daemon.write("site.users", format!("bob:{OLD}\n"));
    assert_eq!((status("alice"), status("bob")), (401, 200));
    // The same length in the same moment.
    daemon.write("site.users", format!("eve:{OLD}\n"));
    assert_eq!((status("bob"), status("eve")), (401, 200));
    for broken in [format!("alice:{OLD}"), "alice\n".into(), "a:b\na:c\n".into()] {
        daemon.write("site.users", broken);
        assert_eq!((status("alice"), status("eve")), (401, 200));
    }
    until(|| daemon.said().contains("the file may not be complete"));
    std::fs::remove_file(daemon.file("site.users")).unwrap();
    assert_eq!((status("alice"), status("eve")), (401, 200));
    // A reload takes no such file, and changes nothing.
    daemon.reload();
    assert_eq!(status("eve"), 200);
    assert_eq!(daemon.metric("saltern_reloads_failed_total", ""), 1.0);
    daemon.write("site.users", format!("alice:{OLD}\n"));
    assert_eq!((status("alice"), status("eve")), (200, 401));
}

/// Damaged, too expensive, or of a scheme that the policy does not accept: outside, such users are
/// unknown.
#[test]
fn users_whose_strings_are_refused_are_told_to_the_operator_alone() {
    let refused = [
        "secret".to_owned(),
        OLD[..30].to_owned(),
        "$2b$04$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm".to_owned(),
        OLD.replacen("j75", "jJ5", 1),
    ];
    let lines = refused.iter().enumerate().map(|(at, stored)| format!("user{at}:{stored}\n"));
    let limits = "[limits]\naccount = \"1/h\"\naccount_burst = 2\n";
    let daemon = with_users("", POLICY, &lines.collect::<String>());
    let answer = |daemon: &Daemon, user: &str| {
        let answer = asked(daemon, &basic(format!("{user}:secret")));
        let head =
            answer.head.lines().filter(|line| !line.starts_with("date:")).collect::<String>();
        (answer.status, head, answer.body)
    };
    let unknown = answer(&daemon, "mallory");
    assert_eq!(unknown.0, 401);
    for at in 0..refused.len() {
        assert_eq!(answer(&daemon, &format!("user{at}")), unknown, "user{at}");
    }
    until(|| daemon.said().contains("\"event\":\"users\""));
    assert!(daemon.said().contains("4 users of [[users]]"), "{}", daemon.said());
    // Their logins count, too.
    let counted = with_users(limits, POLICY, "user0:secret\n");
    let tries = ["user0", "mallory"].map(|user| [(); 3].map(|()| answer(&counted, user).0));
    assert_eq!(tries, [[401, 401, 429]; 2]);
}

/// A string is sealed for the user's name: with another name, or without its seal, nobody passes,
/// and outside, such users are unknown.
#[test]
fn strings_are_sealed_for_the_name_of_their_user() {
    let key = key_entry("2026", [7; 32]).replace("[[keys]]", "[[seal.keys]]");
    let users = format!("alice:{OLD}\n");
    let folder =
        folder(&config(&(USERS.to_owned() + "update = true\n")), &(POLICY.to_owned() + &key));
    std::fs::write(folder.path().join("key"), [7; 32]).unwrap();
    std::fs::write(folder.path().join("site.users"), &users).unwrap();
    let daemon = Daemon::start_in(folder);
    let answer = |user: &str| asked(&daemon, &basic(format!("{user}:secret"))).status;
    assert_eq!(answer("alice"), 200);
    let sealed = std::fs::read_to_string(daemon.file("site.users")).unwrap();
    let sealed = sealed.strip_prefix("alice:").unwrap().trim_end();
    assert!(sealed.starts_with("{seal=2026+"), "{sealed}");
    let required = format!("{POLICY}[seal]\nrequired = true\n{key}");
    daemon.write("saltern.toml", required);
    let plain = sealed.rsplit_once('}').unwrap().1;
    daemon.write("site.users", format!("alice:{sealed}\nbob:{sealed}\ncarol:{plain}\n"));
    daemon.reload();
    assert_eq!(["alice", "bob", "carol", "mallory"].map(answer), [200, 401, 401, 401]);
    assert_eq!(daemon.metric("saltern_refused_total", "reason=\"tampered\""), 2.0);
    let said = daemon.said();
    assert!(said.contains("\"event\":\"tampered\""), "{said}");
}

#[test]
fn a_large_file_is_read_once_at_a_time() {
    let line = |at: u32| format!("user{at}:{OLD}\n");
    let text: String = (0..60_000).map(line).collect();
    let daemon = with_users("", POLICY, &text);
    let peak = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap() >> 10
    };
    let before = peak();
    daemon.write("site.users", &text);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let ask = |at: u32| {
            let head = basic(format!("user{at}:Secret"));
            let daemon = &daemon;
            scope.spawn(move || asked(daemon, &head).status)
        };
        let threads: Vec<_> = (0..100).map(ask).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(statuses, [401; 100]);
    let more = peak() - before;
    assert!(more < 100, "{more} MiB for files of {} MiB", text.len() >> 20);
}

/// It empties the file and fills it again: whoever logs in meanwhile is still there.
#[test]
fn nobody_is_turned_away_while_htpasswd_writes() {
    if !is_there("htpasswd") {
        return;
    }
    let text: String = (0..300).map(|at| format!("user{at}:{OLD}\n")).collect();
    let policy = POLICY.to_owned() + "[remember]\n";
    let daemon = with_users("", &policy, &text);
    let file = daemon.file("site.users");
    let head = basic("user299:secret");
    let (mut refused, mut asked_for) = (0, 0);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..100 {
                let mut htpasswd = Command::new("htpasswd");
                htpasswd.arg("-bp").arg(&file).args(["user0", "x"]).stderr(Stdio::null());
                assert!(htpasswd.status().unwrap().success());
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        while !done.load(std::sync::atomic::Ordering::Relaxed) {
            refused += u32::from(asked(&daemon, &head).status != 200);
            asked_for += 1;
        }
    });
    assert_eq!(refused, 0, "of {asked_for}");
}

#[test]
fn outdated_strings_are_replaced_in_the_file_if_that_is_asked_for() {
    let policy = "[params]\ncost = 2\n[pool]\nthreads = 2\n";
    let text = format!("# staff\nalice:{OLD}:since 2020\nbob:{OLD}\n");
    for update in [false, true] {
        let daemon = with_users(&format!("update = {update}\n"), policy, &text);
        let file = daemon.file("site.users");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(asked(&daemon, &basic("alice:Secret")).status, 401);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        assert_eq!(asked(&daemon, &basic("alice:secret")).status, 200);
        let new = std::fs::read_to_string(&file).unwrap();
        assert_eq!(new != text, update);
        assert_eq!(asked(&daemon, &basic("alice:secret")).status, 200);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), new);
        if update {
            let alice = new.lines().nth(1).unwrap();
            assert!(
                alice.starts_with("alice:$y$j85$") && alice.ends_with(":since 2020"),
                "{alice}"
            );
            assert!(new.starts_with("# staff\n") && new.ends_with(&format!("\nbob:{OLD}\n")));
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        }
    }
}

#[test]
fn a_remembered_login_is_answered_without_a_hash() {
    let policy = POLICY.to_owned() + "[remember]\n";
    let daemon = with_users("", &policy, &format!("alice:{OLD}\n"));
    for _ in 0..3 {
        assert_eq!(asked(&daemon, &basic("alice:secret")).status, 200);
    }
    assert_eq!(asked(&daemon, &basic("alice:Secret")).status, 401);
    assert_eq!(daemon.metric("saltern_remembered_total", ""), 2.0);
}

/// Whether a program is installed; otherwise the test says that it is left out.
fn is_there(program: &str) -> bool {
    let found = Command::new(program)
        .arg(if program == "caddy" { "version" } else { "-v" })
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .status();
    if found.is_err() {
        eprintln!("SKIPPED: no {program} here");
    }
    found.is_ok()
}

/// A service with one user, and a folder `www` with a page in it.
fn site() -> (Daemon, u16) {
    let policy = POLICY.to_owned() + "[remember]\n";
    let daemon = with_users("", &policy, &format!("alice:{OLD}\n"));
    let site = daemon.file("www");
    std::fs::create_dir(&site).unwrap();
    std::fs::write(site.join("page.txt"), "the page\n").unwrap();
    (daemon, super::daemon::free_address().port())
}

/// Starts a proxy, and checks who gets the page through it.
fn lets_pass_whom_the_service_knows(
    daemon: &Daemon,
    port: u16,
    command: &mut Command,
    passed_on: [u16; 2],
) {
    let said = std::fs::File::create(daemon.file("proxy.log")).unwrap();
    let _proxy = Killed(command.stdout(Stdio::null()).stderr(said).spawn().unwrap());
    let address = ([127, 0, 0, 1], port).into();
    until(|| std::net::TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok());
    let page = |head: &str| ask_with(address, "/page.txt", head);
    let passed = page(&basic("alice:secret"));
    assert_eq!((passed.status, &*passed.body), (200, "the page\n"), "{passed:?}");
    assert!(passed.head.contains("x-user: alice"), "{passed:?}");
    let denied = page(&basic("alice:Secret"));
    assert_eq!(denied.status, 401);
    assert!(denied.head.contains("www-authenticate: basic realm=\"members only\""), "{denied:?}");
    assert_eq!(page("").status, 401);
    assert_eq!(page("remote-user: alice\r\n").status, 401);
    // Nobody gets in, or another name, by what else is sent.
    let named = page(&("remote-user: bob\r\n".to_owned() + &basic("alice:secret")));
    assert!(named.head.contains("x-user: alice") && !named.head.contains("bob"), "{named:?}");
    // Caddy passes on what a stranger sends beside that, and nginx does not.
    let many: String = (0..90).map(|at| format!("x-{at}: y\r\n")).collect();
    assert_eq!(page(&many).status, passed_on[0]);
    let timeout = "x-envoy-expected-rq-timeout-ms: 0\r\n".to_owned();
    assert_eq!(page(&(timeout + &basic("alice:secret"))).status, passed_on[1]);
    assert!(daemon.metric("saltern_requests_total", "op=\"forward-auth\"") >= 4.0);
}

#[test]
fn nginx_lets_pass_whom_the_service_knows() {
    if !is_there("nginx") {
        return;
    }
    let (daemon, port) = site();
    let server = lines(&daemon, "nginx")
        .replace("listen 80;", &format!("listen 127.0.0.1:{port};\n    add_header x-user $user;"));
    let folder = daemon.folder.path().display();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {folder}/{kind};\n"))
        .concat();
    let text = format!(
        "daemon off;\nmaster_process off;\nuser root;\npid {folder}/nginx.pid;\nerror_log \
         stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}{server}}}\n"
    );
    daemon.write("nginx.conf", text);
    let mut nginx = Command::new("nginx");
    nginx.arg("-p").arg(daemon.folder.path()).arg("-c").arg(daemon.file("nginx.conf"));
    lets_pass_whom_the_service_knows(&daemon, port, &mut nginx, [401, 200]);
}

#[test]
fn caddy_lets_pass_whom_the_service_knows() {
    if !is_there("caddy") {
        return;
    }
    let (daemon, port) = site();
    let told = "header {\n        x-user {http.request.header.Remote-User}\n        defer\n    }\n    file_server {";
    let text = lines(&daemon, "caddyfile")
        .replace("example.org {", &format!("http://:{port} {{\n    bind 127.0.0.1"))
        .replace("file_server {", told);
    daemon.write("Caddyfile", "{\n    admin off\n}\n".to_owned() + &text);
    let mut caddy = Command::new("caddy");
    caddy.args(["run", "--adapter", "caddyfile", "--config"]).arg(daemon.file("Caddyfile"));
    for folder in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
        caddy.env(folder, daemon.folder.path());
    }
    lets_pass_whom_the_service_knows(&daemon, port, &mut caddy, [431, 503]);
}

/// A process that ends with the test, however that ends.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The lines of the page for a proxy, with the folders of the test.
fn lines(daemon: &Daemon, language: &str) -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/forward-auth.md");
    let page = std::fs::read_to_string(page).unwrap();
    let begin = format!("```{language}\n");
    let lines = page.split_once(&begin).unwrap().1.split_once("```").unwrap().0;
    let lines = lines
        .replace("/srv/www", daemon.file("www").to_str().unwrap())
        .replace("/run/salternd/socket", daemon.socket().to_str().unwrap());
    assert!(!lines.contains("/run/") && !lines.contains("/srv/"));
    lines
}
