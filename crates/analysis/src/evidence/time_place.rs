//! The place in which requests spend most of their time, as a sentence.

use crate::facts::time_place::{TimePlace, TimePlaceKind};

/// As in `Of 2.71 requests in the system on average, 2.31 waited for …`. Without a full stop.
pub(crate) fn sentence(place: &TimePlace<'_>) -> String {
    let number = loadstone_units::number;
    let most = place.request.as_ref().map_or_else(String::new, |request| {
        format!(", most of them \"{}\", which takes {} on average", request.name, loadstone_units::seconds(request.mean_s))
    });
    format!(
        "Of {} requests in the system on average, {} waited for {}{most}",
        number(place.in_system),
        number(place.count.min(place.in_system)),
        awaited(place)
    )
}

/// What the requests wait for, as in `answers of 10.0.0.2:6379 ("redis")`.
pub(crate) fn awaited(place: &TimePlace<'_>) -> String {
    match place.kind {
        TimePlaceKind::Statement => format!("the statement `{}` of \"{}\"", place.name, place.observer),
        TimePlaceKind::Call { under } => {
            let below = under.map_or_else(String::new, |under| format!(" below `{under}`"));
            format!("the network, a disk or another process in `{}`{below}", place.name)
        }
        TimePlaceKind::Endpoint { server } => {
            let which = server.map_or_else(String::new, |server| format!(" (\"{server}\")"));
            let statement = place.statement.map_or_else(String::new, |(name, sessions)| {
                format!(", where {} sessions executed `{name}`", loadstone_units::number(sessions))
            });
            format!("answers of {}{which}{statement}", place.name)
        }
    }
}
