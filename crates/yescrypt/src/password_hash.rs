//! The traits of the `password-hash` crate, for the default use.
