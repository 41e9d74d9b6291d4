//! The policy that is recommended, as a file.

use std::fmt::Write;

use saltern::Policy;
use saltern::policy::words::{ACCESS, quoted, word};
use saltern::policy::{Params, RomSource, size_text};
use saltern_chart::markup::{date, number};

use crate::report::Report;

impl Report {
    /// The text of a policy file for the setting, with what was measured in its comments.
    /// `policy` is the one that was measured.
    #[must_use]
    pub fn policy(&self, policy: &Policy) -> String {
        let mut out = self.comments();
        let _ = writeln!(out, "schemes = [\"yescrypt\"]\n\n[params]\n{}", costs(&policy.params));
        let _ = writeln!(out, "\n[floor]\n{}", costs(&policy.floor));
        for rom in &policy.roms {
            let RomSource::Image { path, hash, access } = &rom.source else { continue };
            let access = word(ACCESS, access);
            let _ = writeln!(
                out,
                "\n[[roms]]\nimage = {}\nhash = \"{hash}\"\naccess = \"{access}\"\nactive = {}",
                quoted(&path.to_string_lossy()),
                rom.active
            );
        }
        let pool = &policy.pool;
        let _ = writeln!(
            out,
            "\n[pool]\nthreads = {}\nmemory = \"{}\"\nprepare = true",
            pool.threads,
            size_text(pool.memory)
        );
        if let Some(deadline) = policy.deadline {
            let _ = writeln!(
                out,
                "# Answers later than this are useless: under overload they are not computed.\n\
                 deadline = \"{}ms\"",
                deadline.as_millis()
            );
        }
        out
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
            lines.push("Before relying on this, run it long enough on a quiet machine.".to_owned());
        }
        // Nothing that a machine says of itself ends a comment.
        let clean = |line: &String| line.replace(char::is_control, " ");
        lines.iter().map(|line| format!("# {}\n", clean(line))).collect::<String>() + "\n"
    }
}

fn costs(params: &Params) -> String {
    let Params { n, r, p, t, .. } = params;
    format!("n = {n}\nr = {r}\np = {p}\nt = {t}")
}
