//! The measurement of a script's step: its name, its start, and its record. The same for every protocol.

use std::rc::Rc;
use std::sync::Arc;

use loadstone_metrics::{ErrorText, FailureSample, Nanos, Outcome, Phases, Recorder, Sample, SeriesId, SeriesKind, TaggedId, Tags};
use loadstone_protocol::Failure;
use rquickjs::Ctx;

use super::group::Group;
use super::user::UserState;

/// A step in progress, for the record when it ends.
pub(crate) struct MeasuredStep {
    pub(crate) series: SeriesId,
    /// When it was due, if that is not its start.
    pub(crate) due: Option<Nanos>,
    /// The iteration it belongs to.
    epoch: u32,
    group: Option<Rc<Group>>,
    /// It is counted and timed. If not, only its failure is recorded.
    counts: bool,
    /// The part of its series that carries its tags.
    tagged: Option<TaggedId>,
}

impl MeasuredStep {
    /// A step of this name. The first step of an iteration in open load counts from when the iteration was due.
    pub(crate) fn named(user: &UserState, group: Option<Rc<Group>>, name: &str) -> Self {
        let series = Self::series(user, group.as_ref(), name);
        Self::of_series(user, group, series)
    }

    pub(crate) fn of_series(user: &UserState, group: Option<Rc<Group>>, series: SeriesId) -> Self {
        Self { series, due: user.take_due(), epoch: user.epoch(), group, counts: user.measures(), tagged: None }
    }

    /// Also counts for the part of its series that carries these tags.
    pub(crate) fn with_tags(mut self, user: &UserState, tags: &Tags) -> Self {
        if !tags.is_empty() && self.counts {
            self.tagged = user.worker.recorder.borrow_mut().tagged(self.series, tags);
        }
        self
    }

    fn count(&self, recorder: &mut Recorder, sample: &Sample) {
        if self.counts {
            record(recorder, self.series, self.tagged, sample);
        }
    }

    /// The series of requests of this name in a group.
    pub(crate) fn series(user: &UserState, group: Option<&Rc<Group>>, name: &str) -> SeriesId {
        let worker = &user.worker;
        let group = group.map_or(&worker.no_group, |group| &group.name);
        user.scenario.series(&worker.recorder, SeriesKind::Request, group, name)
    }

    /// A step of the same iteration and schedule, with another name.
    pub(crate) fn with_name(&self, user: &UserState, name: &str) -> Self {
        let series = Self::series(user, self.group.as_ref(), name);
        Self { series, due: self.due, epoch: self.epoch, group: self.group.clone(), counts: self.counts, tagged: None }
    }

    /// Its name in reports.
    pub(crate) fn name(&self, user: &UserState) -> Arc<str> {
        user.worker.recorder.borrow().key(self.series).name.clone()
    }

    /// Its time in flight, before it begins. The iteration does not end before it.
    pub(crate) fn in_flight(&self, user: &Rc<UserState>) -> StepInFlight {
        user.step_began();
        let mut flight = self.in_background(user, self.due);
        flight.is_awaited = true;
        flight
    }

    /// The same for a background step that is due at another instant.
    pub(crate) fn in_background(&self, user: &Rc<UserState>, due: Option<Nanos>) -> StepInFlight {
        StepInFlight {
            user: Rc::clone(user),
            series: self.series,
            tagged: self.tagged,
            due,
            began: 0,
            ended: false,
            is_awaited: false,
            counts: self.counts,
        }
    }

    /// Records the place of its call, for messages.
    pub(crate) fn note_place(&self, ctx: &Ctx<'_>, user: &UserState) {
        user.scenario.note_place(ctx, &user.worker.loaded.program, self.series);
    }

    /// A sample of it, without phases and bytes.
    pub(crate) fn sample(&self, started: Nanos, ended: Nanos, outcome: Outcome) -> Sample {
        Sample {
            scheduled: self.due.unwrap_or(started),
            started,
            ended: ended.max(started),
            phases: Phases::default(),
            outcome,
            status: 0,
            bytes_sent: 0,
            bytes_received: 0,
            retried: 0,
            trace: None,
        }
    }

    /// The generator refused to send it. The promise of the step is rejected with the error.
    fn refuse(&self, user: &UserState, problem: &str) {
        let place = user.scenario.place_of(self.series).map(|place| format!(" ({place})")).unwrap_or_default();
        user.refuse(format!("\"{}\": {problem}{place}", self.name(user)));
    }

    /// Records the failure of a step that is no request: in the list of errors of its connection. A refusal of the generator is recorded as such.
    pub(crate) fn record_unnamed(user: &UserState, connection: SeriesId, at: Nanos, failure: &Failure) {
        if failure.outcome == Outcome::Unsendable {
            return Self::of_series(user, user.group(), connection).record_refused(user, &failure.message);
        }
        user.worker.recorder.borrow_mut().error(connection, failure.outcome, at, &failure.message);
        user.note_failure(failure.outcome, user.epoch(), user.group().as_ref());
    }

    /// Records a step that the generator refuses to send, before it began.
    pub(crate) fn record_refused(&self, user: &UserState, problem: &str) {
        let now = user.now();
        self.record(user, &self.sample(now, now, Outcome::Unsendable), Some(problem));
    }

    /// Records it. A failure with a message is also added to the list of errors, and fails its iteration and the groups around it.
    pub(crate) fn record(&self, user: &UserState, sample: &Sample, failure: Option<&str>) {
        let mut recorder = user.worker.recorder.borrow_mut();
        self.count(&mut recorder, sample);
        if let Some(failure) = failure {
            recorder.failed(self.series, sample, failure);
        }
        drop(recorder);
        if sample.outcome == Outcome::Unsendable {
            Group::fail(self.group.as_ref());
            self.refuse(user, failure.unwrap_or("it cannot be sent"));
        }
        if sample.outcome.is_failure() {
            user.note_failure(sample.outcome, self.epoch, self.group.as_ref());
        }
    }

    /// Records a failed attempt after which the step is tried again. It does not fail its iteration.
    pub(crate) fn record_retried(&self, user: &UserState, sample: &Sample, failure: &str, answer: Option<impl FnOnce() -> FailureSample>) {
        let mut recorder = user.worker.recorder.borrow_mut();
        self.count(&mut recorder, sample);
        match answer {
            Some(answer) => recorder.failed_with(self.series, sample, failure, answer),
            None => recorder.failed(self.series, sample, failure),
        }
    }

    /// Records one that failed although it was answered. The first few of a kind are stored with their answer.
    pub(crate) fn record_failed<'m>(
        &self,
        user: &UserState,
        sample: &Sample,
        failure: impl Into<ErrorText<'m>>,
        answer: impl FnOnce() -> FailureSample,
    ) {
        let mut recorder = user.worker.recorder.borrow_mut();
        self.count(&mut recorder, sample);
        recorder.failed_with(self.series, sample, failure, answer);
        drop(recorder);
        user.note_failure(sample.outcome, self.epoch, self.group.as_ref());
    }
}

/// A request between its start and its end. If dropped before the end, it records the interruption.
pub(crate) struct StepInFlight {
    user: Rc<UserState>,
    series: SeriesId,
    tagged: Option<TaggedId>,
    due: Option<Nanos>,
    began: Nanos,
    ended: bool,
    /// The script can await it.
    is_awaited: bool,
    counts: bool,
}

impl StepInFlight {
    pub(crate) fn user(&self) -> &Rc<UserState> {
        &self.user
    }

    /// It begins now. Returns the instant.
    pub(crate) fn begin(&mut self) -> Nanos {
        self.began = self.user.now();
        if self.counts {
            self.user.worker.recorder.borrow_mut().request_began(self.began);
        }
        self.began
    }

    pub(crate) fn end(&mut self, at: Nanos) {
        self.ended = true;
        if self.counts {
            self.user.worker.recorder.borrow_mut().request_ended(at);
        }
    }
}

impl Drop for StepInFlight {
    fn drop(&mut self) {
        if !self.ended && self.began > 0 && self.counts {
            self.record_interruption();
        }
        if self.is_awaited {
            self.user.step_ended(self.series);
        }
    }
}

impl StepInFlight {
    fn record_interruption(&self) {
        let now = self.user.now();
        let sample = Sample {
            scheduled: self.due.unwrap_or(self.began),
            started: self.began,
            ended: now,
            phases: Phases::default(),
            outcome: Outcome::Interrupted,
            status: 0,
            bytes_sent: 0,
            bytes_received: 0,
            retried: 0,
            trace: None,
        };
        let mut recorder = self.user.worker.recorder.borrow_mut();
        recorder.request_ended(now);
        record(&mut recorder, self.series, self.tagged, &sample);
    }
}

fn record(recorder: &mut Recorder, series: SeriesId, tagged: Option<TaggedId>, sample: &Sample) {
    recorder.record(series, sample);
    if let Some(tagged) = tagged {
        recorder.record_tagged(tagged, sample);
    }
}
