//! Under which name a step is measured, and how the opening of a socket or a stream is recorded.

use std::rc::Rc;
use std::sync::Arc;

use metrics::{Nanos, Outcome, SeriesId, SeriesKind};
use protocol::http::{Exchange, Hop, Request};

use crate::crew::cell::UserCell;
use crate::crew::group::Group;
use crate::crew::sinks::Traced;
use crate::user::judge::sample;
use crate::user::request::Flight;

/// Under which name a step is measured.
pub(super) struct Issue {
    pub(super) series: SeriesId,
    pub(super) name: Arc<str>,
    pub(super) due: Option<Nanos>,
    pub(super) epoch: u32,
    pub(super) group: Option<Rc<Group>>,
}

impl Issue {
    pub(super) fn new(user: &UserCell, group: Option<Rc<Group>>, name: &str) -> Self {
        let group_name = group.as_ref().map_or_else(|| user.desk.no_group.clone(), |group| group.name.clone());
        let series = user.card.series(&user.desk.recorder, SeriesKind::Request, &group_name, name);
        let name = user.desk.recorder.borrow().key(series).name.clone();
        Self { series, name, due: user.take_due(), epoch: user.epoch(), group }
    }

    pub(super) fn flight(&self, user: &Rc<UserCell>) -> Flight {
        Flight::new(Rc::clone(user), self.series, self.due)
    }

    /// Records an opening with the redirects before it; `refused` says why nothing is open, which fails what the step belongs to. Whoever
    /// follows every step is shown them all, the last where its request was kept.
    pub(super) fn record_opening(
        &self,
        user: &UserCell,
        (request, exchange): (Option<&Request>, &Exchange),
        before: &[Hop],
        refused: Option<&(Outcome, String)>,
    ) {
        let outcome = refused.map_or(Outcome::Passed, |(outcome, _)| *outcome);
        let error = refused.map(|(_, message)| message.as_str());
        let desk = &user.desk;
        {
            let mut recorder = desk.recorder.borrow_mut();
            let sample = sample(exchange, before, self.due, outcome);
            recorder.record(self.series, &sample);
            if let Some(error) = error {
                recorder.failed(self.series, &sample, error);
            }
        }
        if outcome.is_failure() {
            user.note_failure(self.epoch, self.group.as_ref());
        }
        let Some(trace) = &desk.sinks.trace else { return };
        let show = |request: &Request, exchange: &Exchange, outcome: Outcome, error: Option<&str>| {
            let (scenario, name) = (&*user.card.name, &*self.name);
            trace(&Traced { scenario, user: user.number, name, request, exchange, outcome, error });
        };
        before.iter().for_each(|hop| show(&hop.request, &hop.exchange, Outcome::Passed, None));
        if let Some(request) = request {
            show(request, exchange, outcome, error);
        }
    }
}
