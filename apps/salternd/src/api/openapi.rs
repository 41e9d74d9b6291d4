//! The OpenAPI 3.1 document, generated from the routes and types in use.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::protocol::TIMEOUT_HEADER;
use super::refusal::statuses;
use super::reply::schemas;
use super::request::{BatchLine, Hash, Stored, Verify};
use super::route::{JSON, LINES, Op, ROUTES, Route};
use super::schema::Schema;

/// The document as text.
#[must_use]
pub fn document() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let text = serde_json::to_string_pretty(&value()).unwrap_or_default();
        text + "\n"
    });
    &TEXT
}

fn value() -> Value {
    let mut paths = Map::new();
    // The page is for people, and exists only if it was requested.
    for route in ROUTES.iter().filter(|route| route.op != Op::Dashboard) {
        let method = route.method.to_ascii_lowercase();
        paths.insert(route.path.to_owned(), json!({ method: operation(route) }));
    }
    let requests = [
        ("HashRequest", either(["HashPassword", "HashHexPassword"])),
        ("HashPassword", with_one(Hash::schema(), "password", "password_hex")),
        ("HashHexPassword", with_one(Hash::schema(), "password_hex", "password")),
        ("VerifyRequest", either(["VerifyPassword", "VerifyHexPassword"])),
        ("VerifyPassword", with_one(Verify::schema(), "password", "password_hex")),
        ("VerifyHexPassword", with_one(Verify::schema(), "password_hex", "password")),
        ("StoredRequest", Stored::schema()),
        ("BatchLine", BatchLine::schema()),
    ];
    let all = requests.into_iter().chain(schemas());
    let schemas: Map<_, _> = all.map(|(name, schema)| (name.to_owned(), schema)).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "salternd",
            "description": "Hashes and verifies passwords under the policy of a site.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

/// One of these requests. Each is a type with all of its fields, since generators of clients lose
/// fields that stand beside a `oneOf`.
fn either(names: [&str; 2]) -> Value {
    json!({ "oneOf": names.map(reference) })
}

/// A request with one of the two forms of a password.
fn with_one(mut schema: Value, form: &str, other: &str) -> Value {
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.remove(other);
    }
    schema["properties"][form]["type"] = json!("string");
    if let Some(required) = schema["required"].as_array_mut() {
        required.push(json!(form));
    }
    schema
}

/// The request and the successful answer of a route: content type, and schema by name.
fn shapes(op: Op) -> (Option<(&'static str, &'static str)>, (&'static str, &'static str)) {
    match op {
        Op::Hash => (Some((JSON, "HashRequest")), (JSON, "Hashed")),
        Op::Verify => (Some((JSON, "VerifyRequest")), (JSON, "Verified")),
        Op::NeedsRehash => (Some((JSON, "StoredRequest")), (JSON, "Checked")),
        Op::Rekey => (Some((JSON, "StoredRequest")), (JSON, "Rekeyed")),
        Op::Seal => (Some((JSON, "StoredRequest")), (JSON, "Sealed")),
        Op::Census => (Some((LINES, "StoredRequest")), (JSON, "Counted")),
        Op::Batch => (Some((LINES, "BatchLine")), (LINES, "Line")),
        Op::ForwardAuth | Op::Health | Op::Ready | Op::Metrics => (None, ("text/plain", "")),
        Op::OpenApi => (None, (JSON, "")),
        Op::Dashboard => (None, ("text/html", "")),
    }
}

fn operation(route: &Route) -> Value {
    let (request, (kind, answer)) = shapes(route.op);
    let ok = match (kind, answer) {
        ("text/plain", _) => json!({ "schema": { "type": "string" } }),
        (_, "") => json!({ "schema": { "type": "object" } }),
        (LINES, _) => json!({ "schema": { "type": "string" } }),
        _ => json!({ "schema": reference(answer) }),
    };
    let mut said = json!({ "description": "Done.", "content": { kind: ok } });
    if kind == LINES {
        said["description"] =
            json!("One line for each, as it is done, and one at the end, in the form of `Line`.");
    }
    let mut responses = Map::new();
    responses.insert("200".to_owned(), said);
    for (status, titles) in statuses() {
        if answers(route, status) {
            responses.insert(status.to_string(), problem(status, &titles.join("; or: ")));
        }
    }
    let mut operation = json!({
        "operationId": route.name,
        "summary": route.about,
        "responses": responses,
    });
    if route.op == Op::ForwardAuth {
        forward_auth(&mut operation);
    }
    if !route.rights.is_empty() {
        let rights: Vec<_> =
            route.rights.iter().map(|right| format!("`{}`", right.word())).collect();
        operation["description"] = json!(format!("Needs the right {}.", rights.join(" or ")));
    }
    if let Some((kind, name)) = request {
        let schema = match kind {
            LINES => json!({
                "type": "string",
                "description": format!("One object of `{name}` in each line."),
            }),
            _ => reference(name),
        };
        operation["requestBody"] =
            json!({ "required": true, "content": { kind: { "schema": schema } } });
    }
    if matches!(route.op, Op::Hash | Op::Verify) {
        operation["parameters"] = json!([{
            "name": TIMEOUT_HEADER,
            "in": "header",
            "description": "How long the client, or a proxy, waits for the answer, in milliseconds: what there is \
                            no time for is refused before the body is looked at.",
            "schema": u64::schema(),
        }]);
    }
    operation
}

/// What only the route for proxies has.
fn forward_auth(operation: &mut Value) {
    let text = json!({ "schema": { "type": "string" } });
    operation["parameters"] = json!([{
        "name": "users",
        "in": "query",
        "description": "The name of one of the files of users; without it, the first.",
        "schema": { "type": "string" },
    }, {
        "name": "authorization",
        "in": "header",
        "description": "The user's credentials, in the form of HTTP's basic authentication.",
        "schema": { "type": "string" },
    }]);
    operation["responses"]["200"]["headers"] = json!({ "Remote-User": {
        "description": "The name of the user.",
        "schema": { "type": "string" },
    } });
    operation["responses"]["401"] = json!({
        "description": "There are no credentials, or they are wrong.",
        "content": { "text/plain": text },
        "headers": { "WWW-Authenticate": {
            "description": "What to ask the user for.",
            "schema": { "type": "string" },
        } },
    });
}

/// Whether a route may answer with a problem of this status.
fn answers(route: &Route, status: u16) -> bool {
    match (route.op, status) {
        (_, 404 | 405) => false,
        (Op::Health, _) => false,
        (Op::Ready, status) => status == 503,
        (Op::OpenApi | Op::Metrics, status) => matches!(status, 403 | 429 | 503),
        _ => true,
    }
}

fn problem(status: u16, about: &str) -> Value {
    let mut problem = json!({
        "description": format!("{about}."),
        "content": { "application/problem+json": { "schema": reference("Problem") } },
    });
    if matches!(status, 429 | 503) {
        problem["headers"] = json!({ "Retry-After": {
            "description": "Seconds after which the same request may succeed.",
            "schema": { "type": "integer", "minimum": 1 },
        } });
    }
    problem
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `salternd openapi > docs/openapi.json` regenerates it.
    #[test]
    fn the_document_that_is_checked_in_is_this_one() {
        let path = saltern_testing::program::repository("docs/openapi.json");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        assert!(text == document(), "write it anew: salternd openapi > docs/openapi.json");
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn references(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(fields) => {
                    found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
                    fields.values().for_each(|value| references(value, found));
                }
                Value::Array(values) => values.iter().for_each(|value| references(value, found)),
                _ => {}
            }
        }
        let (document, mut found) = (value(), Vec::new());
        references(&document, &mut found);
        assert!(found.len() > 20, "{found:?}");
        for reference in found {
            let pointer = reference.trim_start_matches('#');
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }
}
