//! Operations with a promise: a future, and a function that converts its output for the script.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use rquickjs::{Ctx, Function, Persistent, Promise, Value};

use super::operation::Operation;
use super::user::UserState;
use crate::realm::{call_with, thrown};

/// How a script waits for the result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AwaitedBy {
    Promise,
    /// The scenario's function yields at once, and is resumed with the result. If the call returns a promise after all, it awaits that.
    Generator,
}

/// The two ends of a promise that an operation settles.
pub(crate) struct PromiseEnds {
    resolve: Persistent<Function<'static>>,
    reject: Persistent<Function<'static>>,
}

impl PromiseEnds {
    pub(crate) fn new<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<(Promise<'js>, Self)> {
        let (promise, resolve, reject) = ctx.promise()?;
        Ok((promise, Self { resolve: Persistent::save(ctx, resolve), reject: Persistent::save(ctx, reject) }))
    }

    /// Resolves the promise with a value, or rejects it with the thrown error.
    pub(crate) fn settle<'js>(self, ctx: &Ctx<'js>, result: rquickjs::Result<Value<'js>>) -> rquickjs::Result<()> {
        match result {
            Ok(value) => call_with(&self.resolve.restore(ctx)?, &value).map(drop),
            Err(error) => call_with(&self.reject.restore(ctx)?, &thrown(ctx, error)).map(drop),
        }
    }
}

pin_project! {
    /// A future, and a function for its output that runs in the realm.
    struct Settling<F: Future, S> {
        #[pin]
        future: F,
        output: Option<F::Output>,
        settle: Option<S>,
    }
}

impl<F, S> Operation for Settling<F, S>
where
    F: Future,
    S: FnOnce(&Ctx<'_>, F::Output) -> rquickjs::Result<()>,
{
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        this.future.poll(context).map(|output| *this.output = Some(output))
    }

    fn settle(mut self: Pin<Box<Self>>, ctx: &Ctx<'_>) -> rquickjs::Result<()> {
        let this = self.as_mut().project();
        match (this.settle.take(), this.output.take()) {
            (Some(settle), Some(output)) => settle(ctx, output),
            _ => Ok(()),
        }
    }
}

/// A future, and a function that runs in the realm once it has ended. Boxed at once: futures are large, and each move would copy one.
#[inline]
pub(crate) fn settling<F: Future + 'static>(
    future: F,
    settle: impl FnOnce(&Ctx<'_>, F::Output) -> rquickjs::Result<()> + 'static,
) -> Pin<Box<dyn Operation>> {
    Box::pin(Settling { future, output: None, settle: Some(settle) })
}

impl UserState {
    /// Runs a future for this user. The promise resolves with the result of `settle` for its output, or is rejected with the error that
    /// `settle` throws. Interrupting the iteration drops the future.
    #[inline]
    pub(crate) fn promise<'js, F: Future + 'static>(
        self: &Rc<Self>,
        ctx: &Ctx<'js>,
        future: F,
        settle: impl for<'a> FnOnce(&Ctx<'a>, &Rc<UserState>, F::Output) -> rquickjs::Result<Value<'a>> + 'static,
    ) -> rquickjs::Result<Promise<'js>> {
        let (promise, ends) = PromiseEnds::new(ctx)?;
        let user = Rc::clone(self);
        let operation = settling(future, move |ctx: &Ctx<'_>, output| ends.settle(ctx, user.settled(ctx, settle, output)));
        self.submit(operation, &self.realm(ctx)?);
        Ok(promise)
    }

    /// Like [`UserState::promise`]. Returns the promise, or nothing for a generator.
    #[inline]
    pub(crate) fn awaited<'js, F: Future + 'static>(
        self: &Rc<Self>,
        ctx: &Ctx<'js>,
        by: AwaitedBy,
        future: F,
        settle: impl for<'a> FnOnce(&Ctx<'a>, &Rc<UserState>, F::Output) -> rquickjs::Result<Value<'a>> + 'static,
    ) -> rquickjs::Result<Value<'js>> {
        if by == AwaitedBy::Promise {
            return self.promise(ctx, future, settle).map(Promise::into_value);
        }
        let (user, epoch) = (Rc::clone(self), self.epoch());
        let operation = settling(future, move |ctx: &Ctx<'_>, output| {
            let settled = user.settled(ctx, settle, output);
            user.resume(ctx, epoch, settled)
        });
        self.submit(operation, &self.realm(ctx)?);
        self.wait_for_resumption();
        Ok(Value::new_undefined(ctx.clone()))
    }

    /// The result of `settle` for an output.
    fn settled<'js, T>(
        self: &Rc<Self>,
        ctx: &Ctx<'js>,
        settle: impl FnOnce(&Ctx<'js>, &Rc<UserState>, T) -> rquickjs::Result<Value<'js>>,
        output: T,
    ) -> rquickjs::Result<Value<'js>> {
        self.forget_refusal();
        let settled = settle(ctx, self, output);
        // A step that was not sent has no result. This is an error of the script, not of the target.
        let refusal = if settled.is_ok() { self.take_refusal(ctx) } else { None };
        refusal.map_or(settled, Err)
    }
}
