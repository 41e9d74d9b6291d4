//! The OpenAPI 3.1 document, generated from the routes and types in use.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

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
        ("HashRequest", with_password(Hash::schema())),
        ("VerifyRequest", with_password(Verify::schema())),
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

/// Adds the two forms of a password, of which one is required.
fn with_password(mut schema: Value) -> Value {
    let one = |is: &str, other: &str| {
        json!({
            "required": [is],
            "properties": { is: { "type": "string" }, other: { "type": "null" } },
        })
    };
    schema["oneOf"] = json!([one("password", "password_hex"), one("password_hex", "password")]);
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
        Op::Health | Op::Ready | Op::Metrics => (None, ("text/plain", "")),
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
            "name": "x-envoy-expected-rq-timeout-ms",
            "in": "header",
            "description": "How long a proxy waits for the answer, in milliseconds.",
            "schema": { "type": "integer", "minimum": 0 },
        }]);
    }
    operation
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
