//! The lines that `sum` prints, and the escapes in them.
//!
//! ```text
//! DIGEST  NAME                  the usual line; the second blank is `*` after --binary
//! BLAKE2b-256 (NAME) = DIGEST   after --tag; the length is left out where it is the longest
//! \DIGEST  NA\nME               a name with a newline, a carriage return or a backslash is escaped, and the
//!                               backslash in front of the line says so
//! ```

use super::algorithm::{Digest, Spec};

/// The style of a line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Style {
    /// `--tag`
    pub(super) tag: bool,
    /// the last of `--binary`, `--text` and `--tag` was not `--text`
    pub(super) binary: bool,
    /// `--zero`: lines end in NUL and names are not escaped
    pub(super) zero: bool,
}

/// Append a digest in lower-case digits.
fn push_digits(out: &mut Vec<u8>, digest: &Digest) {
    let (start, digest) = (out.len(), digest.as_bytes());
    out.resize(start + 2 * digest.len(), 0);
    // There is room.
    let _ = base16ct::lower::encode(digest, &mut out[start..]);
}

/// Append the line for one file to `out`.
pub(super) fn push_line(out: &mut Vec<u8>, style: Style, spec: Spec, digest: &Digest, name: &[u8]) {
    let escape = !style.zero && needs_escape(name);
    if escape {
        out.push(b'\\');
    }
    if style.tag {
        out.extend_from_slice(spec.algorithm().name().as_bytes());
        if spec.bytes() < spec.algorithm().max_bytes() {
            out.extend_from_slice(format!("-{}", 8 * spec.bytes()).as_bytes());
        }
        out.extend_from_slice(b" (");
        push_name(out, name, escape);
        out.extend_from_slice(b") = ");
        push_digits(out, digest);
    } else {
        push_digits(out, digest);
        out.extend_from_slice(if style.binary { b" *" } else { b"  " });
        push_name(out, name, escape);
    }
    out.push(if style.zero { 0 } else { b'\n' });
}

/// Append `name: verdict` as check mode prints it. Here only a newline causes escapes.
pub(super) fn push_verdict(out: &mut Vec<u8>, name: &[u8], verdict: &str) {
    let escape = name.contains(&b'\n');
    if escape {
        out.push(b'\\');
    }
    push_name(out, name, escape);
    out.extend_from_slice(b": ");
    out.extend_from_slice(verdict.as_bytes());
    out.push(b'\n');
}

/// Whether a name would break a line, or look like an escape in it.
pub(super) fn needs_escape(name: &[u8]) -> bool {
    name.iter().any(|byte| matches!(byte, b'\n' | b'\r' | b'\\'))
}

/// Append a name, escaped if `escape` is set.
fn push_name(out: &mut Vec<u8>, name: &[u8], escape: bool) {
    if !escape {
        return out.extend_from_slice(name);
    }
    for &byte in name {
        match byte {
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            _ => out.push(byte),
        }
    }
}

/// Undo the escapes of a name; `None` if a backslash starts an unknown one.
pub(super) fn unescape(name: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(name.len());
    let mut bytes = name.iter();
    while let Some(&byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b'\\' => b'\\',
                _ => return None,
            },
            _ => byte,
        });
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn escaping_is_undone(name: Vec<u8>) {
            let mut escaped = Vec::new();
            push_name(&mut escaped, &name, true);
            prop_assert!(!escaped.contains(&b'\n') && !escaped.contains(&b'\r'));
            prop_assert_eq!(unescape(&escaped), Some(name));
        }
    }

    #[test]
    fn stray_backslashes_are_refused() {
        assert_eq!(unescape(b"a\\"), None);
        assert_eq!(unescape(b"a\\x"), None);
    }
}
