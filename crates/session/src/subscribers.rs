//! A run's subscribers in order: delivers events, collects their requests, and stores the first failure.

use loadstone_engine::LoadControl;

use crate::directory_writer::DirectoryWriter;
use crate::error::SessionError;
use crate::event::{RunEvent, RunRequests, Subscriber, SubscriberError};

pub(crate) struct Subscribers<'a, 'b> {
    listed: &'a mut [&'b mut dyn Subscriber],
    /// Receives each event last, so that the disk has what the others received.
    writer: DirectoryWriter,
    requests: RunRequests,
    failure: Option<SubscriberError>,
    /// Whether [`Subscribers::new_failure`] has returned it.
    failure_is_known: bool,
}

impl<'a, 'b> Subscribers<'a, 'b> {
    pub(crate) fn new(listed: &'a mut [&'b mut dyn Subscriber], writer: DirectoryWriter) -> Self {
        Self { listed, writer, requests: RunRequests::default(), failure: None, failure_is_known: false }
    }

    /// Delivers the first event, until a subscriber refuses.
    pub(crate) fn start(&mut self, event: &RunEvent<'_>) -> Result<(), SessionError> {
        let mut listed = self.listed.iter_mut();
        listed.try_for_each(|subscriber| subscriber.take(event, &mut self.requests)).map_err(SessionError::Subscriber)
    }

    pub(crate) fn deliver(&mut self, event: &RunEvent<'_>) {
        for subscriber in self.listed.iter_mut() {
            if let Err(error) = subscriber.take(event, &mut self.requests) {
                self.failure.get_or_insert(error);
            }
        }
        if let Err(error) = self.writer.take(event, &mut self.requests) {
            self.failure.get_or_insert(error);
        }
    }

    /// Requests since the last call.
    pub(crate) fn requests(&mut self) -> RunRequests {
        std::mem::take(&mut self.requests)
    }

    /// Only the controls. Marks and lines remain for the next call of [`Subscribers::requests`].
    pub(crate) fn controls(&mut self) -> Vec<LoadControl> {
        std::mem::take(&mut self.requests.controls)
    }

    /// The first failure of any subscriber. Returned once.
    pub(crate) fn new_failure(&mut self) -> Option<&SubscriberError> {
        let was_known = std::mem::replace(&mut self.failure_is_known, self.failure.is_some());
        self.failure.as_ref().filter(|_| !was_known)
    }

    pub(crate) fn into_failure(self) -> Option<SubscriberError> {
        self.failure
    }
}
