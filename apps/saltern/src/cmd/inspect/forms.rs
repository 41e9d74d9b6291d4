//! `saltern inspect --formats`: every form of strings that is recognised.

use std::process::ExitCode;

use saltern::policy::Scheme;
use saltern::table::{StringFormat, formats};
use serde::Serialize;

use crate::output::Output;

/// A form, as `--json` prints it.
#[derive(Serialize)]
struct Form {
    /// Empty for forms that are recognised by something else.
    prefix: &'static str,
    name: &'static str,
    /// The scheme that a policy must accept; null if such strings are not verified.
    accepted_as: Option<&'static str>,
    wrapped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'static str>,
}

impl Form {
    fn new(known: &StringFormat) -> Self {
        Form {
            prefix: known.prefix,
            name: known.name,
            accepted_as: known.scheme.map(Scheme::name),
            wrapped: known.is_wrapped(),
            advice: known.advice(),
        }
    }

    /// What can be done with such strings.
    fn words(&self) -> String {
        match (self.accepted_as, self.advice) {
            (Some(scheme), _) if self.wrapped => format!("verified as {scheme}, wrapped"),
            (Some(scheme), _) => format!("verified as {scheme}"),
            (None, advice) => format!("known by name: {}", advice.unwrap_or_default()),
        }
    }
}

pub(super) fn list(json: bool) -> anyhow::Result<ExitCode> {
    let mut output = Output::new();
    for form in formats().map(Form::new) {
        if json {
            output.json(&form)?;
        } else {
            let prefix = if form.prefix.is_empty() { "(by its form)" } else { form.prefix };
            output.line(format!("{prefix:<32}{}, {}", form.name, form.words()))?;
        }
    }
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}
