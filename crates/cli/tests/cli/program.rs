//! Running the program and looking at what came of it.

use std::process::Output;

use assert_cmd::Command;
pub(crate) use saltern_testing::program::{repository, seen, stderr, stdout};

/// A password that no test prints on purpose.
pub(crate) const PASSWORD: &str = "pleaseletmein";

/// `$y$` of [`PASSWORD`], from the known answers of yescrypt's own test program.
pub(crate) const YESCRYPT: &str =
    "$y$jD5.7$LdJMENpBABJJ3hIHjB1Bi.$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6";

/// `$7$` of [`PASSWORD`], as crypt(3) makes it.
pub(crate) const SCRYPT: &str =
    "$7$C6..../....SodiumChloride$kBGj9fHznVYFQMEn/qDCfrDevf9YDtcDdKvEqHJLV8D";

/// `$7X` of [`PASSWORD`], as escrypt 0.5 makes it.
pub(crate) const ESCRYPT: &str =
    "$7X3$86..../....WZaPV7LSUEKMo34.$q8iWUpUeRB8IIgagy7yEx4c.E7KUTRJ9uIy6jsG4ut.";

/// The program.
pub(crate) fn saltern(args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("saltern"));
    command.args(args);
    command
}

/// What the program did with standard input `input`.
pub(crate) fn run(args: &[&str], input: impl AsRef<[u8]>) -> Output {
    saltern(args).write_stdin(input.as_ref()).output().expect("the program can be run")
}

/// Asserts that the program ended with status 2, printed nothing and told one line that contains
/// `part`.
#[track_caller]
pub(crate) fn assert_one_error(output: &Output, part: &str) {
    saltern_testing::program::assert_one_error("saltern", output, part);
}
