//! Closes channels in an orderly way: when the script does it, and at the end of an iteration.

use std::future::poll_fn;
use std::rc::Rc;

use futures_util::FutureExt;
use futures_util::future::join_all;
use loadstone_metrics::Outcome;
use rquickjs::{Ctx, Promise, Value};

use super::channel::{ChannelEnd, MessageChannel, OpenChannels};
use super::wait::{ChannelWait, WaitedFor};
use crate::runtime::parts::{ClosingWork, KeptState, UserPart};

/// Time limit for the server's answer to a close frame.
const CLOSE_NS: u64 = 5_000_000_000;

/// Waits until a closing channel has ended: until the server has answered the close frame, or for five seconds.
async fn closed(channel: Rc<MessageChannel>) {
    let due = channel.identity.user.now().saturating_add(CLOSE_NS);
    let wait = ChannelWait::new(&channel, WaitedFor::End, false, due);
    poll_fn(|context| wait.poll(context)).await;
    channel.finish(ChannelEnd::broken(Outcome::Closed, "the server did not answer the close frame"));
}

/// `close(code, reason)`.
pub(in crate::protocols) fn close<'js>(
    ctx: &Ctx<'js>,
    channel: &Rc<MessageChannel>,
    code: u16,
    reason: &str,
) -> rquickjs::Result<Promise<'js>> {
    channel.begin_closing(code, reason);
    channel.identity.user.promise(ctx, closed(Rc::clone(channel)), |ctx, _, ()| Ok(Value::new_undefined(ctx.clone())))
}

impl UserPart for OpenChannels {
    fn iteration_returned(&self, kept: KeptState) -> Option<ClosingWork> {
        // A kept socket lives as long as `user.state`, where a script would store it.
        let closing = self.all().into_iter().filter(|channel| !(kept.state && channel.identity.is_kept));
        let closing: Vec<_> = closing.inspect(|channel| channel.begin_closing(1000, "")).map(closed).collect();
        (!closing.is_empty()).then(|| Box::pin(join_all(closing).map(drop)) as _)
    }

    fn abandon(&self) {
        self.take_all().iter().for_each(|channel| channel.leave());
    }
}
