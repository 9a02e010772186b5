//! The formats of records. Each is one line of [`FORMATS`].

mod access_log;
mod fields;
mod gatling;
mod jtl;
mod k6;
pub(crate) mod otlp;
mod plugin_lines;
mod printed_csv;
pub(crate) mod proxy;
pub(crate) mod request_name;
mod vegeta;

use crate::error::WatchError;
use crate::record_format::RecordFormat;

/// In the order in which the documentation lists them.
pub(crate) const FORMATS: &[RecordFormat] = &[
    k6::FORMAT,
    jtl::FORMAT,
    plugin_lines::LOCUST,
    vegeta::FORMAT,
    gatling::FORMAT,
    printed_csv::HEY,
    printed_csv::OHA,
    plugin_lines::ARTILLERY,
    plugin_lines::AUTOCANNON,
    access_log::FORMAT,
    otlp::FORMAT,
    proxy::FORMAT,
];

/// The format of this name.
///
/// # Errors
/// Lists the known formats.
pub(crate) fn find(name: &str) -> Result<&'static RecordFormat, WatchError> {
    let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    FORMATS.iter().find(|format| format.name == name).ok_or_else(|| WatchError::UnknownFormat {
        name: name.to_owned(),
        hint: loadstone_units::did_you_mean(name, &known),
        known: known.join(", "),
    })
}
