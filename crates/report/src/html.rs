//! The report as one self-contained file, and the same page for a live run.
//!
//! The page itself is built from `web/` and committed as assets/report.html. This module inserts its data.

use serde::Serialize;

use crate::view::ReportView;

const TEMPLATE: &str = include_str!("../assets/report.html");

/// Where the data goes. A test checks that this place occurs exactly once.
const PLACE: &str = "type=\"application/json\">__LOADSTONE_VIEW__<";

/// The page of a finished run. It opens from disk, offline.
pub fn html(view: &ReportView) -> String {
    page(&embeddable(view))
}

/// What a server inserts into the page instead of a view: the address of the views, and the token that lets the reader control the run.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub(crate) struct LiveSource<'a> {
    #[cfg_attr(any(test, feature = "typescript"), ts(type = "\"live\""))]
    pub(crate) feed: &'static str,
    pub(crate) events: &'a str,
    pub(crate) control: &'a str,
    pub(crate) token: &'a str,
    /// Where all runs are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) home: Option<&'a str>,
}

/// An answer that rests on several runs, as the page reads it.
#[derive(Debug, Serialize)]
pub struct AnswerSource<'a, T> {
    /// `comparison`, `experiment`, `capacity`, `ramp` or `trend`.
    pub feed: &'a str,
    pub answer: &'a T,
}

/// The page of an answer. It opens from disk, offline. `feed` is the kind of answer.
pub(crate) fn answer_page(feed: &str, answer: &impl Serialize) -> String {
    page(&embeddable(&AnswerSource { feed, answer }))
}

/// The same for the history of a folder.
#[derive(Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub(crate) struct HistorySource<'a> {
    #[cfg_attr(any(test, feature = "typescript"), ts(type = "\"history\""))]
    feed: &'static str,
    api: &'a str,
    token: &'a str,
}

/// The page of `loadstone ui`. `api` is the path of its requests, without a trailing slash. With an empty `token` the page is read-only.
pub fn history_page(api: &str, token: &str) -> String {
    page(&embeddable(&HistorySource { feed: "history", api, token }))
}

/// The live page behind another server: the paths of its events and its control, and the address where that server lists all runs.
pub fn live_page(events: &str, control: &str, token: &str, home: &str) -> String {
    live_html(&LiveSource { feed: "live", events, control, token, home: Some(home) })
}

/// The page of a run in progress.
pub(crate) fn live_html(source: &LiveSource<'_>) -> String {
    page(&embeddable(source))
}

fn page(json: &str) -> String {
    let (before, after) = TEMPLATE.split_once(PLACE).unwrap_or((TEMPLATE, ""));
    let (open, close) = ("type=\"application/json\">", "<");
    let mut text = String::with_capacity(TEMPLATE.len() + json.len());
    for part in [before, open, json, close, after] {
        text.push_str(part);
    }
    text
}

/// JSON that cannot end the script element or start a comment in it. `<` occurs only inside JSON strings, where its escape has the same meaning.
/// U+2028 and U+2029 end a line in older JavaScript.
fn embeddable<T: Serialize>(value: &T) -> String {
    // Only maps with keys that are not strings can fail, and no type here has one.
    let json = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_page_has_exactly_one_place_for_its_data() {
        assert_eq!(TEMPLATE.matches(PLACE).count(), 1);
        let page = live_html(&LiveSource { feed: "live", events: "/events", control: "/control", token: "abc", home: None });
        let feed = r#"{"feed":"live","events":"/events","control":"/control","token":"abc"}"#;
        assert!(page.contains(&format!(r#"<script id="loadstone-view" type="application/json">{feed}</script>"#)));
        assert!(!page.contains(PLACE));
        assert!(history_page("/api", "abc").contains(r#">{"feed":"history","api":"/api","token":"abc"}</script>"#));
        assert!(live_page("/e", "/c", "abc", "/").contains(r#"{"feed":"live","events":"/e","control":"/c","token":"abc","home":"/"}"#));
    }

    #[test]
    fn the_page_asks_nothing_of_the_network() {
        for needle in ["src=\"http", "href=\"http", "@import", "url(http", "url(//"] {
            assert!(!TEMPLATE.contains(needle), "{needle}");
        }
    }

    proptest! {
        #[test]
        fn any_text_survives_embedding(text in "\\PC*(</script>|<!--|<script|\u{2028}|\u{2029}|\"|\\\\|&lt;)?\\PC*") {
            let json = embeddable(&text);
            let harmless = json.chars().all(|c| !matches!(c, '<' | '\u{2028}' | '\u{2029}'));
            prop_assert!(harmless, "embedded as {}", json);
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }
}
