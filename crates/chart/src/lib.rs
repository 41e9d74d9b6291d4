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
pub mod svg;

/// The style sheet of all pages.
pub const STYLE: &str = include_str!("style.css");

/// The beginning of a page, up to and including `<body>`.
#[must_use]
pub fn page_head(title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <link rel=\"icon\" href=\"data:,\"/>\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        markup::Escaped(title)
    )
}
