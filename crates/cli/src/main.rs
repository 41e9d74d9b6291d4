//! The program `saltern`.
fn main() {}
