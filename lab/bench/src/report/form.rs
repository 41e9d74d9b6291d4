//! What lines and the sentences about them have in common.

use super::axis::Scale;
use super::groups::{Groups, Trait};
use super::markup::kib;
use crate::record::Cell;

/// How cells are drawn as lines: what is along the lines, what is up, and the sentence.
pub(super) struct Form {
    pub(super) along: Trait,
    pub(super) title: &'static str,
    pub(super) axis: (&'static str, Scale),
    pub(super) x: fn(&Cell) -> Option<f64>,
    pub(super) value: (&'static str, Scale),
    pub(super) y: fn(&Cell) -> f64,
    pub(super) sentence: fn(&Form, &Groups<'_>) -> String,
}

/// The memory of a cell in words, if it has any.
pub(super) fn memory_of(cell: &Cell) -> String {
    cell.work.memory_kib.map_or(String::new(), kib)
}
