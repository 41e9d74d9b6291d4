//! Names in messages, quoted so that a shell would read them back and they cannot control the
//! terminal.
//!
//! A name of harmless characters is unchanged. Others are put in single quotes, or in double quotes
//! if an apostrophe is the only reason; unprintable bytes become `$'\n'`, `$'\033'` and the like
//! between the quoted parts.

use std::env;
use std::sync::LazyLock;

/// Whether the locale of the process is UTF-8, so that letters beyond ASCII can be shown.
static UTF8: LazyLock<bool> = LazyLock::new(|| {
    let set = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
});

/// Quote a name for a message, in the locale of the process.
pub(super) fn quote(name: &[u8]) -> Vec<u8> {
    quote_for(name, *UTF8)
}

/// A piece of a name: one character, or one byte that is not part of one.
struct Piece<'a> {
    bytes: &'a [u8],
    printable: bool,
}

fn quote_for(name: &[u8], utf8: bool) -> Vec<u8> {
    let pieces = split(name, utf8);
    let plain = pieces.iter().all(|piece| piece.printable)
        && !name.iter().any(|byte| b"'\\: !\"$&()*;<=>?[^`|".contains(byte))
        && !matches!(name.first(), None | Some(b'#' | b'~'))
        && !matches!(name, b"{" | b"}");
    if plain {
        return name.to_vec();
    }
    if name.contains(&b'\'') && pieces.iter().enumerate().all(fits_double_quotes) {
        return [b"\"", name, b"\""].concat();
    }
    single_quoted(&pieces)
}

/// Whether a piece is also literal between double quotes.
fn fits_double_quotes((at, piece): (usize, &Piece<'_>)) -> bool {
    match piece.bytes {
        [b'#' | b'~'] => at == 0,
        [byte] => piece.printable && !b"\\!\"$&()*;<=>?[^`|{}".contains(byte),
        _ => piece.printable,
    }
}

fn single_quoted(pieces: &[Piece<'_>]) -> Vec<u8> {
    let mut out = b"'".to_vec();
    let mut escaping = false;
    for piece in pieces {
        if piece.printable {
            if escaping && piece.bytes != b"'" {
                out.extend_from_slice(b"''");
            }
            escaping = false;
            match piece.bytes {
                b"'" => out.extend_from_slice(b"'\\''"),
                bytes => out.extend_from_slice(bytes),
            }
            continue;
        }
        if !escaping {
            out.extend_from_slice(b"'$'");
            escaping = true;
        }
        for &byte in piece.bytes {
            match b"abtnvfr".get(usize::from(byte).wrapping_sub(7)) {
                Some(&letter) => out.extend_from_slice(&[b'\\', letter]),
                None => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
            }
        }
    }
    out.push(b'\'');
    out
}

/// Cut a name into characters. Without UTF-8 only ASCII can be printed.
fn split(name: &[u8], utf8: bool) -> Vec<Piece<'_>> {
    let mut pieces = Vec::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        let text = chunk.valid();
        for (at, c) in text.char_indices() {
            let bytes = &text.as_bytes()[at..at + c.len_utf8()];
            let printable = if utf8 { is_printable(c) } else { matches!(c, ' '..='~') };
            pieces.push(Piece { bytes, printable });
        }
        let invalid = chunk.invalid().chunks(1);
        pieces.extend(invalid.map(|bytes| Piece { bytes, printable: false }));
    }
    pieces
}

/// Whether a terminal shows the character, judged by the table that `Debug` uses. Combining marks
/// count as shown although `Debug` escapes them at the start, hence the letter in front.
fn is_printable(c: char) -> bool {
    matches!(c, '\'' | '"' | '\\') || format!("a{c}").escape_debug().nth(1) == Some(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &[u8], c: &[u8], utf8: &[u8]) {
        assert_eq!(quote_for(name, false).escape_ascii().to_string(), c.escape_ascii().to_string());
        assert_eq!(
            quote_for(name, true).escape_ascii().to_string(),
            utf8.escape_ascii().to_string()
        );
    }

    #[test]
    fn as_a_shell_reads_it() {
        check(b"plain-1.txt", b"plain-1.txt", b"plain-1.txt");
        check(b"", b"''", b"''");
        check(b"a b", b"'a b'", b"'a b'");
        check(b"it's", b"\"it's\"", b"\"it's\"");
        check(b"it's $5", b"'it'\\''s $5'", b"'it'\\''s $5'");
        check(b"a\nb", b"'a'$'\\n''b'", b"'a'$'\\n''b'");
        check(b"\x1b[31m", b"''$'\\033''[31m'", b"''$'\\033''[31m'");
        check("\u{e9}".as_bytes(), b"''$'\\303\\251'", "\u{e9}".as_bytes());
        check(b"nu\xff", b"'nu'$'\\377'", b"'nu'$'\\377'");
        check("e\u{301}".as_bytes(), b"'e'$'\\314\\201'", "e\u{301}".as_bytes());
        check("\u{202e}".as_bytes(), b"''$'\\342\\200\\256'", b"''$'\\342\\200\\256'");
    }
}
