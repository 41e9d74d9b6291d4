//! yescrypt and scrypt.
