//! The parts of a page around plots: its head, facts, and tables.

use std::fmt::Write;

use crate::STYLE;
use crate::markup::{Escaped, unbroken};

/// The beginning of a page, up to and including `<body>`.
#[must_use]
pub fn head(title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <link rel=\"icon\" href=\"data:,\"/>\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        Escaped(title)
    )
}

/// A list of names and values.
#[must_use]
pub fn facts<'a>(facts: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut out = String::from("<dl>");
    for (name, value) in facts {
        let value = unbroken(&value);
        let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", Escaped(name), Escaped(&value));
    }
    out + "</dl>\n"
}

/// A table that scrolls if the screen is narrower. The first cell of a row is its name, and
/// addresses (`https://…`) become links.
///
/// ```
/// use saltern_chart::page::table;
/// let rows = [vec!["1".to_owned(), "https://example.org/<1>".to_owned()]];
/// let table = table("Sources", &["number", "source"], rows);
/// assert!(table.contains("<th scope=\"row\">1</th>"));
/// assert!(table.contains("<a href=\"https://example.org/&lt;1&gt;\">example.org/&lt;1&gt;</a>"));
/// ```
#[must_use]
pub fn table(
    caption: &str,
    columns: &[&str],
    rows: impl IntoIterator<Item = impl AsRef<[String]>>,
) -> String {
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table>\
         <caption>{0}</caption><thead><tr>",
        Escaped(caption)
    );
    for column in columns {
        let _ = write!(out, "<th scope=\"col\">{}</th>", Escaped(column));
    }
    out += "</tr></thead><tbody>\n";
    for row in rows {
        out += "<tr>";
        for (i, cell) in row.as_ref().iter().enumerate() {
            let (open, close) =
                if i == 0 { ("<th scope=\"row\">", "</th>") } else { ("<td>", "</td>") };
            let cell = match cell.strip_prefix("https://") {
                Some(rest) => format!("<a href=\"https://{0}\">{0}</a>", Escaped(rest)),
                None => Escaped(cell).to_string(),
            };
            let _ = write!(out, "{open}{cell}{close}");
        }
        out += "</tr>\n";
    }
    out + "</tbody></table></div>\n"
}
