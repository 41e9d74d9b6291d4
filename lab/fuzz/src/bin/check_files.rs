//! Check files as `saltern sum --check` takes them: what is read from a line can be written, and
//! read again.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "."]
#[allow(dead_code)]
mod sum {
    #[path = "../../../../apps/saltern/src/cmd/sum/algorithm.rs"]
    mod algorithm;
    #[path = "../../../../apps/saltern/src/cmd/sum/line.rs"]
    mod line;
    #[path = "../../../../apps/saltern/src/cmd/sum/parse.rs"]
    mod parse;

    use algorithm::Algorithm;
    use parse::{Parser, trim_end};

    fn check(data: &[u8], algorithm: Option<Algorithm>) {
        let mut parser = Parser::new(algorithm);
        for line in data.split_inclusive(|c| *c == b'\n').map(trim_end) {
            parser.may_be_entry(&line[..line.len() / 2]);
            let Some(entry) = parser.parse(line) else { continue };
            // The beginning of a good line is never called hopeless.
            assert!(parser.may_be_entry(line));
            let mut written = Vec::new();
            let style = line::Style { tag: true, binary: true, zero: false };
            line::push_line(&mut written, style, entry.spec, &entry.digest, &entry.name);
            written.pop();
            let again = Parser::new(algorithm).parse(&written);
            // An untagged line of another length than the tag of its function allows has no such
            // form.
            assert_eq!(again.as_ref(), Some(&entry));
        }
    }

    pub(crate) fn check_all(data: &[u8]) {
        for algorithm in [None, Some(Algorithm::Blake2b), Some(Algorithm::Blake2sp)] {
            check(data, algorithm);
        }
    }
}

fuzz_target!(|data: &[u8]| sum::check_all(data));
