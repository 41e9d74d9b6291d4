//! Types and functions as the headers declare them, beside a dump of what programs were compiled
//! with: `abi.xml`, made by `abidw` of what this test compiles (`SALTERN_ABI=new` makes it anew).
//! Any difference breaks programs or is an addition; for one that breaks them, the number in the
//! SONAME has to change (`scripts/install`).

use std::fmt::Write;
use std::process::Command;

use saltern_testing::program::repository;
use saltern_testing::skipped;

use crate::installed::{installed, is_there, run, succeed, told};

#[test]
fn types_and_functions_are_what_programs_were_compiled_with() {
    if !is_there("abidiff") || !cfg!(target_arch = "x86_64") {
        return skipped("the ABI of the C libraries: no abidiff, or not x86-64");
    }
    let headers = ["saltern", "yescrypt", "blake2"];
    let mut source = headers.map(|name| format!("#include <{name}.h>\n")).concat();
    for header in headers {
        let list = repository(&format!("bindings/c/link/{header}.symbols"));
        for name in std::fs::read_to_string(list).unwrap().lines() {
            writeln!(source, "__typeof__({name}) *of_{name};").unwrap();
        }
    }
    let [file, library] = ["abi.c", "abi.so"].map(|name| installed().prefix().join(name));
    std::fs::write(&file, source).unwrap();
    let mut compile = Command::new("gcc");
    compile.args(["-g", "-shared", "-fPIC", "-fno-lto"]).arg(&file).arg("-o").arg(&library);
    succeed(compile.args(installed().flags(&headers.map(package), &["--cflags"])));
    let dump = repository("bindings/c/tests/c/abi.xml");
    if std::env::var_os("SALTERN_ABI").is_some_and(|value| value == "new") {
        let mut write = Command::new("abidw");
        write.args(["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs"]);
        succeed(write.arg("--out-file").arg(&dump).arg(&library));
    }
    let compared = run(Command::new("abidiff").arg(&dump).arg(&library));
    assert!(compared.status.success(), "{}", told(&compared));
}

fn package(header: &str) -> &str {
    match header {
        "yescrypt" => "saltern-yescrypt",
        "blake2" => "saltern-blake2",
        _ => "saltern",
    }
}
