//! State of HTTP: a session for each user, base URL and headers for each scenario, prepared calls for each realm.

use std::rc::Rc;

use loadstone_protocol::http::{
    BodyUse, Client, HttpSession, Origin, SessionOptions, UrlError, basic_authorization, path_prefix, resolve, resolve_below,
};
use loadstone_protocol::{AllowedHosts, HostPattern};
use rquickjs::{Class, Ctx, Object, Persistent};
use url::Url;

use super::calls::PreparedCalls;
use super::methods::METHODS;
use super::response::ResponseObject;
use super::retry_policy::RetryPolicy;
use crate::error::ScriptError;
use crate::loaded::Loaded;
use crate::natives::unix_path;
use crate::runtime::parts::{KeptState, UserPart};
use crate::runtime::user::UserState;

/// Connections and cookies of one user.
pub(crate) struct HttpUser {
    pub(crate) session: HttpSession,
}

impl HttpUser {
    pub(crate) fn of(user: &UserState) -> Rc<Self> {
        user.part(Self::new)
    }

    fn new(user: &UserState) -> Self {
        let client = Client::new(user.network(), user.worker.loaded.settings.connections());
        let scenario = HttpScenario::of(user);
        let options = SessionOptions {
            timeout_ns: user.scenario.timeout_ns,
            body_use: BodyUse::Keep,
            body_bytes_max: scenario.body_bytes_max,
            redirect_hosts: scenario.redirect_hosts.clone(),
            ..SessionOptions::default()
        };
        Self { session: HttpSession::new(client, options) }
    }
}

impl UserPart for HttpUser {
    fn iteration_began(&self, kept: KeptState) {
        if !kept.connections {
            self.session.client().close();
        }
        if !kept.cookies {
            self.session.clear_cookies();
        }
    }
}

/// The base that relative URLs are resolved against.
#[derive(Debug)]
pub(crate) struct BaseUrl {
    /// Without its user name and password, which only its own origin receives.
    pub(crate) url: Url,
    pub(crate) origin: Rc<Origin>,
    authorization: Option<String>,
}

impl BaseUrl {
    fn new(text: &str) -> Result<Self, ScriptError> {
        let mut url = resolve(None, text).map_err(|error| ScriptError::new(format!("target: {error}")))?;
        let (origin, authorization) = (Rc::new(Origin::of(&url)), basic_authorization(&url));
        // These only fail for URLs that cannot have a user name.
        let _ = (url.set_username(""), url.set_password(None));
        Ok(Self { url, origin, authorization })
    }

    /// The path that precedes each relative path. Empty for a bare origin.
    pub(crate) fn prefix(&self) -> &str {
        path_prefix(&self.url)
    }
}

/// State that the requests of one scenario share.
pub(crate) struct HttpScenario {
    pub(crate) base: Option<BaseUrl>,
    /// The test's and the scenario's, merged.
    pub(crate) headers: Vec<(String, String)>,
    /// Value of the `Authorization` header for the base's origin.
    pub(crate) authorization: Option<String>,
    pub(crate) redirects: u32,
    /// The hosts that the test names, and those that its options allow.
    pub(crate) redirect_hosts: AllowedHosts,
    pub(crate) body_bytes_max: u64,
    /// The test's policy.
    pub(super) retry: Option<RetryPolicy>,
}

impl HttpScenario {
    pub(crate) fn of(user: &UserState) -> &Self {
        user.scenario.parts.get()
    }

    /// The URL of a call of the scenario.
    pub(super) fn url(&self, written: &str) -> Result<Url, UrlError> {
        resolve_below(self.base.as_ref().map(|base| &base.url), written)
    }

    pub(super) fn new(loaded: &Loaded, index: usize) -> Result<Self, ScriptError> {
        let (test, own) = (&loaded.settings, &loaded.settings.scenarios[index]);
        let target = own.target.as_deref().or(loaded.plan.target.as_deref());
        let mut headers = test.headers.clone();
        for (name, value) in &own.headers {
            set_header(&mut headers, name, value);
        }
        // Whatever the host is: a Unix socket serves all hosts.
        let target = target.map(|target| if unix_path(target).is_some() { "http://localhost" } else { target });
        let base = target.map(BaseUrl::new).transpose()?;
        let of_target = base.as_ref().and_then(|base| base.authorization.clone());
        Ok(Self {
            base,
            headers,
            authorization: own.auth.as_ref().or(test.auth.as_ref()).map(|auth| auth.header()).or(of_target),
            redirects: test.redirects,
            redirect_hosts: redirect_hosts(loaded)?,
            body_bytes_max: loaded.plan.options.body_bytes_max,
            retry: test.retry.as_ref().map(RetryPolicy::of).transpose()?,
        })
    }
}

/// The hosts of all targets, and those that the test's options and the user permit.
fn redirect_hosts(loaded: &Loaded) -> Result<AllowedHosts, ScriptError> {
    let targets = loaded.settings.targets().chain(loaded.plan.target.as_deref()).filter_map(|target| resolve(None, target).ok());
    let of_targets = targets.map(|url| HostPattern::host(&Origin::of(&url).host));
    Ok(AllowedHosts::only(of_targets.chain(loaded.settings.redirect_hosts()?).chain(loaded.inputs.permissions.net.iter().cloned())))
}

/// Sets a header, and replaces it under any letter case. The name is sent as written last.
pub(super) fn set_header(headers: &mut Vec<(String, String)>, name: &str, value: &str) {
    match headers.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        Some(line) => {
            name.clone_into(&mut line.0);
            value.clone_into(&mut line.1);
        }
        None => headers.push((name.to_owned(), value.to_owned())),
    }
}

/// State that the users of one realm share.
pub(super) struct HttpRealm {
    pub(super) calls: PreparedCalls,
    /// Looked up once for all responses.
    pub(super) response_prototype: Persistent<Object<'static>>,
    /// Strings of [`METHODS`], shared by all requests.
    pub(super) methods: [Rc<str>; METHODS.len()],
}

impl HttpRealm {
    pub(super) fn new(ctx: &Ctx<'_>) -> rquickjs::Result<Self> {
        let prototype = Class::<ResponseObject>::prototype(ctx)?.unwrap_or(Object::new(ctx.clone())?);
        Ok(Self { calls: PreparedCalls::new(ctx)?, response_prototype: Persistent::save(ctx, prototype), methods: METHODS.map(Rc::from) })
    }
}
