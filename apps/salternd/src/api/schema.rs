//! JSON Schema of the protocol, generated from the types themselves.

use serde_json::{Value, json};

/// A type that has a schema in the document (JSON Schema 2020-12, as in OpenAPI 3.1).
pub(crate) trait Schema {
    /// Whether a field of this type may be left out.
    const OPTIONAL: bool = false;

    fn schema() -> Value;
}

/// A field: its name, its description, its schema, and whether it may be left out.
pub(crate) type Field = (&'static str, String, Value, bool);

/// The schema of an object with these fields and no others.
pub(crate) fn object(about: &str, fields: Vec<Field>) -> Value {
    let required: Vec<_> = fields.iter().filter(|field| !field.3).map(|field| field.0).collect();
    let properties = fields.into_iter().map(|(name, about, mut schema, _)| {
        schema["description"] = json!(about);
        (name.to_owned(), schema)
    });
    json!({
        "type": "object",
        "description": about,
        "properties": properties.collect::<serde_json::Map<_, _>>(),
        "required": required,
        "additionalProperties": false,
    })
}

/// A schema that also allows null, if `optional`: in requests null means the same as leaving the
/// field out.
pub(crate) fn or_null(mut schema: Value, optional: bool) -> Value {
    if optional && let Some(kind) = schema.get("type").filter(|kind| kind.is_string()).cloned() {
        schema["type"] = json!([kind, "null"]);
    }
    schema
}

/// The lines of a documentation comment as one text.
pub(crate) fn prose(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

impl<T: Schema> Schema for Option<T> {
    const OPTIONAL: bool = true;

    fn schema() -> Value {
        T::schema()
    }
}

impl<T: Schema> Schema for Vec<T> {
    const OPTIONAL: bool = true;

    fn schema() -> Value {
        json!({ "type": "array", "items": T::schema() })
    }
}

impl Schema for String {
    fn schema() -> Value {
        json!({ "type": "string" })
    }
}

impl Schema for u64 {
    fn schema() -> Value {
        json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX })
    }
}

impl Schema for std::collections::BTreeMap<String, u64> {
    fn schema() -> Value {
        json!({ "type": "object", "additionalProperties": u64::schema() })
    }
}
