//! Fast digests, unsuitable for passwords: those of LDAP, such as `{SSHA}` and base 64 of the
//! digest and the salt; `sha1$` and `md5$` of Django, with the salt in front of the password; those
//! of Kratos, with any text on either side; bare hexadecimal digits; and MySQL's SHA-1 of SHA-1.
//! They are supported so that they can be wrapped, at once.
//!
//! As settings they are written without braces: `SSHA$` and the salt in base 64; `django-sha1$` and
//! the salt in base 64; `kratos-sha1$` and what stands before the password and after it, in base 64
//! and with `$` between them; `md5`, `sha1`, `sha256`, `sha384` or `sha512`; `mysql`. Their digests
//! are written in hexadecimal digits.

use std::fmt;

use base64ct::{Base64, Encoding};
use md5::Md5;
use saltern_pool::task::Task;
use saltern_wipe::Zeroizing;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::{Foreign, Setting};
use crate::error::Error;
use crate::scheme::Scheme;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hash {
    Md5,
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Hash {
    const ALL: [Hash; 5] = [Hash::Md5, Hash::Sha1, Hash::Sha256, Hash::Sha384, Hash::Sha512];

    /// The name of bare digits.
    const fn name(self) -> &'static str {
        match self {
            Hash::Md5 => "md5",
            Hash::Sha1 => "sha1",
            Hash::Sha256 => "sha256",
            Hash::Sha384 => "sha384",
            Hash::Sha512 => "sha512",
        }
    }

    const fn len(self) -> usize {
        match self {
            Hash::Md5 => 16,
            Hash::Sha1 => 20,
            Hash::Sha256 => 32,
            Hash::Sha384 => 48,
            Hash::Sha512 => 64,
        }
    }

    /// The digest of texts that follow each other.
    fn compute(self, texts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
        fn of<D: Digest>(texts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
            let digest = texts.iter().fold(D::new(), D::chain_update).finalize();
            Zeroizing::new(digest.to_vec())
        }
        match self {
            Hash::Md5 => of::<Md5>(texts),
            Hash::Sha1 => of::<Sha1>(texts),
            Hash::Sha256 => of::<Sha256>(texts),
            Hash::Sha384 => of::<Sha384>(texts),
            Hash::Sha512 => of::<Sha512>(texts),
        }
    }
}

/// The names of LDAP, and whether there is a salt.
const LDAP: [(&str, Hash, bool); 10] = [
    ("MD5", Hash::Md5, false),
    ("SMD5", Hash::Md5, true),
    ("SHA", Hash::Sha1, false),
    ("SSHA", Hash::Sha1, true),
    ("SHA256", Hash::Sha256, false),
    ("SSHA256", Hash::Sha256, true),
    ("SHA384", Hash::Sha384, false),
    ("SSHA384", Hash::Sha384, true),
    ("SHA512", Hash::Sha512, false),
    ("SSHA512", Hash::Sha512, true),
];

/// The names of Django's digests as settings.
const DJANGO: [(&str, Hash); 2] = [("django-md5", Hash::Md5), ("django-sha1", Hash::Sha1)];
/// The name of MySQL's digest as a setting.
const MYSQL: &str = "mysql";

/// What the names of Kratos' digests begin with as settings.
const KRATOS: &str = "kratos-";
/// Where the password is in Kratos' formats, and the salt.
const PLACES: [&str; 2] = ["{PASSWORD}", "{SALT}"];

/// The longest salt, in bytes; for Kratos, the most on either side of the password.
const SALT: usize = 64;

#[derive(Clone)]
struct Plain {
    hash: Hash,
    form: Form,
}

#[derive(Clone)]
enum Form {
    /// Nothing but digits.
    Bare,
    /// The digest of the digest.
    MySql,
    /// The salt follows the password.
    Ldap(&'static str, Vec<u8>),
    /// The salt comes first.
    Django(&'static str, Vec<u8>),
    /// The password is between these.
    Kratos([Vec<u8>; 2]),
}

pub(super) fn parse(text: &str) -> Option<Result<Foreign, Error>> {
    if let Some(rest) = text.strip_prefix('{') {
        let (name, rest) = rest.split_once('}')?;
        let (name, hash, salted) = LDAP.into_iter().find(|(known, ..)| *known == name)?;
        let expected = "base 64 of a digest and, in salted schemes, of a salt of 1 to 64 bytes";
        return Some(
            ldap(name, (hash, salted), rest).ok_or(Error::malformed("LDAP string", expected)),
        );
    }
    if let Some((name, rest)) = text.strip_prefix('$').and_then(|text| text.split_once("$pf=")) {
        let hash = Hash::ALL.into_iter().find(|hash| hash.name() == name)?;
        let expected = "a format, a salt and a digest in base 64; the format has {PASSWORD} once, \
                        and at most 64 bytes before and after it";
        return Some(kratos(hash, rest).ok_or(Error::malformed("Kratos string", expected)));
    }
    if let Some((name, rest)) = text.split_once('$') {
        let of_name = |(known, _): &(&str, Hash)| known.strip_prefix("django-") == Some(name);
        let (name, hash) = DJANGO.into_iter().find(of_name)?;
        let expected = "a salt of at most 64 characters, $, and the digest in hexadecimal digits";
        return Some(django(name, hash, rest).ok_or(Error::malformed("Django string", expected)));
    }
    if let Some(digits) = text.strip_prefix('*').filter(|digits| digits.len() == 40) {
        return hexadecimal(Plain { hash: Hash::Sha1, form: Form::MySql }, digits).map(Ok);
    }
    let hash = Hash::ALL.into_iter().find(|hash| 2 * hash.len() == text.len())?;
    hexadecimal(Plain { hash, form: Form::Bare }, text).map(Ok)
}

fn hexadecimal(setting: Plain, digits: &str) -> Option<Foreign> {
    let whole = digits.len() == 2 * setting.hash.len();
    let hex = whole && digits.bytes().all(|c| c.is_ascii_hexdigit());
    hex.then(|| Foreign::new(setting, digits.to_ascii_lowercase()))
}

fn ldap(name: &'static str, (hash, salted): (Hash, bool), rest: &str) -> Option<Foreign> {
    let bytes = Base64::decode_vec(rest).ok()?;
    let (digest, salt) = bytes.split_at_checked(hash.len())?;
    let fits = if salted { (1..=SALT).contains(&salt.len()) } else { salt.is_empty() };
    let setting = Plain { hash, form: Form::Ldap(name, salt.to_vec()) };
    fits.then(|| Foreign::new(setting, &*Zeroizing::new(base16ct::lower::encode_string(digest))))
}

fn django(name: &'static str, hash: Hash, rest: &str) -> Option<Foreign> {
    let (salt, digits) = rest.split_once('$')?;
    let plain = |c: u8| c.is_ascii_graphic() || c == b' ';
    let fits = salt.len() <= SALT && salt.bytes().all(plain);
    let setting = Plain { hash, form: Form::Django(name, salt.as_bytes().to_vec()) };
    fits.then(|| hexadecimal(setting, digits)).flatten()
}

/// The salt is put into the format, of which nothing else has to be known then.
fn kratos(hash: Hash, rest: &str) -> Option<Foreign> {
    let (format, rest) = rest.split_once('$')?;
    let (salt, digest) = rest.split_once('$')?;
    // A character for each byte: salts need not be text.
    let decode = |text| Some(Base64::decode_vec(text).ok()?.into_iter().map(char::from).collect());
    let (format, salt): (String, String) = (decode(format)?, decode(salt)?);
    // Before the salt is written into it, perhaps many times.
    if format.len() > 4 * SALT || salt.len() > 2 * SALT {
        return None;
    }
    let digest = Base64::decode_vec(digest).ok().filter(|digest| digest.len() == hash.len())?;
    let (before, after) = format.split_once(PLACES[0])?;
    let sides = [before, after].map(|side| side.replace(PLACES[1], &salt));
    let fits = |side: &String| {
        side.chars().count() <= SALT && !PLACES.iter().any(|place| side.contains(place))
    };
    if !sides.iter().all(fits) {
        return None;
    }
    let sides = sides.map(|side| side.chars().filter_map(|c| u8::try_from(c).ok()).collect());
    let digits = Zeroizing::new(base16ct::lower::encode_string(&digest));
    Some(Foreign::new(Plain { hash, form: Form::Kratos(sides) }, &*digits))
}

pub(super) fn complete(text: &str) -> Option<String> {
    if let Some(hash) = Hash::ALL.into_iter().find(|hash| hash.name() == text) {
        return Some("0".repeat(2 * hash.len()));
    }
    if text == MYSQL {
        return Some(format!("*{}", "0".repeat(40)));
    }
    if let Some((name, sides)) = text.strip_prefix(KRATOS).and_then(|rest| rest.split_once('$')) {
        let hash = Hash::ALL.into_iter().find(|hash| hash.name() == name)?;
        let (before, after) = sides.split_once('$')?;
        let [before, after] = [before, after].map(Base64::decode_vec);
        let format = [&*before.ok()?, PLACES[0].as_bytes(), &*after.ok()?].concat();
        let [format, digest] = [format, vec![0; hash.len()]].map(|of| Base64::encode_string(&of));
        return Some(format!("${name}$pf={format}$${digest}"));
    }
    let (name, salt) = text.split_once('$').unwrap_or((text, ""));
    let salt = Base64::decode_vec(salt).ok()?;
    if let Some((name, hash)) = DJANGO.into_iter().find(|(known, _)| *known == name) {
        let (name, salt) = (name.strip_prefix("django-")?, String::from_utf8(salt).ok()?);
        return Some(format!("{name}${salt}${}", "0".repeat(2 * hash.len())));
    }
    let (name, hash, _) = LDAP.into_iter().find(|(known, ..)| *known == name)?;
    let mut bytes = vec![0; hash.len()];
    bytes.extend(salt);
    Some(format!("{{{name}}}{}", Base64::encode_string(&bytes)))
}

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.form {
            Form::Bare => f.write_str(self.hash.name()),
            Form::MySql => f.write_str(MYSQL),
            Form::Ldap(name, salt) if salt.is_empty() => f.write_str(name),
            Form::Ldap(name, salt) | Form::Django(name, salt) => {
                write!(f, "{name}${}", Base64::encode_string(salt))
            }
            Form::Kratos(sides) => {
                let [before, after] = sides.each_ref().map(|side| Base64::encode_string(side));
                write!(f, "{KRATOS}{}${before}${after}", self.hash.name())
            }
        }
    }
}

impl Setting for Plain {
    fn scheme(&self) -> Scheme {
        match self.form {
            Form::Ldap(..) | Form::Django(..) | Form::Kratos(_) => Scheme::Ldap,
            Form::Bare | Form::MySql => Scheme::Hex,
        }
    }

    fn cost(&self, password: usize) -> Task {
        Task { memory: 4 << 10, work: (password as u64).saturating_mul(16).saturating_add(4096) }
    }

    fn salt(&self) -> usize {
        match &self.form {
            Form::Ldap(_, salt) | Form::Django(_, salt) => salt.len(),
            Form::Kratos(sides) => sides.iter().map(Vec::len).sum(),
            Form::Bare | Form::MySql => 0,
        }
    }

    fn unsalted(&self) -> String {
        let form = match &self.form {
            Form::Ldap(name, salt) => Form::Ldap(name, vec![0; salt.len()]),
            Form::Django(name, salt) => Form::Django(name, vec![b'0'; salt.len()]),
            Form::Kratos(sides) => {
                Form::Kratos(sides.each_ref().map(|side| vec![b'0'; side.len()]))
            }
            other => other.clone(),
        };
        Plain { form, ..*self }.to_string()
    }

    fn compute(&self, password: &[u8]) -> Result<Zeroizing<String>, Error> {
        let hash = self.hash;
        let digest = match &self.form {
            Form::Bare => hash.compute(&[password]),
            Form::Ldap(_, salt) => hash.compute(&[password, salt]),
            Form::Django(_, salt) => hash.compute(&[salt, password]),
            Form::Kratos([before, after]) => hash.compute(&[before, password, after]),
            Form::MySql => hash.compute(&[&hash.compute(&[password])]),
        };
        Ok(Zeroizing::new(base16ct::lower::encode_string(&digest)))
    }
}
