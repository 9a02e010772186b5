//! What the ticket lab is made to do, and what must be found first.

/// Names and values.
pub(in crate::lab) type NamesAndValues = &'static [(&'static str, &'static str)];

/// One run of the lab.
pub(super) struct TicketCase {
    pub(super) name: &'static str,
    /// Environment of the lab's services.
    pub(super) lab: NamesAndValues,
    /// Workers of the generator, where it takes more than one for each core.
    pub(super) workers: Option<u32>,
    pub(super) script: &'static str,
    /// Which request's times are shown.
    pub(super) request: &'static str,
    pub(super) load: NamesAndValues,
    /// What `--long` changes of it.
    pub(super) long: NamesAndValues,
    /// The rule that comes first; none where nothing is wrong.
    pub(super) expected: Option<&'static str>,
}

pub(super) const ISSUING: &str = "issuing";
pub(super) const VALIDATION: &str = "validation";
pub(super) const NOTIFICATIONS: &str = "notifications";

pub(super) const CASES: &[TicketCase] = &[
    TicketCase {
        name: "issuing, 1,000 a minute",
        lab: &[],
        workers: None,
        script: ISSUING,
        request: "Create ticket",
        load: &[],
        long: &[],
        expected: None,
    },
    TicketCase {
        name: "issuing, as many as it takes",
        lab: &[],
        workers: None,
        script: ISSUING,
        request: "Create ticket",
        load: &[("travellers", "40"), ("thinkTime", "0ms"), ("runTime", "30s")],
        long: &[("runTime", "2m")],
        // Twenty connections, each held for the round trips of an operation; on a machine that does other work, the processor comes first.
        expected: Some("connection-pool"),
    },
    TicketCase {
        name: "DB_POOL=2",
        lab: &[("DB_POOL", "2")],
        workers: None,
        script: ISSUING,
        request: "Create ticket",
        load: &[("travellersPerSecond", "50"), ("thinkTime", "100ms"), ("runTime", "60s")],
        long: &[],
        expected: Some("connection-pool"),
    },
    TicketCase {
        name: "3,400 validators",
        lab: &[],
        workers: None,
        script: VALIDATION,
        request: "Tap response",
        load: &[("validators", "3400"), ("runTime", "60s")],
        long: &[("runTime", "10m")],
        expected: None,
    },
    TicketCase {
        name: "PER_CONNECTION_HEAP=high",
        lab: &[("PER_CONNECTION_HEAP", "high")],
        workers: None,
        script: VALIDATION,
        request: "Tap response",
        load: &[("validators", "2000"), ("rampUp", "60s"), ("runTime", "30s")],
        long: &[],
        expected: Some("memory-per-connection"),
    },
    TicketCase {
        name: "SLOW_TAP=1%",
        lab: &[("SLOW_TAP", "1%")],
        workers: None,
        script: VALIDATION,
        request: "Tap response",
        load: &[("validators", "500"), ("rampUp", "10s"), ("runTime", "60s")],
        long: &[],
        expected: Some("two-kinds"),
    },
    TicketCase {
        name: "up to 16,000 validators",
        lab: &[],
        workers: None,
        script: VALIDATION,
        request: "Tap response",
        load: &[("validators", "16000"), ("steps", "8"), ("runTime", "160s")],
        long: &[("runTime", "8m")],
        expected: Some("cpu"),
    },
    TicketCase {
        name: "DROP=10%",
        lab: &[("DROP", "10%")],
        workers: None,
        script: VALIDATION,
        request: "Tap response",
        load: &[("validators", "500"), ("rampUp", "10s"), ("runTime", "60s")],
        long: &[],
        expected: None,
    },
    TicketCase {
        name: "SILENT=10%",
        lab: &[("SILENT", "10%")],
        workers: None,
        script: VALIDATION,
        request: "Tap response",
        load: &[("validators", "500"), ("rampUp", "10s"), ("runTime", "60s")],
        long: &[],
        expected: None,
    },
    // Where a process may open 20,000 files, three of a service and three workers have room for them.
    TicketCase {
        name: "43,000 validators deliver",
        lab: &[("WORKERS", "3")],
        workers: Some(3),
        script: NOTIFICATIONS,
        request: "Deliver",
        load: &[("validators", "43000"), ("decisions", "100"), ("within", "20m")],
        long: &[],
        // As fast as the service takes them, on a machine that has the generator, too.
        expected: Some("cpu"),
    },
];
