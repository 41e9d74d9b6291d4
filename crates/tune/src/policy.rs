//! The recommended policy, as a file.

use saltern::Policy;
use saltern::policy::Invalid;
use saltern_chart::markup::{date, number};

use crate::report::Report;
use crate::text::REMEDY;

impl Report {
    /// The text of a policy file for the setting, with what was measured in its comments.
    /// `policy` is the one that was measured.
    ///
    /// # Errors
    /// Those of [`Policy::to_toml`].
    pub fn policy(&self, policy: &Policy) -> Result<String, Invalid> {
        Ok(self.comments() + &policy.to_toml()?)
    }

    fn comments(&self) -> String {
        let mut lines =
            vec![format!("saltern.toml, written by `saltern tune` on {}", date(self.unix_time))];
        for (name, value) in self.facts() {
            lines.push(format!("{name}: {value}"));
        }
        let share = format!(
            "the pool had its processors for {} % of the time",
            number(100.0 * self.saturation.share)
        );
        lines.push(share);
        for warning in &self.warnings {
            lines.push(format!("WARNING: {warning}"));
        }
        if !self.warnings.is_empty() {
            lines.push(REMEDY.to_owned());
        }
        // Text from the machine must not end a comment.
        let clean = |line: &String| line.replace(char::is_control, " ");
        lines.iter().map(|line| format!("# {}\n", clean(line))).collect::<String>() + "\n"
    }
}
