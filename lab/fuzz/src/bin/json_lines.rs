//! Lines of JSON as `saltern hash` and `verify` take them: read as the JSON library reads them, or
//! refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::Deserialize;

mod password {
    pub(crate) type Password = saltern_wipe::Zeroizing<Vec<u8>>;
}

#[path = "."]
#[allow(dead_code)]
mod jsonl {
    #[path = "../../../../apps/saltern/src/jsonl/request.rs"]
    mod request;

    /// The password of a line, or what is wrong with the line.
    pub(crate) fn password(line: &[u8]) -> Result<Vec<u8>, String> {
        let (_, request) = request::Request::parse(line);
        request.map(|request| request.password.to_vec()).map_err(|error| error.to_string())
    }
}

/// As the library reads it. What it passes over, it takes as we do: numbers of any size, lists of
/// any depth.
#[derive(Deserialize)]
struct Line {
    password: Option<String>,
    password_hex: Option<String>,
}

fuzz_target!(|line: &[u8]| {
    match jsonl::password(line) {
        Ok(password) => {
            let theirs: Line = serde_json::from_slice(line).expect("what was taken is JSON");
            match (theirs.password, theirs.password_hex) {
                (Some(text), None) => assert_eq!(password, text.as_bytes()),
                (None, Some(digits)) => {
                    let hex: String = password.iter().map(|byte| format!("{byte:02x}")).collect();
                    assert!(hex.eq_ignore_ascii_case(&digits));
                }
                _ => panic!("one password has to be there, and only one"),
            }
        }
        // Told by kind and place: nothing of the line is in it.
        Err(error) => assert!(error.is_ascii() && error.len() < 300),
    }
});
