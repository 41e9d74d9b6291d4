//! Slow, readable references.
