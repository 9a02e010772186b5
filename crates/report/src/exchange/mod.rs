//! One request and its response, shown completely: the output of `loadstone try`.
//!
//! Read [`ExchangeView`] first. Values that look like secrets are masked, see [`loadstone_secrets::exchange`].

mod body;
mod message;

pub use message::{MessageView, message};

use loadstone_metrics::{Outcome, Phases};
use loadstone_secrets::exchange as mask;

use crate::terminal::{Paint, Style, hang, shorten, tame, width_of};

/// The shown parts of one exchange. Times are nanoseconds.
#[derive(Debug, Clone)]
pub struct ExchangeView {
    pub scenario: String,
    /// Name of the request in the report.
    pub name: String,
    pub method: String,
    pub url: String,
    pub request_headers: Vec<(String, String)>,
    pub request_body: Vec<u8>,
    /// `None` if there was no response.
    pub response: Option<ResponseView>,
    pub outcome: Outcome,
    /// The error; empty otherwise.
    pub problem: String,
    /// The expectations of the response, and whether they hold.
    pub expectations: Vec<ExpectationView>,
    pub response_ns: u64,
    pub phases: Phases,
    /// Whether a connection was opened for the request.
    pub connected: bool,
}

#[derive(Debug, Clone)]
pub struct ExpectationView {
    pub wanted: String,
    pub found: String,
    pub holds: bool,
}

#[derive(Debug, Clone)]
pub struct ResponseView {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// Decompressed.
    pub body: Vec<u8>,
    /// Bytes on the wire, headers included.
    pub bytes_received: u64,
}

/// The exchange for a terminal, ending in a blank line.
pub fn exchange(view: &ExchangeView, style: &Style) -> String {
    let mut out = format!("{}\n", rule(&format!("{} › {}", view.scenario, view.name), style));
    let url = mask::url(&view.url);
    out.push_str(&format!("{} {}\n", style.paint(Paint::Bold, &format!("→ {}", tame(&view.method))), tame(&url)));
    headers(&view.request_headers, style, &mut out);
    out.push_str(&body::render(&view.request_body, &view.request_headers, style));
    match &view.response {
        Some(response) => responded(view, response, style, &mut out),
        None => {
            let lead = format!("✗ {}: ", view.outcome.label());
            out.push_str(&hang(&style.paint(Paint::Bad, &lead), width_of(&lead), &view.problem, style.width));
        }
    }
    out.push_str(&phases(view, style));
    out.push('\n');
    out
}

fn responded(view: &ExchangeView, response: &ResponseView, style: &Style, out: &mut String) {
    // Protocols without a status have only the outcome.
    let (good, status) = match response.status {
        0 if view.outcome.is_failure() => (false, "failed".to_owned()),
        0 => (true, view.outcome.label().to_owned()),
        status => (status < 400, status.to_string()),
    };
    let status = style.paint(if good { Paint::Good } else { Paint::Bad }, &format!("← {status}"));
    out.push_str(&format!(
        "{status} · {} · {}\n",
        loadstone_units::seconds(view.response_ns as f64 / 1e9),
        loadstone_units::bytes(response.bytes_received)
    ));
    headers(&response.headers, style, out);
    out.push_str(&body::render(&response.body, &response.headers, style));
    for expectation in &view.expectations {
        let text = format!("expected {}, found {}", expectation.wanted, expectation.found);
        out.push_str(&judged(expectation.holds, &text, style));
    }
    if view.outcome.is_failure() && view.expectations.iter().all(|expectation| expectation.holds) {
        let problem = if view.problem.is_empty() { view.outcome.label() } else { &view.problem };
        out.push_str(&hang(&format!("  {} ", style.paint(Paint::Bad, "✗")), 4, problem, style.width));
    }
}

/// A check of a scenario, as one line.
pub fn check(name: &str, holds: bool, style: &Style) -> String {
    judged(holds, &format!("check \"{name}\" {}", if holds { "holds" } else { "failed" }), style)
}

fn judged(holds: bool, text: &str, style: &Style) -> String {
    let (sign, paint) = if holds { ("✓", Paint::Good) } else { ("✗", Paint::Bad) };
    hang(&format!("  {} ", style.paint(paint, sign)), 4, text, style.width)
}

fn rule(title: &str, style: &Style) -> String {
    let title = shorten(title, style.width.saturating_sub(6));
    let rest = style.width.saturating_sub(width_of(&title) + 4);
    format!("── {} {}", style.paint(Paint::Bold, &title), style.paint(Paint::Dim, &"─".repeat(rest)))
}

fn headers(headers: &[(String, String)], style: &Style, out: &mut String) {
    for (name, value) in headers {
        let shown = tame(&mask::header(name, value));
        out.push_str(&format!("  {} {shown}\n", style.paint(Paint::Dim, &format!("{}:", tame(name)))));
    }
}

/// The phases that occurred, in order. A reused connection is noted.
fn phases(view: &ExchangeView, style: &Style) -> String {
    let p = &view.phases;
    let all = [
        ("queue for a connection", p.queue),
        ("name resolution", p.dns),
        ("connect", p.connect),
        ("TLS", p.tls),
        ("wait", p.wait),
        ("body", p.body),
    ];
    let mut parts: Vec<String> =
        all.iter().filter(|(_, ns)| *ns > 0).map(|(name, ns)| format!("{name} {}", loadstone_units::seconds(*ns as f64 / 1e9))).collect();
    if !view.connected && view.response.is_some() {
        parts.push("connection reused".to_owned());
    }
    if parts.is_empty() { String::new() } else { format!("  {}\n", style.paint(Paint::Dim, &parts.join(" · "))) }
}
