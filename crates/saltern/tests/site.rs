//! What a site does with its passwords, from its policy to its table.
#![cfg(all(feature = "file", feature = "legacy", feature = "json"))]

mod site {
    mod costs;
    mod decided;
    #[allow(dead_code, reason = "the example is a program, too")]
    #[path = "../../examples/axum.rs"]
    mod example;
    mod firebase;
    #[cfg(feature = "libcrypt")]
    mod forms;
    mod hostile;
    mod http;
    mod life;
    mod logins;
    mod page;
    mod policies;
    mod remembered;
    #[cfg(feature = "rom")]
    mod roms;
    mod seals;
    mod shared;
    mod tables;
}
