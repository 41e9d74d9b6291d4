//! `saltern-dev field` writes the files in `lab/vectors/field`, and these are as their schemas say.

use std::fs;
use std::process::Command;

use saltern_testing::program::repository;
use saltern_testing::{names, skipped};

const FILES: [&str; 4] =
    ["blake2_tree_test.json", "crypt_refused_test.json", "scrypt_test.json", "yescrypt_test.json"];

#[test]
fn the_same_files_are_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = assert_cmd::Command::new(env!("CARGO_BIN_EXE_saltern-dev"));
    program.arg("field").arg(folder.path()).assert().success().stdout("").stderr("");
    assert_eq!(names(folder.path()), FILES);
    for name in FILES {
        let [written, kept] = [folder.path().to_owned(), repository("lab/vectors/field")]
            .map(|folder| fs::read_to_string(folder.join(name)).unwrap());
        assert!(written == kept, "{name}: write it again with `saltern-dev field`");
    }
}

/// Checks each file named on the command line against the schema that it names.
const CHECK: &str = r#"
import json, pathlib, sys
try:
    import jsonschema
except ImportError:
    sys.exit(77)
for path in map(pathlib.Path, sys.argv[1:]):
    file = json.loads(path.read_text())
    schema = json.loads((path.parent / file["schema"]).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(file)
    numbers = [test["tcId"] for group in file["testGroups"] for test in group["tests"]]
    assert numbers == list(range(1, file["numberOfTests"] + 1)), path
"#;

#[test]
fn the_files_are_as_their_schemas_say() {
    let paths = FILES.map(|name| repository("lab/vectors/field").join(name));
    let Ok(output) = Command::new("python3").args(["-c", CHECK]).args(paths).output() else {
        return skipped("schemas of the field's vectors: python3 cannot be started");
    };
    match output.status.code() {
        Some(77) => {
            skipped("schemas of the field's vectors: no jsonschema (Debian: python3-jsonschema)")
        }
        code => assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(&output.stderr)),
    }
}
