//! Gatling's logs: the text of 3.11, the bytes that `LogFileDataWriter` of 3.13 to 3.15 writes, and a recording of Gatling 3.14.9.

use std::collections::HashMap;

use loadstone_metrics::{Outcome, SeriesKind};
use loadstone_plan::LoadModel;
use loadstone_watch::{ReaderChoices, read_all};

use crate::recordings::{counts, of, unreadable};

const STARTED_MS: u64 = 1_795_889_000_000;

/// Writes a log as Gatling does.
#[derive(Default)]
struct LogWriter {
    bytes: Vec<u8>,
    cache: HashMap<String, i32>,
}

impl LogWriter {
    fn new() -> Self {
        let mut log = Self::default();
        log.bytes.push(0);
        log.string("3.14.9");
        log.string("shop.Checkout");
        log.bytes.extend((STARTED_MS as i64).to_be_bytes());
        log.string("");
        log.int(1);
        log.string("Visit");
        log.int(1);
        // An assertion, as opaque bytes.
        log.int(3);
        log.bytes.extend([7, 8, 9]);
        log
    }

    fn int(&mut self, value: i32) {
        self.bytes.extend(value.to_be_bytes());
    }

    fn string(&mut self, text: &str) {
        self.int(text.len() as i32);
        self.bytes.extend(text.bytes());
        if !text.is_empty() {
            self.bytes.push(0);
        }
    }

    fn cached(&mut self, text: &str) {
        match self.cache.get(text).copied() {
            Some(number) => self.int(-number),
            None => {
                let number = self.cache.len() as i32 + 1;
                self.cache.insert(text.to_owned(), number);
                self.int(number);
                self.string(text);
            }
        }
    }

    fn user(&mut self, is_start: bool, at_ms: i32) {
        self.bytes.push(2);
        self.int(0);
        self.bytes.push(u8::from(is_start));
        self.int(at_ms);
    }

    fn request(&mut self, group: Option<&str>, name: &str, (from_ms, to_ms): (i32, i32), failure: Option<&str>) {
        self.bytes.push(1);
        self.int(i32::from(group.is_some()));
        group.into_iter().for_each(|group| self.cached(group));
        self.cached(name);
        self.int(from_ms);
        self.int(to_ms);
        self.bytes.push(u8::from(failure.is_none()));
        self.cached(failure.unwrap_or(""));
    }

    fn group(&mut self, name: &str, (from_ms, to_ms): (i32, i32), passed: bool) {
        self.bytes.push(3);
        self.int(1);
        self.cached(name);
        self.int(from_ms);
        self.int(to_ms);
        self.int(to_ms - from_ms);
        self.bytes.push(u8::from(passed));
    }

    fn error(&mut self, message: &str, at_ms: i32) {
        self.bytes.push(4);
        self.cached(message);
        self.int(at_ms);
    }
}

fn checkout() -> Vec<u8> {
    let mut log = LogWriter::new();
    log.user(true, 0);
    log.request(Some("Buy"), "Pay", (1_000, 1_250), None);
    log.request(Some("Buy"), "Pay", (2_000, 2_030), Some("status.find.in(200,201), found 503"));
    log.error("No attribute named 'id' is defined", 2_040);
    log.request(None, "Browse", (2_100, 2_110), Some("j.n.ConnectException: Connection refused"));
    log.group("Buy", (1_000, 2_030), false);
    log.user(false, 2_200);
    log.bytes
}

#[test]
fn a_binary_log_has_requests_groups_users_and_messages() {
    let slices = read_all("gatling", ReaderChoices::default(), LoadModel::Users, STARTED_MS * 1_000_000, &checkout()).unwrap();
    let three = [("Pay", Outcome::Passed, 1), ("Pay", Outcome::Status, 1), ("Browse", Outcome::Refused, 1)];
    assert_eq!(counts(&slices, SeriesKind::Request), of(three));
    assert_eq!(counts(&slices, SeriesKind::Group), of([("Buy", Outcome::Step, 1)]));
    assert_eq!(slices.iter().map(|slice| slice.leaves[0].users_active).max(), Some(1));
    let longest = slices.iter().flat_map(|slice| &slice.series).map(|series| series.service.max()).max();
    assert_eq!((longest, unreadable(&slices)), (Some(1_030_000_000), 0));
}

/// Eight users: each sends a request in a group, one to a path that does not exist, and one to a closed port.
#[test]
fn the_log_of_a_real_gatling_is_read() {
    let log = include_bytes!("../recordings/gatling-3.14.9.log");
    let slices = read_all("gatling", ReaderChoices::default(), LoadModel::Arrivals, STARTED_MS * 1_000_000, log).unwrap();
    let requests = [("Pay", Outcome::Passed, 8), ("Gone", Outcome::Status, 8), ("None", Outcome::Refused, 8)];
    assert_eq!(counts(&slices, SeriesKind::Request), of(requests));
    assert_eq!(counts(&slices, SeriesKind::Group), of([("Buy", Outcome::Passed, 8)]));
    let statuses: Vec<(u16, u64)> = slices.iter().flat_map(|slice| &slice.series).flat_map(|series| series.statuses.clone()).collect();
    assert_eq!(statuses.iter().filter(|(status, _)| *status == 404).map(|(_, count)| count).sum::<u64>(), 8);
    assert_eq!(unreadable(&slices), 0);
}

/// A killed Gatling leaves a part of a record, which is no error. A foreign byte ends the reading, and is counted.
#[test]
fn a_binary_log_may_end_anywhere_and_a_wrong_one_is_reported_once() {
    let log = checkout();
    let read = |bytes: &[u8]| read_all("gatling", ReaderChoices::default(), LoadModel::Users, STARTED_MS * 1_000_000, bytes).unwrap();
    for length in 0..log.len() {
        assert_eq!(unreadable(&read(&log[..length])), 0, "cut after {length} bytes");
    }
    let wrong = [log.as_slice(), &[99; 300], log.as_slice()].concat();
    let slices = read(&wrong);
    assert_eq!((counts(&slices, SeriesKind::Request).values().sum::<u64>(), unreadable(&slices)), (3, 1));
}

#[test]
fn a_text_log_has_the_same_entries_and_keeps_a_last_line_without_its_end() {
    let log = format!(
        "RUN\tshop.Checkout\tcheckout\t{STARTED_MS}\t \t3.11.5\nUSER\tVisit\tSTART\t{STARTED_MS}\n\
         REQUEST\tBuy\tPay\t{}\t{}\tOK\t \nnot a line of Gatling\n\
         REQUEST\tBuy\tPay\t{}\t{}\tKO\tstatus.find.in(200,201), found 503",
        STARTED_MS + 1_000,
        STARTED_MS + 1_250,
        STARTED_MS + 2_000,
        STARTED_MS + 2_030
    );
    let slices = read_all("gatling", ReaderChoices::default(), LoadModel::Users, STARTED_MS * 1_000_000, log.as_bytes()).unwrap();
    assert_eq!(counts(&slices, SeriesKind::Request), of([("Pay", Outcome::Passed, 1), ("Pay", Outcome::Status, 1)]));
    assert_eq!(unreadable(&slices), 1);
}
