//! The program as its users run it: one module for each subcommand, and for what all of them share.

#[cfg(target_os = "linux")]
mod budget;
mod documents;
mod hash;
mod hostile;
mod inspect;
mod jsonl;
mod key;
mod memory;
mod pages;
mod policy;
mod program;
mod reencrypt;
mod rom;
mod streams;
mod table;
mod terminal;
#[cfg(target_os = "linux")]
mod threads;
mod tune;
mod users;
mod verify;
