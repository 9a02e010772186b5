//! One message of a WebSocket or an event stream, shown completely.

use super::{body, rule};
use crate::terminal::{Paint, Style, tame};

/// The shown parts of one message.
#[derive(Debug, Clone)]
pub struct MessageView {
    pub scenario: String,
    /// Name of the WebSocket or stream.
    pub name: String,
    /// Sent by the script; otherwise received.
    pub sent: bool,
    pub body: Vec<u8>,
    /// Type and id of an event.
    pub event: Option<String>,
    pub id: Option<String>,
}

/// The message for a terminal, ending in a blank line.
pub fn message(view: &MessageView, style: &Style) -> String {
    let arrow = if view.sent { "→" } else { "←" };
    let mut head = match &view.event {
        Some(event) => format!("{arrow} event {}", tame(event)),
        None => format!("{arrow} message"),
    };
    if let Some(id) = view.id.as_deref().filter(|id| !id.is_empty()) {
        head.push_str(&format!(" · id {}", tame(id)));
    }
    let size = loadstone_units::bytes(view.body.len() as u64);
    let body = body::render(&view.body, &[], style);
    let title = rule(&format!("{} › {}", view.scenario, view.name), style);
    format!("{title}\n{} · {size}\n{}\n", style.paint(Paint::Bold, &head), body.trim_end_matches('\n').trim_start_matches('\n'))
}
