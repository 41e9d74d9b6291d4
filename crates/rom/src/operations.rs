//! Operations of an operator on ROMs.

pub(crate) mod attach;
pub(crate) mod check;
pub(crate) mod copy;
pub(crate) mod create;
pub(crate) mod list;
pub(crate) mod remove;
pub(crate) mod seed;
