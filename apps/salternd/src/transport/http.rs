//! From HTTP requests to operations, and from answers to HTTP.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64ct::{Base64, Encoding};
use hyper::body::{Body as _, Incoming};
use hyper::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, EXPECT, HOST, HeaderValue, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Uri, Version};
use saltern_wipe::Zeroizing;

use super::body_budget::BodyBudget;
use super::limits::Limits;
use super::lines::BodyLines;
use crate::api::{JSON, LINES, Op, Problem, Reason, Route, TIMEOUT_HEADER, find};
use crate::body::{Body, Pieces, piece, whole};
use crate::handlers::{
    Access, Call, Credentials, RequestContext, batch, census, forward_auth, single,
};
use crate::site::{Peer, Phase, State, metrics_text};

/// The state that every listener needs.
pub(crate) struct Service {
    pub(crate) state: Arc<State>,
    pub(crate) limits: Limits,
    /// Whether there is a page for people.
    dashboard: bool,
    bodies: Arc<BodyBudget>,
}

impl Service {
    pub(crate) fn new(state: &Arc<State>, limits: Limits, dashboard: bool) -> Self {
        let (state, bodies) = (Arc::clone(state), Arc::new(BodyBudget::new(&limits)));
        Service { state, limits, dashboard, bodies }
    }
}

/// Answers a request.
pub(crate) async fn respond(
    service: &Service,
    peer: &Peer,
    request: Request<Incoming>,
) -> Response<Body> {
    let received = Instant::now();
    if let Err(problem) = has_one_host(&request) {
        return refuse_all(service, &problem);
    }
    let route = find(request.uri().path());
    let Some(route) = route.filter(|route| route.op != Op::Dashboard || service.dashboard) else {
        let detail = "see /v1/openapi.json for the paths that exist";
        return refuse(service, &Problem::new(Reason::NotFound, detail));
    };
    let head = route.method == "GET" && request.method() == Method::HEAD;
    if request.method().as_str() != route.method && !head {
        let detail = format!("{} needs the method {}", route.path, route.method);
        let mut response = refuse(service, &Problem::new(Reason::Method, detail));
        let allowed = if route.method == "GET" { "GET, HEAD" } else { route.method };
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        return response;
    }
    if let (Peer::Anybody { .. }, Err(problem)) = (peer, is_local(request.headers())) {
        service.state.metrics.count(route.op, problem.outcome(), received.elapsed());
        return refuse(service, &problem);
    }
    match route.op {
        Op::Health => plain(200, "text/plain", "alive\n"),
        Op::Ready => ready(&service.state),
        _ => match begin(service, peer, route, &request, received) {
            Ok(call) => match call.has_time() {
                Ok(()) => Box::pin(run(service, call, request)).await,
                Err(problem) => too_late(service, call, problem, request.into_body()).await,
            },
            Err(problem) => {
                service.state.metrics.count(route.op, problem.outcome(), received.elapsed());
                refuse(service, &problem)
            }
        },
    }
}

/// Identifies the client and checks its rights, before the body is read.
fn begin(
    service: &Service,
    peer: &Peer,
    route: &'static Route,
    request: &Request<Incoming>,
    received: Instant,
) -> Result<Call, Problem> {
    let headers = request.headers();
    content_type(route, headers)?;
    let (context, timeout) = (RequestContext::of(&service.state, peer)?, timeout(headers)?);
    let mut call = Call::begin(route.op, context, peer, received)?;
    (call.timeout, call.trace) = (timeout, trace(headers));
    Ok(call)
}

/// Refuses a request for which there is no time, whatever its body says. All of that is read first
/// and given up, so that the connection can be kept: usually it came with the head.
async fn too_late(
    service: &Service,
    call: Call,
    problem: Problem,
    mut body: Incoming,
) -> Response<Body> {
    service.state.crowd();
    let response = end(call, Err(problem));
    let limit = service.limits.body;
    let skipped = async {
        let mut length = 0;
        while length <= limit
            && let Ok(Some(piece)) = piece(&mut body).await
        {
            length += piece.len();
        }
    };
    let _ = tokio::time::timeout(service.limits.body_time, skipped).await;
    unread(response, body)
}

async fn run(service: &Service, call: Call, request: Request<Incoming>) -> Response<Body> {
    let expects = request.headers().contains_key(EXPECT);
    let (limits, (head, body)) = (&service.limits, request.into_parts());
    match call.op {
        Op::Batch => {
            let lines =
                BodyLines::new(body, limits.body_time, &service.bodies, &call.context.client.name);
            let (sender, receiver) = tokio::sync::mpsc::channel(16);
            tokio::spawn(batch(call, lines, sender));
            let mut pieces = Pieces::new(receiver);
            if expects {
                // It sends no lines before it is told to go on, which it is once they are read, but
                // never after the head of the answer.
                pieces.begin().await;
            }
            respond_with(200, LINES, Body::Stream(pieces))
        }
        Op::Census => {
            let mut lines =
                BodyLines::new(body, limits.body_time, &service.bodies, &call.context.client.name);
            let result = census(&call, &mut lines).await;
            end(call, result)
        }
        Op::Metrics => {
            let text = metrics_text(&call.context.state);
            call.done();
            plain(200, "text/plain; version=0.0.4; charset=utf-8", text)
        }
        Op::OpenApi => {
            call.done();
            plain(200, JSON, crate::api::document())
        }
        Op::Dashboard => {
            call.done();
            dashboard()
        }
        Op::ForwardAuth => match users(&head.uri) {
            Ok(users) => access(forward_auth(call, users, credentials(&head.headers)).await),
            Err(problem) => end(call, Err(problem)),
        },
        _ => {
            let size = body.size_hint().upper().map_or(limits.body, |size| size as usize);
            let mut body = body;
            let _taken = match service.bodies.take(&call.context.client.name, size) {
                Ok(taken) => taken,
                Err(problem) => return unread(end(call, Err(problem)), body),
            };
            match whole(&mut body, limits.body, limits.body_time).await {
                Ok(body) => {
                    let result = single(&call, &body).await;
                    end(call, result)
                }
                Err(problem) => unread(end(call, Err(problem)), body),
            }
        }
    }
}

/// An answer to a request whose body has not been read to its end: the last one of its connection.
/// What still arrives is read for a moment: a connection that is closed over unread bytes is reset,
/// and the client may lose the answer.
fn unread(mut response: Response<Body>, mut body: Incoming) -> Response<Body> {
    const TIME: Duration = Duration::from_secs(2);
    const MOST: usize = 4 << 20;
    if body.is_end_stream() {
        return response;
    }
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    tokio::spawn(tokio::time::timeout(TIME, async move {
        let mut left = MOST;
        while let Ok(Some(piece)) = piece(&mut body).await
            && left > 0
        {
            left = left.saturating_sub(piece.len());
        }
    }));
    response
}

/// Refuses requests with several values for `Host`, or none: two programs could read them in two
/// ways (RFC 9112, section 3.2).
fn has_one_host<B>(request: &Request<B>) -> Result<(), Problem> {
    match request.headers().get_all(HOST).iter().count() {
        1 => Ok(()),
        0 if request.version() < Version::HTTP_11 => Ok(()),
        count => Err(Problem::malformed(format!("the request has {count} `Host` headers, not 1"))),
    }
}

/// The page, which requests only `/metrics`, and cannot be framed by other sites.
fn dashboard() -> Response<Body> {
    let mut response = plain(200, "text/html; charset=utf-8", include_str!("dashboard.html"));
    let policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                  img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
                  frame-ancestors 'none'";
    let policy = HeaderValue::from_static(policy);
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    response
}

fn end(call: Call, result: Result<crate::api::Answer, Problem>) -> Response<Body> {
    let response = match &result {
        Ok(answer) => plain(200, JSON, serde_json::to_vec(answer).unwrap_or_default()),
        Err(problem) => of_problem(problem),
    };
    call.end(&result);
    response
}

/// Whether requests can be served, and if not, why.
fn ready(state: &State) -> Response<Body> {
    let problem = match (state.phase(), state.ready()) {
        (Phase::Ending, _) => Problem::new(Reason::Ending, "no more requests are accepted"),
        (_, Err(starting)) => starting,
        (_, Ok(current)) => match current.passwords.damaged_roms().first() {
            Some(damage) => Problem::new(Reason::Unavailable, damage.clone()),
            None => return plain(200, "text/plain", "ready\n"),
        },
    };
    of_problem(&problem)
}

/// The file of users that the query of an address names. Any other query is refused: a misspelled
/// one must not ask another file.
fn users(uri: &Uri) -> Result<Option<&str>, Problem> {
    let Some(query) = uri.query() else { return Ok(None) };
    let name = query.strip_prefix("users=").filter(|name| !name.contains(['&', '%', '+']));
    let wrong = || Problem::new(Reason::BadInput, "the query must be users=NAME, or none");
    name.map(Some).ok_or_else(wrong)
}

/// The credentials of HTTP's basic authentication (RFC 7617), if there are any. A name that is not
/// UTF-8 is empty, and nobody's.
fn credentials(headers: &HeaderMap) -> Option<Credentials> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (value, None) = (values.next()?.as_bytes(), values.next()) else { return None };
    let (scheme, digits) = value.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    let digits = digits.trim_ascii();
    let mut bytes = Zeroizing::new(vec![0; digits.len() / 4 * 3]);
    let decoded = Base64::decode(digits, &mut bytes).ok()?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    let user = std::str::from_utf8(&decoded[..colon]).unwrap_or_default().to_owned();
    Some(Credentials { user, password: Zeroizing::new(decoded[colon + 1..].to_vec()) })
}

/// The answer to a proxy.
fn access(result: Result<Access, Problem>) -> Response<Body> {
    let (status, name, value) = match result {
        Ok(Access::Granted { user }) => (200, "remote-user", HeaderValue::try_from(user)),
        Ok(Access::Denied { realm }) => {
            let challenge = format!("Basic realm=\"{realm}\", charset=\"UTF-8\"");
            (401, "www-authenticate", HeaderValue::try_from(challenge))
        }
        Err(problem) => return of_problem(&problem),
    };
    let mut response = plain(status, "text/plain", "");
    if let Ok(value) = value {
        response.headers_mut().insert(name, value);
    }
    response
}

/// A deadline passed on by a proxy.
fn timeout(headers: &HeaderMap) -> Result<Option<Duration>, Problem> {
    let Some(value) = headers.get(TIMEOUT_HEADER) else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.parse().ok());
    let number =
        number.ok_or_else(|| Problem::malformed(format!("{TIMEOUT_HEADER} must be a number")))?;
    Ok(Some(Duration::from_millis(number)))
}

/// Refuses requests that a page of another site could make a browser send without a preflight.
fn content_type(route: &Route, headers: &HeaderMap) -> Result<(), Problem> {
    if route.method != "POST" {
        return Ok(());
    }
    let wanted = if route.op.is_in_lines() { LINES } else { JSON };
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let given = given.split(';').next().unwrap_or("").trim();
    if !given.eq_ignore_ascii_case(wanted) {
        return Err(Problem::new(Reason::MediaType, format!("{} takes {wanted}", route.path)));
    }
    let plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    if !headers.get_all(CONTENT_ENCODING).iter().all(plain) {
        let detail = "bodies must not be compressed: leave out `Content-Encoding`";
        return Err(Problem::new(Reason::MediaType, detail));
    }
    Ok(())
}

/// Refuses requests that a browser sends to a foreign name for this address: on a listener without
/// authentication, pages of other sites must not get through.
fn is_local(headers: &HeaderMap) -> Result<(), Problem> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("");
    let authority = host.parse::<hyper::http::uri::Authority>();
    let name = authority.as_ref().map_or("", |authority| authority.host());
    let address = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    if name == "localhost" || address.is_ok_and(|address| address.is_loopback()) {
        return Ok(());
    }
    Err(Problem::new(Reason::Forbidden, "the host must be localhost or a loopback address"))
}

/// The trace that a request is part of (W3C trace context): 32 hexadecimal digits.
fn trace(headers: &HeaderMap) -> Option<String> {
    let parent = headers.get("traceparent")?.to_str().ok()?;
    let id = parent.split('-').nth(1)?;
    let hex = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    hex.then(|| id.to_owned())
}

/// Refuses a request, and every other on its connection.
pub(super) fn refuse_all(service: &Service, problem: &Problem) -> Response<Body> {
    let mut response = refuse(service, problem);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

fn refuse(service: &Service, problem: &Problem) -> Response<Body> {
    service.state.metrics.problem(problem);
    of_problem(problem)
}

fn of_problem(problem: &Problem) -> Response<Body> {
    let mut response = plain(problem.status, "application/problem+json", problem.text());
    if let Some(seconds) = problem.retry_seconds() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

fn plain(status: u16, kind: &'static str, body: impl Into<hyper::body::Bytes>) -> Response<Body> {
    respond_with(status, kind, Body::Whole(Some(body.into())))
}

fn respond_with(status: u16, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
