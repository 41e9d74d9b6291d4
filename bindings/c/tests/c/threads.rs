//! Threads, forks, signals, the end of the process, null pointers: `threads.c`.

use std::path::PathBuf;
use std::process::Command;

use crate::installed::{installed, is_there, succeed};

fn program() -> PathBuf {
    let packages = ["saltern", "saltern-yescrypt", "saltern-blake2"];
    installed().with_shim("threads", &["-Wno-nonnull"], &packages)
}

fn part(name: &str) {
    succeed(Command::new(program()).arg(name));
}

#[test]
fn sixty_four_threads_get_their_own_answers() {
    part("many");
}

#[test]
fn a_threads_memory_is_given_back_when_it_ends() {
    part("memory");
}

#[test]
fn a_forked_process_hashes_while_the_parents_threads_do() {
    part("forks");
}

#[test]
fn calls_that_signals_interrupt_answer() {
    part("signals");
}

#[test]
fn more_threads_than_can_wait_get_their_answers() {
    part("crowd");
}

#[test]
fn what_is_kept_does_not_grow_with_threads() {
    part("bound");
}

#[test]
fn a_process_that_has_locked_itself_in_hashes() {
    part("locked");
}

#[test]
fn threads_can_be_cancelled() {
    part("cancelled");
}

#[test]
fn threads_of_a_site_take_no_signals() {
    part("masks");
}

#[test]
fn calls_during_exit_answer() {
    part("ends");
}

#[test]
fn a_string_belongs_to_its_account() {
    part("seals");
}

#[test]
fn null_pointers_are_errors() {
    part("nulls");
    if is_there("valgrind") {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--quiet", "--error-exitcode=9", "--undef-value-errors=no"]);
        valgrind.arg(program());
        succeed(valgrind.arg("nulls"));
    }
}
