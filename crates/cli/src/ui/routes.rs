//! The requests that the page can send. Their client is web/src/feed/history.ts; docs/ui.md lists them.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;

use crate::commands::init::write_first_test;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use bytes::Bytes;
use loadstone_http_client::{Request as HttpRequest, RequestBody};
use loadstone_report::access::{Loopback, Token, guard};
use loadstone_run_directory::RunError;
use loadstone_script::Missing;
use loadstone_units::text::without_os_numbers;
use serde::{Deserialize, Serialize};

use super::answers::AnswerArchive;
use super::archive::{ArchiveError, RunArchive, RunEdit};
use super::catalogue::{CatalogueError, TestCatalogue, TestFile};
use super::queue::RunQueue;
use super::relay;
use super::run_process::RunOrder;
use super::test_to_start::TestToStart;
use super::work::{OrderedWork, RefusedWork};

/// Maximum size of a request body: a form, a note. Bytes.
const BODY_BYTES_MAX: usize = 256 << 10;
/// Header with the token.
const TOKEN_HEADER: &str = "x-loadstone-token";

#[derive(Clone)]
pub(crate) struct UiState {
    pub(crate) token: Token,
    pub(crate) loopback: Loopback,
    pub(crate) catalogue: Arc<TestCatalogue>,
    pub(crate) archive: Arc<RunArchive>,
    pub(crate) answers: Arc<AnswerArchive>,
    pub(crate) queue: Arc<RunQueue>,
}

pub(crate) async fn serve(listener: TcpListener, shared: UiState) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let api = Router::new()
        .route("/tests", get(tests).post(first_test))
        .route("/queue", get(queue).post(order))
        .route("/queue/{id}", delete(cancel))
        .route("/runs", get(runs))
        .route("/runs/{name}", get(run).patch(describe).delete(remove))
        .route("/answers", get(answers))
        .route("/answers/{id}", get(answer))
        .route("/answers/{id}/runs/{name}", get(run_of_answer))
        .route("/trends/{test}", get(trend))
        .route("/ramps/{name}", get(ramp))
        .route("/comparisons/{baseline}/{candidate}", get(comparison))
        .layer(middleware::from_fn_with_state(shared.clone(), only_with_token));
    let router = Router::new()
        .route("/", get(page))
        .nest("/api", api)
        .route("/live/{id}", get(live))
        .route("/live/{id}/events", get(live_events))
        .route("/live/{id}/control", post(live_control))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(shared.loopback, guard))
        .with_state(shared);
    axum::serve(listener, router).await
}

/// An error response: one sentence, which the page shows verbatim.
struct ErrorResponse(StatusCode, String);

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        (self.0, without_os_numbers(&self.1).into_owned()).into_response()
    }
}

impl From<ArchiveError> for ErrorResponse {
    fn from(error: ArchiveError) -> Self {
        let status = match &error {
            ArchiveError::Run(RunError::NotFound { .. }) | ArchiveError::Missing(_) => StatusCode::NOT_FOUND,
            ArchiveError::Run(_) => StatusCode::INTERNAL_SERVER_ERROR,
            ArchiveError::Wrong(_) => StatusCode::BAD_REQUEST,
            ArchiveError::GoingOn => StatusCode::CONFLICT,
        };
        Self(status, error.to_string())
    }
}

/// Runs blocking work: reading runs and scripts takes time, and other requests are served meanwhile.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ErrorResponse> {
    let broke =
        |_| ErrorResponse(StatusCode::INTERNAL_SERVER_ERROR, "internal error: the terminal of `loadstone ui` has the details".to_owned());
    tokio::task::spawn_blocking(work).await.map_err(broke)
}

async fn only_with_token(State(shared): State<UiState>, request: Request, next: Next) -> Response {
    let given = request.headers().get(TOKEN_HEADER).and_then(|token| token.to_str().ok()).unwrap_or_default();
    if request.method().is_safe() || shared.token.matches(given) {
        return next.run(request).await;
    }
    ErrorResponse(StatusCode::FORBIDDEN, "this page is read-only: open the address that the terminal shows, with its token".to_owned())
        .into_response()
}

#[derive(Deserialize)]
struct TokenQuery {
    #[serde(default)]
    token: String,
}

impl UiState {
    /// The token, for a page whose address contains it. Empty for others.
    fn token_for(&self, query: &TokenQuery) -> &str {
        if self.token.matches(&query.token) { self.token.as_str() } else { "" }
    }
}

async fn page(State(shared): State<UiState>, Query(query): Query<TokenQuery>) -> Html<String> {
    Html(loadstone_report::history_page("/api", shared.token_for(&query)))
}

async fn tests(State(shared): State<UiState>) -> Result<Response, ErrorResponse> {
    let tests = aside(move || shared.catalogue.tests()).await?;
    let tests = tests.map_err(unexpected)?;
    Ok(Json(&*tests).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FirstTestForm {
    target: String,
}

/// Creates the test of `loadstone init` in the folder.
async fn first_test(State(shared): State<UiState>, body: Bytes) -> Result<StatusCode, ErrorResponse> {
    let form: FirstTestForm = read(&body)?;
    let target = form.target.trim().to_owned();
    let work = move || write_first_test(shared.catalogue.folder(), Some(target.as_str()).filter(|target| !target.is_empty()));
    aside(work).await?.map_err(|problem| ErrorResponse(StatusCode::BAD_REQUEST, format!("{problem:#}").replace("--target: ", "")))?;
    Ok(StatusCode::CREATED)
}

async fn queue(State(shared): State<UiState>) -> Response {
    Json(shared.queue.list()).into_response()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OrderForm {
    file: String,
    parameters: BTreeMap<String, String>,
    #[serde(default)]
    work: OrderedWork,
}

/// Form fields whose values the test or the command rejects.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct RefusedFields {
    /// The reason, by parameter name.
    fields: BTreeMap<String, String>,
    /// Why the command rejects the work, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    work: Option<RefusedWork>,
}

/// Queues a run after its test has accepted the form's values. Errors are thus reported immediately, in the words of the test or the command.
async fn order(State(shared): State<UiState>, body: Bytes) -> Result<Response, ErrorResponse> {
    let form: OrderForm = read(&body)?;
    let catalogue = Arc::clone(&shared.catalogue);
    let order = match aside(move || take(&catalogue, form)).await? {
        Ok(order) => order,
        Err(CatalogueError::Fields(fields)) => return Ok(refused(RefusedFields { fields, work: None })),
        Err(CatalogueError::Refused(work)) => return Ok(refused(RefusedFields { fields: BTreeMap::new(), work: Some(work) })),
        Err(problem) => return Err(ErrorResponse(StatusCode::BAD_REQUEST, problem.to_string())),
    };
    shared.queue.add(order).map_err(|problem| ErrorResponse(StatusCode::SERVICE_UNAVAILABLE, problem.to_string()))?;
    Ok(StatusCode::ACCEPTED.into_response())
}

fn refused(fields: RefusedFields) -> Response {
    (StatusCode::UNPROCESSABLE_ENTITY, Json(fields)).into_response()
}

fn take(catalogue: &TestCatalogue, form: OrderForm) -> Result<RunOrder, CatalogueError> {
    if let OrderedWork::Url { .. } = form.work {
        form.work.check_url(&form.file).map_err(CatalogueError::Refused)?;
        let (path, name) = (form.file.clone().into(), form.file.clone());
        return Ok(RunOrder {
            file: form.file,
            path,
            name,
            parameters: BTreeMap::new(),
            secret: Vec::new(),
            work: form.work,
            is_k6: false,
        });
    }
    let (path, test) = catalogue.find(&form.file)?;
    test.check(&form.parameters)?;
    let loaded = TestToStart::load(&path, catalogue.permissions(), &form.parameters, Missing::Refused)?;
    catalogue.hide(&loaded.plan.secrets);
    form.work.check(&form.file, &loaded).map_err(CatalogueError::Refused)?;
    let secret = test.parameters.iter().filter(|parameter| parameter.secret).map(|parameter| parameter.name.clone()).collect();
    let TestFile { name, is_k6, .. } = test;
    Ok(RunOrder { file: form.file, path, name, parameters: form.parameters, secret, work: form.work, is_k6 })
}

async fn cancel(State(shared): State<UiState>, Path(id): Path<String>) -> Result<StatusCode, ErrorResponse> {
    if shared.queue.cancel(&id) {
        Ok(StatusCode::ACCEPTED)
    } else {
        Err(ErrorResponse(StatusCode::NOT_FOUND, "the run is no longer in the queue".to_owned()))
    }
}

async fn runs(State(shared): State<UiState>) -> Result<Response, ErrorResponse> {
    let rows = aside(move || shared.archive.rows()).await??;
    Ok(Json(rows).into_response())
}

async fn run(State(shared): State<UiState>, Path(name): Path<String>) -> Result<Response, ErrorResponse> {
    Ok(as_json(aside(move || shared.archive.view(&name, None)).await??))
}

/// A run that belongs to an experiment or a search.
async fn run_of_answer(State(shared): State<UiState>, Path((id, name)): Path<(String, String)>) -> Result<Response, ErrorResponse> {
    let view = aside(move || {
        let folder = shared.answers.folder(&id).ok_or_else(|| ArchiveError::Missing(format!("there is no {id}")))?;
        shared.archive.view(&name, Some(&folder))
    });
    Ok(as_json(view.await??))
}

async fn answers(State(shared): State<UiState>) -> Result<Response, ErrorResponse> {
    Ok(Json(aside(move || shared.answers.rows()).await?).into_response())
}

async fn answer(State(shared): State<UiState>, Path(id): Path<String>) -> Result<Response, ErrorResponse> {
    Ok(as_json(aside(move || shared.answers.page(&id)).await??))
}

async fn trend(State(shared): State<UiState>, Path(test): Path<String>) -> Result<Response, ErrorResponse> {
    Ok(as_json(aside(move || shared.answers.trend(&test)).await??))
}

async fn ramp(State(shared): State<UiState>, Path(name): Path<String>) -> Result<Response, ErrorResponse> {
    Ok(as_json(aside(move || shared.answers.ramp(&name)).await??))
}

async fn comparison(State(shared): State<UiState>, Path((baseline, candidate)): Path<(String, String)>) -> Result<Response, ErrorResponse> {
    Ok(as_json(aside(move || shared.answers.comparison(&baseline, &candidate)).await??))
}

fn as_json(body: impl Into<axum::body::Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body.into()).into_response()
}

async fn describe(State(shared): State<UiState>, Path(name): Path<String>, body: Bytes) -> Result<StatusCode, ErrorResponse> {
    let change: RunEdit = read(&body)?;
    let written = aside(move || {
        // Reading the tests registers their secrets. An unreadable folder has none.
        let _ = shared.catalogue.tests();
        shared.archive.describe(&name, change, shared.catalogue.secrets())
    });
    written.await??;
    Ok(StatusCode::NO_CONTENT)
}

async fn remove(State(shared): State<UiState>, Path(name): Path<String>) -> Result<StatusCode, ErrorResponse> {
    aside(move || shared.archive.remove(&name)).await??;
    Ok(StatusCode::NO_CONTENT)
}

fn read<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, ErrorResponse> {
    serde_json::from_slice(body).map_err(|problem| ErrorResponse(StatusCode::BAD_REQUEST, format!("unexpected request body: {problem}")))
}

/// The live page of a run in progress. Redirects to the list once the run has ended.
async fn live(State(shared): State<UiState>, Path(id): Path<String>, Query(query): Query<TokenQuery>) -> Response {
    let token = shared.token_for(&query);
    let home = if token.is_empty() { "/".to_owned() } else { format!("/?token={token}") };
    match shared.queue.live(&id) {
        Some(_) => {
            Html(loadstone_report::live_page(&format!("/live/{id}/events"), &format!("/live/{id}/control"), token, &home)).into_response()
        }
        None => Redirect::to(&home).into_response(),
    }
}

const OVER: &str = "the run is over";

async fn live_events(State(shared): State<UiState>, Path(id): Path<String>, headers: HeaderMap) -> Result<Response, ErrorResponse> {
    let live = shared.queue.live(&id).ok_or_else(|| ErrorResponse(StatusCode::GONE, OVER.to_owned()))?;
    let mut request = HttpRequest::get("/events").body(RequestBody::default()).map_err(unexpected)?;
    if let Some(accept) = headers.get(header::ACCEPT) {
        request.headers_mut().insert(header::ACCEPT, accept.clone());
    }
    relay::pass(live.address, request).await.map_err(|problem| ErrorResponse(StatusCode::BAD_GATEWAY, problem))
}

/// The page sends this server's token. The run gets its own token.
async fn live_control(State(shared): State<UiState>, Path(id): Path<String>, body: Bytes) -> Result<Response, ErrorResponse> {
    let mut command: serde_json::Map<String, serde_json::Value> = read(&body)?;
    let given = command.get("token").and_then(serde_json::Value::as_str).unwrap_or_default();
    if !shared.token.matches(given) {
        return Err(ErrorResponse(
            StatusCode::FORBIDDEN,
            "this page is read-only: open it from the address that the terminal shows".to_owned(),
        ));
    }
    let live = shared.queue.live(&id).ok_or_else(|| ErrorResponse(StatusCode::GONE, OVER.to_owned()))?;
    command.insert("token".to_owned(), live.token.into());
    let body = RequestBody::from(serde_json::to_vec(&command).map_err(unexpected)?);
    let request = HttpRequest::post("/control").header(header::CONTENT_TYPE, "application/json").body(body).map_err(unexpected)?;
    relay::pass(live.address, request).await.map_err(|problem| ErrorResponse(StatusCode::BAD_GATEWAY, problem))
}

fn unexpected(problem: impl std::fmt::Display) -> ErrorResponse {
    ErrorResponse(StatusCode::INTERNAL_SERVER_ERROR, problem.to_string())
}
