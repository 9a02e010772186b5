//! Calls that cannot be sent because of their arguments: a wrong type, option or value.
//!
//! Nothing reaches the target, and less is offered than was asked for. Such a call is therefore recorded like a request that the generator refuses
//! to send, in every protocol. The script receives the error as it was thrown.

use rquickjs::{Ctx, Value};

use super::step::MeasuredStep;
use super::user::UserState;
use crate::realm::{caller_place, thrown};

impl UserState {
    /// Reads the arguments of a call. If that throws, the call is recorded as refused under `step`, and the error is thrown again.
    pub(crate) fn refusing<'js, T>(
        &self,
        ctx: &Ctx<'js>,
        step: impl FnOnce() -> MeasuredStep,
        read: impl FnOnce() -> rquickjs::Result<T>,
    ) -> rquickjs::Result<T> {
        read().map_err(|error| self.refused_call(ctx, step, error))
    }

    /// Records a call whose arguments threw this error. Outside an iteration, nothing can be recorded.
    pub(crate) fn refused_call(&self, ctx: &Ctx<'_>, step: impl FnOnce() -> MeasuredStep, error: rquickjs::Error) -> rquickjs::Error {
        let thrown = thrown(ctx, error);
        if self.is_running() {
            let step = step();
            step.note_place(ctx, self);
            let place = caller_place(ctx, &self.worker.loaded.program).map(|place| format!(" ({place})")).unwrap_or_default();
            step.record_refused(self, &format!("{}{place}", message_of(&thrown)));
            // The call throws this error. No promise takes it.
            self.forget_refusal();
        }
        ctx.throw(thrown)
    }
}

fn message_of(thrown: &Value<'_>) -> String {
    let message = thrown.as_object().and_then(|object| object.get::<_, String>("message").ok());
    message.unwrap_or_else(|| "its arguments cannot be read".to_owned())
}

/// The `name` in the options of a call.
pub(crate) fn own_name(options: Option<&Value<'_>>) -> Option<String> {
    let options = options?.as_object()?;
    match options.get::<_, Value<'_>>("name") {
        Ok(name) => name.as_string()?.to_string().ok(),
        Err(_) => {
            // The getter threw. The error to report is another.
            options.ctx().catch();
            None
        }
    }
}
