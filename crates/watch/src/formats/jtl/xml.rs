//! Results as XML: `<httpSample t="128" lt="126" ct="113" ts="1795890068735" s="true" lb="List products" rc="200" …>`.
//!
//! JMeter writes each start tag in one line, with line breaks in values escaped. Samples inside of samples are parts of them, such as redirects and
//! embedded resources, as in CSV: only the outer ones count.

use std::borrow::Cow;

use super::sample::{ENTRY_BYTES_MAX, JtlSample, SampleSink};
use crate::entry::Entry;
use crate::record_format::UnreadableLine;

/// The message of a transaction controller's sample, where there is no URL to recognise it by.
const TRANSACTION_MESSAGE: &str = "Number of samples in transaction";

#[derive(Default)]
pub(super) struct XmlResults {
    /// Samples that are open around the next line.
    depth: u32,
    users: SampleSink,
}

impl XmlResults {
    pub(super) fn line(&mut self, line: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
        let line = std::str::from_utf8(line).map_err(|_| UnreadableLine)?.trim();
        if line.starts_with("</httpSample>") || line.starts_with("</sample>") {
            self.depth = self.depth.saturating_sub(1);
            return Ok(());
        }
        let Some(rest) = line.strip_prefix("<httpSample ").or_else(|| line.strip_prefix("<sample ")) else {
            return other(line, self.depth);
        };
        if rest.len() > ENTRY_BYTES_MAX {
            return Err(UnreadableLine);
        }
        let is_inner = self.depth > 0;
        let is_whole = rest.ends_with("/>") || rest.ends_with("</httpSample>") || rest.ends_with("</sample>");
        self.depth += u32::from(!is_whole);
        if is_inner { Ok(()) } else { self.sample(rest, line.starts_with("<sample "), take) }
    }

    fn sample(&mut self, attributes: &str, has_no_url: bool, take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
        let (mut label, mut code, mut message) = (Cow::Borrowed(""), Cow::Borrowed(""), Cow::Borrowed(""));
        let (mut started_ms, mut elapsed_ms) = (None, None);
        let mut sample = JtlSample::default();
        let mut rest = attributes;
        while let Some((name, value, after)) = attribute(rest) {
            let number = || value.parse::<u64>().ok();
            match name {
                "ts" => started_ms = number(),
                "t" => elapsed_ms = number(),
                "lt" => sample.latency_ms = number().unwrap_or(0),
                "ct" => sample.connect_ms = number().unwrap_or(0),
                "by" => sample.bytes = number().unwrap_or(0),
                "sby" => sample.sent = number().unwrap_or(0),
                "na" => sample.users = number(),
                "s" => sample.has_failed = value == "false",
                "lb" => label = unescaped(value),
                "rc" => code = unescaped(value),
                "rm" => message = unescaped(value),
                _ => {}
            }
            rest = after;
        }
        let is_transaction = has_no_url && message.starts_with(TRANSACTION_MESSAGE);
        let sample = JtlSample {
            started_ms: started_ms.ok_or(UnreadableLine)?,
            elapsed_ms: elapsed_ms.ok_or(UnreadableLine)?,
            label: &label,
            code: &code,
            message: &message,
            is_transaction,
            ..sample
        };
        self.users.pass_on(&sample, take);
        Ok(())
    }
}

/// A line that begins no sample: data of one, or the document's own tags.
fn other(line: &str, depth: u32) -> Result<(), UnreadableLine> {
    let is_document =
        line.is_empty() || line.starts_with("<?xml") || line.starts_with("<testResults") || line.starts_with("</testResults>");
    if depth > 0 || is_document { Ok(()) } else { Err(UnreadableLine) }
}

/// The first attribute, its raw value, and what follows.
fn attribute(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = text.trim_start().split_once("=\"")?;
    let (value, after) = rest.split_once('"')?;
    name.bytes().all(|byte| byte.is_ascii_alphanumeric()).then_some((name, value, after))
}

/// With the five named entities and characters by number (XML 1.0, section 4.6).
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        whole.push_str(before);
        let Some((entity, tail)) = after.split_once(';') else {
            rest = after;
            continue;
        };
        let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
        let found = match entity {
            "lt" => Some('<'),
            "gt" => Some('>'),
            "amp" => Some('&'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            other => other
                .strip_prefix("#x")
                .map_or_else(|| other.strip_prefix('#').and_then(|digits| number(digits, 10)), |hex| number(hex, 16)),
        };
        whole.push(found.unwrap_or('\u{fffd}'));
        rest = tail;
    }
    whole.push_str(rest);
    Cow::Owned(whole)
}
