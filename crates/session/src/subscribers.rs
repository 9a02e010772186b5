//! A run's subscribers in their order: delivers events, gathers what they ask for, and remembers the first failure.

use crate::directory_writer::DirectoryWriter;
use crate::error::SessionError;
use crate::event::{RunEvent, RunRequests, Subscriber, SubscriberError};

pub(crate) struct Subscribers<'a, 'b> {
    listed: &'a mut [&'b mut dyn Subscriber],
    /// The last to take an event: what is on disk is what the others were told.
    writer: DirectoryWriter,
    requests: RunRequests,
    failure: Option<SubscriberError>,
}

impl<'a, 'b> Subscribers<'a, 'b> {
    pub(crate) fn new(listed: &'a mut [&'b mut dyn Subscriber], writer: DirectoryWriter) -> Self {
        Self { listed, writer, requests: RunRequests::default(), failure: None }
    }

    /// Delivers the first event, until one of them refuses.
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

    /// What was asked for since the last call.
    pub(crate) fn requests(&mut self) -> RunRequests {
        std::mem::take(&mut self.requests)
    }

    /// The first failure of any of them.
    pub(crate) fn failure(&self) -> Option<&SubscriberError> {
        self.failure.as_ref()
    }

    pub(crate) fn into_failure(self) -> Option<SubscriberError> {
        self.failure
    }
}
