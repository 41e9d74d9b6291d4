//! Talking to `answers.c`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::installed::installed;

/// A program that answers lines.
pub(crate) struct Answers {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Answers {
    pub(crate) fn start() -> Self {
        let packages = ["saltern-yescrypt", "saltern-blake2"];
        let program = installed().test_program("answers.c", &packages);
        Self::of(&mut Command::new(program))
    }

    /// Any program that answers each line by one.
    pub(crate) fn of(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it was compiled just now");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Answers { child, input, output }
    }

    pub(crate) fn ask(&mut self, line: &str) -> String {
        let input = self.input.as_mut().expect("open until dropped");
        writeln!(input, "{line}").expect("the program reads");
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("the program answers");
        assert!(!answer.is_empty(), "the program ended at: {line}");
        answer.trim_end().to_owned()
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        // The end of its input ends the program.
        drop(self.input.take());
        let ended = self.child.wait();
        if !std::thread::panicking() {
            assert!(ended.is_ok_and(|status| status.success()), "the program fails at its end");
        }
    }
}

/// A field in hexadecimal, as the program reads it; a null pointer if it is not there.
pub(crate) fn hex(case: &Value, field: &str) -> String {
    match case[field].as_str() {
        None => "NULL".to_owned(),
        Some("") => "-".to_owned(),
        Some(text) => text.to_owned(),
    }
}

/// Text, as the program reads it.
pub(crate) fn hexed(text: &[u8]) -> String {
    if text.is_empty() { "-".to_owned() } else { saltern_testing::hex::hex(text) }
}

/// A number of a case, 0 if it is not there.
pub(crate) fn number(case: &Value, field: &str) -> u64 {
    case[field].as_u64().unwrap_or_default()
}
