//! The examples, compiled by every compiler that is here, in C and in C++, shared and static.

use std::process::Command;

use saltern_testing::program::repository;
use saltern_testing::skipped;

use crate::installed::{WARNINGS, installed, is_there, succeed};

/// Their packages, and what each prints at the end.
const EXAMPLES: [(&str, &[&str], &str); 3] = [
    ("login", &["saltern"], "mismatch\n"),
    ("batch", &["saltern"], "c is in\n"),
    ("derive", &["saltern", "saltern-yescrypt", "saltern-blake2"], "\n"),
];

#[test]
fn examples_compile_without_a_warning_and_run() {
    let installed = installed();
    let dialects: [&[&str]; 4] = [
        &["gcc", "-std=c99"],
        &["g++", "-std=c++17", "-x", "c++"],
        &["clang", "-std=c99"],
        &["clang++", "-std=c++17", "-x", "c++"],
    ];
    let mut ran = 0;
    for dialect in dialects {
        if !is_there(dialect[0]) {
            skipped(&format!("the C examples: there is no {}", dialect[0]));
            continue;
        }
        for (name, packages, end) in EXAMPLES {
            let source = repository(&format!("bindings/c/examples/{name}.c"));
            let program = installed.program(dialect, &source, packages);
            let printed = succeed(&mut Command::new(&program));
            assert!(printed.ends_with(end), "{name}: {printed}");
            ran += 1;
        }
    }
    assert!(ran >= 6, "gcc and g++ have to be here: {ran}");
}

/// With leaks looked for at the end: what is kept on purpose can still be reached.
#[test]
fn examples_are_clean_under_address_sanitizer() {
    let flags = ["gcc", "-std=c99", "-g", "-fsanitize=address,undefined"];
    for (name, packages, end) in EXAMPLES {
        let source = repository(&format!("bindings/c/examples/{name}.c"));
        let program = installed().program(&flags, &source, packages);
        let printed = succeed(Command::new(&program).env("ASAN_OPTIONS", "detect_leaks=1"));
        assert!(printed.ends_with(end), "{name}: {printed}");
    }
}

#[test]
fn the_static_libraries_go_together_in_one_program() {
    let installed = installed();
    let source = repository("bindings/c/examples/derive.c");
    let program = installed.prefix().join("derive-static");
    let (_, packages, _) = EXAMPLES[2];
    let mut compile = Command::new("gcc");
    compile.args(["-std=c99"]).args(WARNINGS).arg(source).arg("-o").arg(&program);
    compile.args(installed.flags(packages, &["--cflags"]));
    for package in packages {
        compile.arg(installed.lib().join(format!("lib{package}.a")));
    }
    let private = installed.flags(packages, &["--static", "--libs-only-l"]);
    succeed(compile.args(private.iter().filter(|flag| !flag.contains("saltern"))));
    let shared = installed.program(
        &["gcc", "-std=c99"],
        &repository("bindings/c/examples/derive.c"),
        packages,
    );
    let [by_static, by_shared] = [&program, &shared].map(|it| succeed(&mut Command::new(it)));
    assert_eq!(by_static, by_shared);
    let linked = succeed(Command::new("ldd").arg(&program));
    assert!(!linked.contains("saltern"), "{linked}");
}

/// Hashing and verifying included: nothing of it needs a library at run time.
#[test]
fn examples_link_as_static_programs_by_pkg_config() {
    let installed = installed();
    for (name, packages, end) in EXAMPLES {
        let program = installed.prefix().join(format!("{name}-without-libraries"));
        let source = repository(&format!("bindings/c/examples/{name}.c"));
        let mut compile = Command::new("gcc");
        compile.args(["-std=c99", "-static"]).args(WARNINGS).arg(source).arg("-o").arg(&program);
        succeed(compile.args(installed.flags(packages, &["--static", "--cflags", "--libs"])));
        let printed = succeed(&mut Command::new(&program));
        assert!(printed.ends_with(end), "{name}: {printed}");
        let head = succeed(Command::new("readelf").args(["-d", "-l"]).arg(&program));
        assert!(!head.contains("NEEDED") && !head.contains("INTERP"), "{head}");
    }
}

#[test]
fn examples_are_clean_under_valgrind() {
    if !is_there("valgrind") {
        skipped("the C examples under valgrind: there is none");
        return;
    }
    let installed = installed();
    for (name, packages, _) in EXAMPLES {
        let source = repository(&format!("bindings/c/examples/{name}.c"));
        let program = installed.program(&["gcc", "-std=c99", "-g"], &source, packages);
        let mut valgrind = Command::new("valgrind");
        // Parameters are enums with bytes that mean nothing in some cases: the compiler compares
        // them all at once, and memcheck cannot know that what it makes of them is masked.
        valgrind.args(["--quiet", "--error-exitcode=9", "--undef-value-errors=no"]);
        valgrind.arg("--leak-check=full");
        // What is still reachable is kept on purpose, for as long as the process lasts.
        let leaks = "leak-kinds=definite,indirect,possible";
        valgrind.args([format!("--errors-for-{leaks}"), format!("--show-{leaks}")]);
        succeed(valgrind.arg(program));
    }
}
