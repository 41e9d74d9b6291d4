//! Credentials of Keycloak, whose salt, digest, iterations and algorithm are in two documents.

use super::json::{MALFORMED, Node};
use super::{Place, Written};
use crate::error::Error;

/// The algorithm of strings that say everything themselves.
const OURS: &str = "saltern";

/// The names of the two documents in the table, and in exports.
const NAMES: [(&str, &str); 2] =
    [("secret_data", "credential_data"), ("secretData", "credentialData")];

/// The types of credentials that have a string: the password, and earlier ones, which Keycloak
/// verifies by their own algorithm, too.
const TYPES: [&str; 2] = ["password", "password-history"];

/// Where the string of a credential, or of the password of a user, is.
pub(super) fn find(line: &[u8]) -> Result<Option<Place>, Error> {
    let Some(object) = Node::of_line(line)? else { return Ok(None) };
    let account = object.get("username")?.map(|name| name.account()).transpose()?;
    let place = match object.get("credentials")? {
        None => credential(&object, &TYPES)?,
        Some(all) => {
            let all = all.items()?;
            all.iter().find_map(|one| credential(one, &TYPES[..1]).transpose()).transpose()?
        }
    };
    Ok(place.map(|place| Place { account, ..place }))
}

/// The string of a credential; `None` if it is of another type.
fn credential(object: &Node<'_>, types: &[&str]) -> Result<Option<Place>, Error> {
    if let Some(kind) = object.get("type")?
        && !types.contains(&&*kind.value()?)
    {
        return Ok(None);
    }
    for (secret, data) in NAMES {
        if let (Some(secret), Some(data)) = (object.get(secret)?, object.get(data)?) {
            return password(&secret, &data).map(Some);
        }
    }
    Ok(None)
}

fn password(secret: &Node<'_>, data: &Node<'_>) -> Result<Place, Error> {
    let (value, algorithm) = (text(secret, "value")?, text(data, "algorithm")?);
    let (range, times) = value.place();
    let mut also = vec![(algorithm.place().0, OURS)];
    let salt = secret.get("salt")?.map(|salt| salt.text()).transpose()?.flatten();
    also.extend(salt.map(|salt| (salt.place().0, "")));
    let composed = composed(secret, data)?;
    let written = Written::Json(times);
    Ok(Place { range, written, composed, also, account: None })
}

fn text<'l>(node: &Node<'l>, key: &str) -> Result<Node<'l>, Error> {
    node.get(key)?.ok_or(MALFORMED)?.text()?.ok_or(MALFORMED)
}

/// The string in the PHC string format; `None` if the value is the string.
fn composed(secret: &Node<'_>, data: &Node<'_>) -> Result<Option<String>, Error> {
    let field = |node: &Node<'_>, key| node.get(key)?.ok_or(MALFORMED)?.value();
    let algorithm = field(data, "algorithm")?;
    let hash = match &*algorithm {
        "pbkdf2" => "sha1",
        "pbkdf2-sha256" => "sha256",
        "pbkdf2-sha512" => "sha512",
        "argon2" => "",
        _ => return Ok(None),
    };
    let unpadded = |text: String| text.trim_end_matches('=').to_owned();
    let [salt, value] = [field(secret, "salt")?, field(secret, "value")?].map(unpadded);
    let iterations = field(data, "hashIterations")?;
    if !hash.is_empty() {
        // The length of what this many digits of base 64 stand for.
        let len = value.len() * 3 / 4;
        return Ok(Some(format!("$pbkdf2-{hash}$i={iterations},l={len}${salt}${value}")));
    }
    let more = data.get("additionalParameters")?.ok_or(MALFORMED)?;
    let parameter =
        |key| more.get(key)?.ok_or(MALFORMED)?.items()?.first().ok_or(MALFORMED)?.value();
    let (kind, memory, lanes) =
        (parameter("type")?, parameter("memory")?, parameter("parallelism")?);
    let version = if parameter("version")? == "1.0" { "16" } else { "19" };
    Ok(Some(format!(
        "$argon2{kind}$v={version}$m={memory},t={iterations},p={lanes}${salt}${value}"
    )))
}
