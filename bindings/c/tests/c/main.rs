//! What C programs see: the libraries as `scripts/install` makes them, compiled against and run.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod abi;
mod allocation;
mod answers;
mod blake2;
mod crypt;
mod examples;
mod installed;
mod layout;
mod load;
mod preload;
mod threads;
mod yescrypt;
