//! Renders a stub's statistics as lines of text.

use loadstone_stub::{Recording, RouteCounts, SecondCounts};

/// Adds one second to the total.
pub(super) fn add(total: &mut SecondCounts, second: &SecondCounts) {
    total.calls += second.calls;
    total.answered += second.answered;
    total.rejected += second.rejected;
    total.faulted += second.faulted;
    total.abandoned += second.abandoned;
}

/// The last seconds, and the total so far. `None` if there are no seconds.
pub(super) fn live(seconds: &[SecondCounts], total: &SecondCounts) -> Option<String> {
    let last = seconds.last()?;
    let of = seconds.len() as f64;
    let calls = seconds.iter().map(|second| second.calls).sum::<u64>() as f64 / of;
    let in_flight = seconds.iter().map(|second| second.in_flight_ns as f64 / 1e9).sum::<f64>() / of;
    let most = seconds.iter().map(|second| second.in_flight_max).max().unwrap_or(0);
    Some(format!(
        "{} s · {} · {} in flight (at most {}) · {} answered · {} rejected · {} faulted",
        last.number + 1,
        loadstone_units::rate(calls),
        loadstone_units::number(in_flight),
        loadstone_units::count(most),
        loadstone_units::count(total.answered),
        loadstone_units::count(total.rejected),
        loadstone_units::count(total.faulted),
    ))
}

/// The stub's totals.
pub(super) fn summary(recording: &Recording, served_ns: u64) -> String {
    let seconds = served_ns as f64 / 1e9;
    let calls: u64 = recording.routes.iter().map(|route| route.requests).sum();
    let mut out = format!(
        "Served for {}: {} over {}, at most {} at once\n",
        loadstone_units::seconds(seconds),
        loadstone_units::counted(calls, "call"),
        loadstone_units::counted(recording.connections, "connection"),
        loadstone_units::count(recording.in_flight_max)
    );
    for route in &recording.routes {
        out.push_str(&format!("  {}\n", describe(route, seconds)));
    }
    if recording.unmatched > 0 {
        out.push_str(&format!(
            "  no route matched {}: they were answered with 404\n",
            loadstone_units::counted(recording.unmatched, "call")
        ));
    }
    out
}

fn describe(route: &RouteCounts, seconds: f64) -> String {
    let mut parts =
        vec![loadstone_units::counted(route.requests, "call"), loadstone_units::rate(route.requests as f64 / seconds.max(1e-9))];
    parts.extend(route.endings());
    if route.abandoned > 0 {
        parts.push(format!("{} abandoned by the caller", loadstone_units::count(route.abandoned)));
    }
    if route.answered() > 0 {
        parts.push(format!("{} on average", loadstone_units::seconds(route.served_ns / route.answered() as f64 / 1e9)));
        parts.push(format!("at most {} at once", loadstone_units::count(route.in_flight_max)));
    }
    format!("{}: {}", route.route, parts.join(" · "))
}
