//! Values from HTML by CSS selector, and from XML or HTML by XPath 1.0.
//!
//! Each call parses the body. Pages are large compared with the values that a test takes from them, and storing their trees would cost
//! memory for every user. If the cost matters, take several values with one selector (`cssAll`).

use html5ever::driver::{ParseOpts, parse_document};
use html5ever::tendril::TendrilSink;
use scraper::{ElementRef, Html, HtmlTreeSink, Selector};

use super::effort::{Effort, NESTING_MAX, too_deep};
use super::xpath::{DocumentSource, XPath};
use super::{ExtractError, nesting};

/// HTML is parsed in pieces of this size. The work on a piece grows with the nesting so far, which is checked after each. Bytes.
const PIECE_BYTES: usize = 4 << 10;

/// Text (or `attribute`) of the elements that a selector finds, in document order. At most `limit`.
pub(crate) fn css(
    body: &str,
    selector: &Selector,
    attribute: Option<&str>,
    limit: usize,
    effort: &Effort,
) -> Result<Vec<String>, ExtractError> {
    let page = html(body, effort)?;
    let mut values = Vec::new();
    for node in page.tree.nodes() {
        effort.steps(1)?;
        let Some(element) = ElementRef::wrap(node).filter(|element| element.parent().is_some() && selector.matches(element)) else {
            continue;
        };
        let value = match attribute {
            Some(name) => element.value().attr(name).map(str::to_owned),
            None => Some(text_of(element)),
        };
        if let Some(value) = value {
            effort.value(value.len())?;
            values.push(value);
            if values.len() >= limit {
                break;
            }
        }
    }
    Ok(values)
}

/// Compiles a CSS selector.
pub(crate) fn selector(text: &str) -> Result<Selector, ExtractError> {
    nesting::check("CSS selector", text)?;
    Selector::parse(text).map_err(|error| ExtractError::Expression {
        kind: "CSS selector",
        expression: text.to_owned(),
        problem: error.to_string(),
    })
}

/// An element's text without surrounding space.
fn text_of(element: ElementRef<'_>) -> String {
    let text: String = element.text().collect();
    text.trim().to_owned()
}

/// Text of the nodes that an expression finds, in document order. A number, string or boolean is one text. At most `limit`.
///
/// `content_type` is the response's. HTML is parsed as browsers do, everything else as XML. In XML, the expression may use prefixes that
/// the root element declares.
pub(crate) fn xpath(
    body: &str,
    expression: &XPath,
    content_type: Option<&str>,
    limit: usize,
    effort: &Effort,
) -> Result<Vec<String>, ExtractError> {
    if is_html(body, content_type) {
        expression.texts(&DocumentSource::Html(&html(body, effort)?), limit, effort)
    } else {
        expression.texts(&DocumentSource::Xml(body), limit, effort)
    }
}

fn is_html(body: &str, content_type: Option<&str>) -> bool {
    let declared = content_type.map(|value| value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    match declared.as_deref() {
        Some("text/html") => true,
        Some(other) if other.ends_with("xml") => false,
        _ => {
            let start: String = body.trim_start().chars().take(14).collect::<String>().to_ascii_lowercase();
            start.starts_with("<!doctype html") || start.starts_with("<html")
        }
    }
}

/// Parses HTML as browsers do. For each tag, the parser searches the open elements, so that deep pages take quadratic time.
pub(crate) fn html(body: &str, effort: &Effort) -> Result<Html, ExtractError> {
    let mut parser = parse_document(HtmlTreeSink::new(Html::new_document()), ParseOpts::default());
    let mut rest = body;
    while !rest.is_empty() {
        let end = (PIECE_BYTES..rest.len()).find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        parser.process(piece.into());
        effort.check_time()?;
        let page = parser.tokenizer.sink.sink.0.borrow();
        if page.tree.nodes().next_back().is_some_and(|newest| newest.ancestors().nth(NESTING_MAX).is_some()) {
            return Err(too_deep());
        }
        drop(page);
        rest = after;
    }
    Ok(parser.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"<!DOCTYPE html><html><head><title>Shop &amp; more</title></head><body>
        <form><input name="csrf" value="t0ken"><input name=q></form>
        <ul><li class="item">One</li><li class="item new"> <b>Two</b>&nbsp;2 </li></ul><p>open <br> paragraph</body></html>"#;

    fn by_css(text: &str, attribute: Option<&str>) -> Vec<String> {
        css(PAGE, &selector(text).unwrap(), attribute, usize::MAX, &Effort::of_one_turn()).unwrap()
    }

    fn by_xpath(body: &str, text: &str, content_type: Option<&str>) -> Result<Vec<String>, String> {
        xpath(body, &XPath::parse(text).unwrap(), content_type, usize::MAX, &Effort::of_one_turn()).map_err(|error| error.to_string())
    }

    #[test]
    fn css_finds_text_and_attributes() {
        assert_eq!(by_css("title", None), ["Shop & more"]);
        assert_eq!(by_css("input[name=csrf]", Some("value")), ["t0ken"]);
        assert_eq!(by_css("input", Some("value")), ["t0ken"], "elements without the attribute are passed over");
        assert_eq!(by_css("li.item", None), ["One", "Two\u{a0}2"]);
        assert_eq!(by_css("table", None), [""; 0]);
        assert_eq!(css(PAGE, &selector("li").unwrap(), None, 1, &Effort::of_one_turn()).unwrap(), ["One"]);
    }

    #[test]
    fn xpath_reads_html_that_is_not_xml() {
        assert_eq!(by_xpath(PAGE, "//li[2]", None).unwrap(), ["Two\u{a0}2"]);
        assert_eq!(by_xpath(PAGE, "//input[@name='csrf']/@value", None).unwrap(), ["t0ken"]);
        assert_eq!(by_xpath(PAGE, "count(//li)", Some("text/html; charset=utf-8")).unwrap(), ["2"]);
        assert_eq!(by_xpath(PAGE, "//p/text()", None).unwrap(), ["open", "paragraph"]);
        assert_eq!(by_xpath(PAGE, "//table", None).unwrap(), [""; 0]);
    }

    #[test]
    fn xpath_reads_xml_with_its_prefixes() {
        let soap = r#"<?xml version="1.0"?>
<s:Envelope xmlns:s="urn:soap" xmlns="urn:shop"><s:Body><order id="7"><total>9.5</total></order></s:Body></s:Envelope>"#;
        assert_eq!(by_xpath(soap, "count(/s:Envelope/s:Body)", Some("text/xml")).unwrap(), ["1"]);
        assert_eq!(by_xpath(soap, "//*[local-name()='total']", None).unwrap(), ["9.5"]);
        assert_eq!(by_xpath(soap, "number(//*[@id='7']) * 2", None).unwrap(), ["19"]);
        let items = "<a><b>1</b><b>2</b></a>";
        assert_eq!(by_xpath(items, "//b", Some("application/xml")).unwrap(), ["1", "2"]);
    }

    #[test]
    fn errors_name_the_mistake() {
        assert!(by_xpath("{\"a\": 1}", "//a", Some("application/json")).unwrap_err().starts_with("not XML: "));
        assert!(by_xpath("<a>", "//a", None).unwrap_err().starts_with("not XML: "));
        assert!(by_xpath("<a/>", "//x:a", None).unwrap_err().starts_with("\"//x:a\" is not a valid XPath expression: "));
        assert!(by_xpath("<a/>", "//a | x:a[y:b]", None).unwrap_err().contains("declares no prefix \"x\""));
        assert_eq!(by_xpath("<a/>", "count(child::a[contains('x:y', \":\")])", None).unwrap(), ["1"]);
        assert!(selector("li[").unwrap_err().to_string().starts_with("\"li[\" is not a valid CSS selector: "));
        assert!(XPath::parse("//li[").unwrap_err().to_string().starts_with("\"//li[\" is not a valid XPath expression: "));
        assert!(XPath::parse("").is_err());
    }

    #[test]
    fn hostile_pages_cost_little() {
        let nested = |depth: usize| format!("<html><body>{}<i>deep</i>", "<div>".repeat(depth));
        assert_eq!(by_xpath(&nested(900), "//i", None).unwrap(), ["deep"]);
        assert_eq!(css(&nested(900), &selector("div i").unwrap(), None, 1, &Effort::of_one_turn()).unwrap(), ["deep"]);
        let attributes: String = (0..200_000).map(|number| format!(" a{number}=1")).collect();
        for page in [nested(200_000), format!("<html><div{attributes}>")] {
            let error = by_xpath(&page, "count(//i)", None).unwrap_err();
            assert_eq!(css(&page, &selector("div").unwrap(), None, 1, &Effort::of_one_turn()).unwrap_err().to_string(), error);
            assert!(error.contains("nested more than 1000 deep") || error.contains("took longer than"), "{error}");
        }
    }
}
