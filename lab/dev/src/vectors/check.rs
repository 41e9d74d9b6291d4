//! Compare the cases of files with what is computed here.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow};

use super::answer::Solver;
use super::case::Case;
use super::each_line;
use super::outcome::{Answer, Failure};

/// How one case went.
enum Verdict {
    Passed,
    /// To be refused by builds with one flavour, computed by this one.
    Computed,
    /// Needs what this program does not offer.
    Unsupported,
    Failed(String),
}

/// How the cases of one kind went.
#[derive(Default)]
struct Counts {
    passed: u64,
    computed: u64,
    unsupported: u64,
    failed: u64,
}

/// Check files; the last line sums up.
pub(super) fn run(mut solver: Solver, files: &[PathBuf]) -> anyhow::Result<ExitCode> {
    let mut output = io::stdout().lock();
    let mut kinds: BTreeMap<String, Counts> = BTreeMap::new();
    for file in files {
        check_file(file, &mut solver, &mut kinds, &mut output)
            .with_context(|| format!("cannot check {}", file.display()))?;
    }
    let mut total = Counts::default();
    for (kind, counts) in &kinds {
        writeln!(output, "{kind}: {}", counts.words())?;
        total.add(counts);
    }
    writeln!(output, "total: {}", total.words())?;
    anyhow::ensure!(total.cases() > 0, "the files hold no cases");
    Ok(if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn check_file(
    path: &Path,
    solver: &mut Solver,
    kinds: &mut BTreeMap<String, Counts>,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    each_line(BufReader::new(File::open(path)?), |number, line| {
        let case = Case::parse(line).map_err(|error| anyhow!("line {number}: {error}"))?;
        if case.is_header() {
            return Ok(());
        }
        let verdict = judge(&case, solver.answer(&case));
        let counts = kinds.entry(case.kind.clone()).or_default();
        match verdict {
            Verdict::Passed => counts.passed += 1,
            Verdict::Computed => counts.computed += 1,
            Verdict::Unsupported => counts.unsupported += 1,
            Verdict::Failed(why) => {
                counts.failed += 1;
                writeln!(output, "FAILED {} ({}): {why}", case.id, case.kind)?;
            }
        }
        Ok(())
    })
}

fn judge(case: &Case, result: Result<Answer, Failure>) -> Verdict {
    let (kind, reject) = case.base_kind();
    match (reject, result) {
        (_, Err(Failure::Unsupported)) if kind == "gost" => Verdict::Unsupported,
        (true, Err(Failure::Refused(_))) => Verdict::Passed,
        (true, Ok(_)) if case.single_flavour => Verdict::Computed,
        (true, Ok(_)) => Verdict::Failed("computed, but had to be refused".to_owned()),
        (false, Ok(answer)) => compare(&case.expected, &answer),
        (_, Err(failure)) => Verdict::Failed(failure.to_string()),
    }
}

/// The computed result has to be the stated one, and one has to be stated.
fn compare(stated: &Answer, computed: &Answer) -> Verdict {
    if stated == computed {
        return Verdict::Passed;
    }
    if *stated == Answer::default() {
        return Verdict::Failed("the case states no result".to_owned());
    }
    let show = |answer: &Answer| {
        let Answer { out, out_hex, digest, image_sha256 } = answer;
        let fields = [out, out_hex, digest, image_sha256].into_iter().flatten();
        let fields: Vec<_> = fields.map(String::as_str).collect();
        shorten(&fields.join(" "))
    };
    Verdict::Failed(format!("computed {}, stated {}", show(computed), show(stated)))
}

/// Long outputs would hide the line that they are in.
fn shorten(text: &str) -> String {
    const MOST: usize = 200;
    if text.len() <= MOST || !text.is_ascii() {
        return text.to_owned();
    }
    format!("{}… ({} characters)", &text[..MOST], text.len())
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.passed += other.passed;
        self.computed += other.computed;
        self.unsupported += other.unsupported;
        self.failed += other.failed;
    }

    fn cases(&self) -> u64 {
        self.passed + self.computed + self.unsupported + self.failed
    }

    fn words(&self) -> String {
        let mut words = format!("{} passed, {} failed", self.passed, self.failed);
        if self.computed > 0 {
            words += &format!(", {} computed that builds with one flavour refuse", self.computed);
        }
        if self.unsupported > 0 {
            words += &format!(", {} unsupported", self.unsupported);
        }
        words
    }
}
