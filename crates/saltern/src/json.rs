//! Reading JSON that contains passwords, for programs that take requests. Values go into memory
//! that is wiped; a JSON library would leave copies in its own buffers and quote them in errors.

mod fields;

use saltern_wipe::Zeroizing;

pub use self::fields::{Fields, Malformed, Read, password};

/// The value of a JSON string, if `raw` is one. `raw` must be valid JSON, such as that of a
/// `serde_json::value::RawValue`; its syntax is not checked again.
///
/// The only copy is the result, which is never reallocated.
///
/// ```
/// assert_eq!(saltern::json::decode(r#""caf\u00e9""#).unwrap().as_str(), "café");
/// assert!(saltern::json::decode("7").is_none());
/// ```
#[must_use]
pub fn decode(raw: &str) -> Option<Zeroizing<String>> {
    let inside = raw.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = Zeroizing::new(String::with_capacity(inside.len()));
    let mut rest = inside;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let escape = rest[at + 1..].chars().next()?;
        rest = &rest[at + 1 + escape.len_utf8()..];
        text.push(match escape {
            '"' | '\\' | '/' => escape,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => unicode(&mut rest)?,
            _ => return None,
        });
    }
    text.push_str(rest);
    Some(text)
}

/// The character of `\uXXXX`, or of two of them; `None` for half a surrogate pair, which is not a
/// character.
fn unicode(rest: &mut &str) -> Option<char> {
    let first = digits(rest)?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first);
    }
    *rest = rest.strip_prefix("\\u")?;
    let second = digits(rest)?;
    let low = second.checked_sub(0xdc00).filter(|&low| low < 0x400)?;
    char::from_u32(0x10000 + ((first - 0xd800) << 10) + low)
}

fn digits(rest: &mut &str) -> Option<u32> {
    let (digits, after) = rest.split_at_checked(4)?;
    *rest = after;
    let strict = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| strict)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the JSON library takes for a string comes out the same.
        #[test]
        fn as_the_json_library_has_it(
            text in r#"([ -~é☃𝄞]|\\[\\"/bfnrtux]|\\u[0-9a-fA-F]{4}|\\u[dD][89abcdefABCDEF][0-9a-f]{2}){0,12}"#,
        ) {
            let raw = format!("\"{text}\"");
            let expected = serde_json::from_str::<String>(&raw).ok();
            // Text that is not JSON never gets here.
            if serde_json::from_str::<&serde_json::value::RawValue>(&raw).is_ok() {
                prop_assert_eq!(decode(&raw).map(|text| text.to_string()), expected);
            }
        }
    }

    #[test]
    fn what_is_no_string_is_nothing() {
        for raw in
            ["7", "null", "[\"a\"]", "{}", "\"", "", "\"\\ud800\"", "\"\\udc00\"", "\"\\u00\""]
        {
            assert!(decode(raw).is_none(), "{raw}");
        }
    }
}
