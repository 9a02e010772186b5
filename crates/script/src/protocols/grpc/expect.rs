//! Expectations on a response (`expect`): its status by name, and those that every protocol has.

use loadstone_protocol::grpc::GrpcStatus;
use loadstone_protocol::http::{Exchange, Response};
use rquickjs::{Ctx, Object, Value};

use crate::protocols::http::expect::{Expectation, JudgedPart, Judgement};
use crate::protocols::options::wrong;
use crate::runtime::user::UserState;
use loadstone_metrics::Outcome;

/// Read once from the options, evaluated when the call has ended.
#[derive(Default)]
pub(super) struct GrpcExpectation {
    /// Empty: OK.
    statuses: Vec<GrpcStatus>,
    /// Header, text, JSON and time.
    rest: Option<Box<Expectation>>,
}

impl GrpcExpectation {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, user: &UserState, options: &Value<'js>) -> rquickjs::Result<Self> {
        let options = options.as_object().ok_or_else(|| wrong(ctx, "expect: expected an object such as { status: \"NOT_FOUND\" }"))?;
        let (mut statuses, rest) = (Vec::new(), Object::new(ctx.clone())?);
        for property in options.props::<String, Value<'js>>() {
            let (key, value) = property?;
            match (key.as_str(), value.as_array()) {
                ("status", Some(list)) => {
                    for item in list.iter::<Value<'js>>() {
                        statuses.push(status(ctx, &item?)?);
                    }
                }
                ("status", None) if !value.is_undefined() => statuses.push(status(ctx, &value)?),
                _ => rest.set(key, value)?,
            }
        }
        let path_of = |path: &str| user.worker.compiled.borrow_mut().json(path).map_err(|error| wrong(ctx, &error.to_string()));
        let is_empty = rest.is_empty();
        let rest = if is_empty { None } else { Some(Box::new(Expectation::read(ctx, &rest, path_of)?)) };
        Ok(Self { statuses, rest })
    }

    pub(super) fn judge_status(&self, status: GrpcStatus) -> Judgement {
        let holds = if self.statuses.is_empty() { status == GrpcStatus::OK } else { self.statuses.contains(&status) };
        let expected = if self.statuses.is_empty() { String::new() } else { format!(", expected {}", self.listed()) };
        (!holds).then(|| (Outcome::Status, format!("status {status}{expected}")))
    }

    fn listed(&self) -> String {
        self.statuses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
    }

    /// The first expectation that fails. `answer`: the metadata with the message as JSON.
    pub(super) fn judge(
        &self,
        ctx: &Ctx<'_>,
        status: GrpcStatus,
        exchange: &Exchange,
        answer: &dyn Fn() -> Response,
    ) -> rquickjs::Result<Judgement> {
        match (self.judge_status(status), &self.rest) {
            (Some(missed), _) => Ok(Some(missed)),
            (None, Some(rest)) => rest.judge(ctx, exchange, &answer()),
            (None, None) => Ok(None),
        }
    }

    /// Every expectation of the script, with the actual value.
    pub(super) fn examine(
        &self,
        ctx: &Ctx<'_>,
        status: GrpcStatus,
        exchange: &Exchange,
        answer: &dyn Fn() -> Response,
    ) -> rquickjs::Result<Vec<JudgedPart>> {
        let mut parts = Vec::new();
        let judgement = self.judge_status(status);
        if judgement.is_some() || !self.statuses.is_empty() {
            let wanted = if self.statuses.is_empty() { "OK".to_owned() } else { self.listed() };
            parts.push(JudgedPart { wanted: format!("status {wanted}"), found: status.to_string(), judgement });
        }
        if let Some(rest) = &self.rest {
            parts.extend(rest.examine(ctx, exchange, &answer())?);
        }
        Ok(parts)
    }
}

fn status<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<GrpcStatus> {
    let name = value.as_string().and_then(|text| text.to_string().ok()).unwrap_or_default();
    name.parse().map_err(|()| {
        let meant = loadstone_units::did_you_mean(&name, GrpcStatus::NAMES);
        wrong(
            ctx,
            &format!(
                "expect.status: expected the name of a status, such as \"NOT_FOUND\"{meant}; they are {}",
                GrpcStatus::NAMES.join(", ")
            ),
        )
    })
}
