//! Plots as inline SVG, and the head of their page.
//!
//! A page is one HTML file that needs neither network nor scripts, reads well dark and light, on
//! screens of any width and on paper; the style sheet is [`STYLE`]. A plot has a name and a
//! description for readers who cannot see it.
//!
//! ```
//! use saltern_chart::axis::Scale;
//! use saltern_chart::lines::{Lines, Point, Series};
//! let point = |x: f64| Point { x, y: x * x, interval: None, tip: String::new(), label: String::new() };
//! let squares = Series {
//!     name: "squares".to_owned(),
//!     points: [1.0, 2.0, 3.0].map(point).to_vec(),
//!     is_ideal: false,
//! };
//! let axes = [("number".to_owned(), Scale::FromZero), ("square".to_owned(), Scale::FromZero)];
//! let plot = Lines { title: "Squares".to_owned(), axes, series: vec![squares] };
//! assert!(plot.draw("squares", "They grow.").unwrap().starts_with("<svg"));
//! ```

pub mod axis;
pub mod lines;
pub mod markup;
pub mod page;
pub mod svg;

/// The style sheet of all pages.
pub const STYLE: &str = include_str!("style.css");
