//! HAR 1.1 and 1.2, as browsers and proxies record them.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;

use jiff::Timestamp;
use serde_json::Value;

use crate::correlate::{Answered, correlate};
use crate::error::ImportError;
use crate::imported::{ImportedTest, Input, Note};
use crate::json::{list, parse, text};
use crate::sent::{hide, keeps, name_of, origin, relative, set_body, set_header};
use crate::steps::{Action, Body, EarlierCookie, FormPart, Journey, PlannedRequest, Step};
use crate::write::write;

/// A pause of so many seconds begins another step.
const THINK_S: f64 = 1.0;

/// One entry that is kept.
struct Recorded {
    exchange: Answered,
    page: String,
    begin: f64,
    end: f64,
    is_asset: bool,
    url: String,
}

pub(crate) fn import(input: &Input<'_>) -> Result<ImportedTest, ImportError> {
    let har = parse(input.name, input.text, "a HAR file, as the network panel of a browser saves it")?;
    let error = |message: &str, help: &str| Err(ImportError::new(input.name, None, message, help));
    let Some(log) = har.get("log") else {
        return error("this is not a HAR file: it has no `log`", "give a HAR file, as the network panel of a browser saves it");
    };
    let version = text(log, "version");
    if !matches!(version, "1.1" | "1.2" | "") {
        return Err(ImportError::new(input.name, None, format!("HAR {version} is not supported"), "export it as HAR 1.2"));
    }
    let mut notes = Vec::new();
    let Some((base, aliases)) = site(log) else {
        return error("the recording contains no request", "record again, with the network panel open from the start");
    };
    let mut entries = entries(log, &base, &aliases, input, &mut notes);
    if entries.is_empty() {
        return error("no request of the recording was selected", "select more requests: use --all-hosts, or omit --no-assets");
    }
    let mut exchanges: Vec<Answered> = entries
        .iter_mut()
        .map(|entry| std::mem::replace(&mut entry.exchange, Answered { request: PlannedRequest::default(), answer: None }))
        .collect();
    notes.extend(correlate(&mut exchanges).into_iter().map(Note::changed));
    for (entry, exchange) in entries.iter_mut().zip(exchanges) {
        entry.exchange = exchange;
    }
    let title = list(log, "pages").first().map(|page| text(page, "title")).filter(|title| !title.is_empty() && !title.contains("://"));
    let mut journey = Journey {
        format: "har",
        file: input.name.rsplit('/').next().unwrap_or(input.name).to_owned(),
        title: title.unwrap_or("Recorded").to_owned(),
        base: Some(base),
        ..Journey::default()
    };
    earlier_cookies(log, input.choices.all_hosts, &mut journey);
    journey.steps = steps(log, entries, input.choices.pauses);
    hide(&mut journey);
    for parameter in &journey.parameters {
        notes.push(Note::changed(format!("a credential became the secret parameter `{}`", parameter.name)));
    }
    Ok(ImportedTest { text: write(&journey), notes })
}

/// The origin of the site: that of the first request, or to which it was redirected (http to https, `shop.test` to `www.shop.test`). Also the origins that
/// led there.
fn site(log: &Value) -> Option<(String, Vec<String>)> {
    let entries = list(log, "entries");
    let mut base = entries.iter().find_map(|entry| origin(text(&entry["request"], "url")))?;
    let mut aliases = Vec::new();
    while let Some(target) =
        entries.iter().find(|entry| origin(text(&entry["request"], "url")).as_ref() == Some(&base)).and_then(redirect_target)
    {
        match origin(&target) {
            Some(next) if next != base && !aliases.contains(&next) => aliases.push(std::mem::replace(&mut base, next)),
            _ => break,
        }
    }
    Some((base, aliases))
}

/// Where a response sends the browser.
fn redirect_target(entry: &Value) -> Option<String> {
    let response = &entry["response"];
    let status = response.get("status").and_then(Value::as_u64).unwrap_or(0);
    let stated = text(response, "redirectURL");
    let header = || list(response, "headers").iter().find(|header| text(header, "name").eq_ignore_ascii_case("location"));
    let to = if stated.is_empty() { header().map_or("", |header| text(header, "value")) } else { stated };
    if !(300..400).contains(&status) || to.is_empty() {
        return None;
    }
    url::Url::parse(text(&entry["request"], "url")).and_then(|from| from.join(to)).ok().map(String::from)
}

fn entries(log: &Value, base: &str, aliases: &[String], input: &Input<'_>, notes: &mut Vec<Note>) -> Vec<Recorded> {
    let mut left: HashMap<&'static str, usize> = HashMap::new();
    let mut kept = Vec::new();
    let mut redirected: HashSet<String> = HashSet::new();
    for entry in list(log, "entries") {
        let (request, response) = (&entry["request"], &entry["response"]);
        let (url, method) = (text(request, "url"), text(request, "method"));
        let status = response.get("status").and_then(Value::as_u64).unwrap_or(0);
        let kind = text(&response["content"], "mimeType");
        let is_asset = is_asset(text(entry, "_resourceType"), kind, url);
        let target = redirect_target(entry);
        let leads_to_site =
            target.as_deref().and_then(origin).as_deref() == Some(base) && origin(url).is_some_and(|origin| aliases.contains(&origin));
        if url.starts_with("ws") || text(entry, "_resourceType") == "websocket" {
            notes.push(Note::lost(format!("the WebSocket {}: use `user.ws`", url.split('?').next().unwrap_or(url))));
            continue;
        }
        let reason = if !url.starts_with("http") {
            Some("not an HTTP request (data)")
        } else if leads_to_site {
            Some("redirect to the host of the test, which the test requests at once")
        } else if status == 0 {
            Some("request without a response")
        } else if redirected.remove(url) {
            Some("target of a redirect, which Loadstone follows automatically")
        } else if method == "OPTIONS" {
            Some("CORS preflight of the browser")
        } else if is_asset && !input.choices.assets {
            Some("static resource")
        } else if origin(url).as_deref() != Some(base) && !input.choices.all_hosts {
            Some("request to another host: --all-hosts keeps them")
        } else {
            None
        };
        if let Some(target) = target.filter(|_| !leads_to_site) {
            redirected.insert(target);
        }
        if let Some(reason) = reason {
            *left.entry(reason).or_default() += 1;
            continue;
        }
        let begin = Timestamp::from_str(text(entry, "startedDateTime")).map_or(0.0, |at| at.as_millisecond() as f64 / 1000.0);
        let length = entry.get("time").and_then(Value::as_f64).unwrap_or(0.0).max(0.0) / 1000.0;
        let answer =
            Some(text(&response["content"], "text")).filter(|body| !body.is_empty() && text(&response["content"], "encoding") != "base64");
        kept.push(Recorded {
            exchange: Answered { request: request_of(request, status, base), answer: answer.filter(|_| !is_asset).map(str::to_owned) },
            page: text(entry, "pageref").to_owned(),
            begin,
            end: begin + length,
            is_asset,
            url: relative(url, Some(base)),
        });
    }
    let mut left: Vec<_> = left.into_iter().collect();
    left.sort_unstable();
    notes.extend(left.into_iter().map(|(reason, count)| Note::left_out(format!("{count} × {reason}"))));
    kept
}

pub(crate) fn is_asset(resource: &str, kind: &str, url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let by_name = [".css", ".js", ".mjs", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico", ".woff", ".woff2", ".ttf", ".map"];
    matches!(resource, "stylesheet" | "script" | "image" | "font" | "media" | "manifest")
        || resource.is_empty()
            && (kind.starts_with("image/")
                || kind.starts_with("font/")
                || kind.contains("css")
                || kind.contains("javascript")
                || by_name.iter().any(|end| path.ends_with(end)))
}

fn request_of(request: &Value, status: u64, base: &str) -> PlannedRequest {
    let url = text(request, "url");
    let mut planned = PlannedRequest {
        name: name_of(text(request, "method"), url),
        method: text(request, "method").to_owned(),
        url: relative(url, Some(base)),
        ..PlannedRequest::default()
    };
    for header in list(request, "headers") {
        let (name, content) = (text(header, "name"), text(header, "value"));
        if keeps(name, content) {
            set_header(&mut planned, name, content);
        }
    }
    if let Some(data) = request.get("postData") {
        let fields = list(data, "params");
        if text(data, "text").is_empty() && !fields.is_empty() {
            let is_file = |field: &Value| !text(field, "fileName").is_empty();
            planned.headers.retain(|(name, _)| name != "content-type");
            planned.body = if text(data, "mimeType").starts_with("multipart/") {
                let field = |field: &Value| {
                    let part = FormPart::text(text(field, "name"), text(field, "value"));
                    let named = |name: &str| Some(text(field, name).to_owned()).filter(|value| !value.is_empty());
                    if is_file(field) { FormPart { file_name: named("fileName"), media_type: named("contentType"), ..part } } else { part }
                };
                Body::Multipart(fields.iter().map(field).collect())
            } else {
                Body::Form(fields.iter().map(|field| (text(field, "name").to_owned(), text(field, "value").to_owned())).collect())
            };
        } else {
            set_body(&mut planned, text(data, "text"));
        }
    } else {
        planned.headers.retain(|(name, _)| name != "content-type");
    }
    planned.status = (status >= 400).then_some(status as u16);
    planned
}

/// Cookies that were there before the recording began: nothing in it set them.
///
/// Only those of the hosts that the test calls: a cookie of an advertiser must not reach the user's system.
fn earlier_cookies(log: &Value, all_hosts: bool, journey: &mut Journey) {
    let base = journey.base.clone();
    let mut set: HashSet<(String, String)> = HashSet::new();
    let mut found: Vec<(String, String)> = Vec::new();
    for entry in list(log, "entries") {
        let Some(site) = origin(text(&entry["request"], "url")).filter(|site| all_hosts || Some(site) == base.as_ref()) else { continue };
        let listed = list(&entry["request"], "cookies").iter().map(|cookie| text(cookie, "name").to_owned());
        let headers = list(&entry["request"], "headers").iter().filter(|header| text(header, "name").eq_ignore_ascii_case("cookie"));
        let sent = headers.flat_map(|header| text(header, "value").split(';')).filter_map(|pair| pair.split_once('='));
        for name in listed.chain(sent.map(|(name, _)| name.trim().to_owned())) {
            let cookie = (name, site.clone());
            if !set.contains(&cookie) && !found.contains(&cookie) {
                found.push(cookie);
            }
        }
        set.extend(list(&entry["response"], "cookies").iter().map(|cookie| (text(cookie, "name").to_owned(), site.clone())));
        let headers = list(&entry["response"], "headers").iter().filter(|header| text(header, "name").eq_ignore_ascii_case("set-cookie"));
        let stored = headers.flat_map(|header| text(header, "value").lines()).filter_map(|line| line.split_once('='));
        set.extend(stored.map(|(name, _)| (name.trim().to_owned(), site.clone())));
    }
    for (name, site) in found {
        let parameter = journey.parameter(
            &format!("{name} cookie"),
            "",
            true,
            "existed before the recording began: pass its value, or add the login to the recording",
        );
        let host = (Some(&site) != base.as_ref()).then_some(site);
        journey.cookies.push(EarlierCookie { name, value: parameter, site: host });
    }
}

/// A function for each page, and for each stretch behind a pause.
fn steps(log: &Value, entries: Vec<Recorded>, pauses: bool) -> Vec<Step> {
    let titles: HashMap<&str, &str> = list(log, "pages").iter().map(|page| (text(page, "id"), text(page, "title"))).collect();
    let mut steps: Vec<Step> = Vec::new();
    let (mut page, mut end) = (String::new(), 0.0_f64);
    for entry in entries {
        let pause = if end > 0.0 && entry.begin > end { entry.begin - end } else { 0.0 };
        let title = titles.get(entry.page.as_str()).copied().filter(|title| !title.is_empty() && !title.contains("://"));
        if steps.is_empty() || entry.page != page || pause >= THINK_S && !entry.is_asset {
            if let Some(last) = steps.last_mut().filter(|_| pauses) {
                last.pause = (pause * 10.0).round() / 10.0;
            }
            let name = if entry.page == page { None } else { title };
            let name = name.map_or_else(|| entry.exchange.request.name.clone(), |title| format!("Open {title}"));
            steps.push(Step { name, is_group: true, actions: Vec::new(), pause: 0.0 });
        }
        page.clone_from(&entry.page);
        end = end.max(entry.end);
        let Some(step) = steps.last_mut() else { continue };
        match (entry.is_asset, step.actions.last_mut()) {
            (true, Some(Action::Assets(urls))) => urls.push(entry.url),
            (true, _) => step.actions.push(Action::Assets(vec![entry.url])),
            (false, _) => step.actions.push(Action::Request(Box::new(entry.exchange.request))),
        }
    }
    steps
}
