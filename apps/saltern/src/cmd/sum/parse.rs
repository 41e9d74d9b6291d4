//! Reading check files: lines of any length and content in, entries to verify out.

use super::algorithm::{Algorithm, Digest, Spec};
use super::line;

/// Longest line that is parsed, in bytes. A path of 4096 bytes, escaped, with its digest fits
/// several times; a longer line cannot name a file, is not worth the memory, and is an error, since
/// its content is unknown.
pub(super) const MAX_LINE: usize = 128 * 1024;

/// A file to verify.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) spec: Spec,
    pub(super) digest: Digest,
    pub(super) name: Vec<u8>,
}

/// How the untagged lines of a file separate digest and name.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    /// a blank and then a blank or `*`
    Marked,
    /// one blank only, as `md5 -r` of the BSDs prints
    Bare,
}

/// The parser for one check file. It keeps state, because only the first untagged line decides
/// whether a second blank belongs to the name.
#[derive(Clone)]
pub(super) struct Parser {
    untagged: Algorithm,
    only: Option<Algorithm>,
    layout: Option<Layout>,
}

impl Parser {
    /// With `algorithm`, lines tagged with another one are refused. Without it every tag is good,
    /// and untagged lines are BLAKE2b.
    pub(super) fn new(algorithm: Option<Algorithm>) -> Self {
        let untagged = algorithm.unwrap_or(Algorithm::Blake2b);
        Self { untagged, only: algorithm, layout: None }
    }

    /// Parse a line without its line end; `None` if it is not well formed.
    pub(super) fn parse(&mut self, line: &[u8]) -> Option<Entry> {
        let line = trim_start(line);
        let (escaped, line) = match line.strip_prefix(b"\\") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let (spec, digest, name) = match Algorithm::strip_tag(line) {
            Some((algorithm, rest)) => self.parse_tagged(algorithm, rest)?,
            None => self.parse_untagged(line)?,
        };
        let name = if escaped { line::unescape(name)? } else { name.to_vec() };
        // No file can have such a name; truncating it would verify another one.
        (!name.contains(&0)).then_some(Entry { spec, digest, name })
    }

    /// Whether a line that begins like this may be well formed.
    pub(super) fn may_be_entry(&self, start: &[u8]) -> bool {
        let start = trim_start(start);
        let start = start.strip_prefix(b"\\").unwrap_or(start);
        match Algorithm::strip_tag(start) {
            Some((algorithm, _)) => self.only.is_none_or(|only| only == algorithm),
            None => self.clone().parse_untagged(start).is_some(),
        }
    }

    /// `-256 (NAME) = DIGEST`, what comes after the name of the function. Any blanks are allowed
    /// around `=`, and a few before the name; the name ends at the last `)`.
    fn parse_tagged<'a>(
        &self,
        algorithm: Algorithm,
        rest: &'a [u8],
    ) -> Option<(Spec, Digest, &'a [u8])> {
        if self.only.is_some_and(|only| only != algorithm) {
            return None;
        }
        let (spec, rest) = match rest.strip_prefix(b"-") {
            Some(rest) => parse_length(algorithm, rest)?,
            None => {
                let blank = rest.first().is_some_and(|&byte| is_blank(byte));
                (Spec::full(algorithm), &rest[usize::from(blank)..])
            }
        };
        let rest = rest.strip_prefix(b" ").unwrap_or(rest).strip_prefix(b"(")?;
        let end = rest.iter().rposition(|&byte| byte == b')')?;
        let hex = trim_start(trim_start(&rest[end + 1..]).strip_prefix(b"=")?);
        let digest = Digest::from_hex(hex)?;
        (digest.as_bytes().len() == spec.bytes()).then_some((spec, digest, &rest[..end]))
    }

    /// `DIGEST  NAME`; the number of digits gives the length.
    fn parse_untagged<'a>(&mut self, line: &'a [u8]) -> Option<(Spec, Digest, &'a [u8])> {
        let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let (hex, rest) = line.split_at(digits);
        let spec = Spec::new(self.untagged, digits / 2)?;
        let digest = Digest::from_hex(hex)?;
        let (&blank, rest) = rest.split_first()?;
        if !is_blank(blank) {
            return None;
        }
        let marked = rest.len() > 1 && matches!(rest[0], b' ' | b'*');
        let name = match (marked, self.layout) {
            (true, None | Some(Layout::Marked)) => {
                self.layout = Some(Layout::Marked);
                &rest[1..]
            }
            (false, Some(Layout::Marked)) => return None,
            _ if marked => rest,
            _ => {
                self.layout = Some(Layout::Bare);
                rest
            }
        };
        Some((spec, digest, name))
    }
}

/// The bits after the dash of a tag: plain decimal without leading zeros.
fn parse_length(algorithm: Algorithm, rest: &[u8]) -> Option<(Spec, &[u8])> {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = rest.split_at(digits);
    if number.first() == Some(&b'0') {
        return None;
    }
    let bits: usize = str::from_utf8(number).ok()?.parse().ok()?;
    let spec = Spec::new(algorithm, bits / 8)?;
    bits.is_multiple_of(8).then_some((spec, rest))
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn trim_start(line: &[u8]) -> &[u8] {
    let blanks = line.iter().take_while(|&&byte| is_blank(byte)).count();
    &line[blanks..]
}

/// A line without LF or CR LF.
pub(super) fn trim_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
