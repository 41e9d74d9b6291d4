//! Users of an export of Firebase, whose salt and hash are two members.

use super::json::{MALFORMED, Node};
use super::{Place, Written};
use crate::error::Error;
use crate::policy::FirebaseParameters;

/// Where the string of a user is.
pub(super) fn find<'l>(
    line: &'l [u8],
    project: &FirebaseParameters,
) -> Result<Option<Place>, Error> {
    let Some(user) = Node::of_line(line)? else { return Ok(None) };
    let account = user.get("localId")?.map(|id| id.account()).transpose()?;
    let Some(hash) = user.get("passwordHash")? else { return Ok(None) };
    let (value, hash) = (hash.value()?, hash.text()?.ok_or(MALFORMED)?);
    let (range, times) = hash.place();
    let mut place = Place { range, written: Written::Json(times), account, ..Place::default() };
    // A string of ours has other characters.
    let is_base64 = |c: u8| c.is_ascii_alphanumeric() || b"+/-_=".contains(&c);
    if !value.is_empty() && value.bytes().all(is_base64) {
        let read = |salt: Node<'l>| Ok::<_, Error>((salt.value()?, salt.text()?.ok_or(MALFORMED)?));
        let salt = user.get("salt")?.map(read);
        let salt = salt.transpose()?;
        let text = salt.as_ref().map_or("", |(text, _)| text);
        place.composed = Some(project.string(text, &value));
        place.also.extend(salt.iter().map(|(_, salt)| (salt.place().0, "")));
    }
    Ok(Some(place))
}
