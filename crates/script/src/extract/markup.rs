//! Values from HTML by CSS selector, and from XML or HTML by XPath 1.0.
//!
//! Each call parses the body. Pages are large compared with the values that a test takes from them, and storing their trees would cost
//! memory for every user. If the cost matters, take several values with one selector (`cssAll`).

use scraper::{ElementRef, Html, Selector};
use sxd_document::Package;
use sxd_document::dom::{Document, Element};
use sxd_xpath::{Context, Factory, Value, XPath};

use super::ExtractError;

/// Text (or `attribute`) of the elements that a selector finds, in document order. At most `limit`.
pub(crate) fn css(body: &str, selector: &Selector, attribute: Option<&str>, limit: usize) -> Vec<String> {
    let page = Html::parse_document(body);
    let values = page.select(selector).filter_map(|element| match attribute {
        Some(name) => element.value().attr(name).map(str::to_owned),
        None => Some(text_of(element)),
    });
    values.take(limit).collect()
}

/// Compiles a CSS selector.
pub(crate) fn selector(text: &str) -> Result<Selector, ExtractError> {
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

/// Compiles an XPath 1.0 expression.
pub(crate) fn expression(text: &str) -> Result<XPath, ExtractError> {
    let wrong = |problem: String| ExtractError::Expression { kind: "XPath expression", expression: text.to_owned(), problem };
    Factory::new().build(text).map_err(|error| wrong(error.to_string()))?.ok_or_else(|| wrong("it is empty".to_owned()))
}

/// Text of the nodes that an expression finds, in document order. A number, string or boolean is one text. At most `limit`.
///
/// `content_type` is the response's. HTML is parsed as browsers do, everything else as XML. In XML, the expression may use prefixes that
/// the root element declares.
pub(crate) fn xpath(
    body: &str,
    expression: &XPath,
    source: &str,
    content_type: Option<&str>,
    limit: usize,
) -> Result<Vec<String>, ExtractError> {
    let package = if is_html(body, content_type) {
        from_html(body)
    } else {
        sxd_document::parser::parse(body).map_err(|error| ExtractError::Body(format!("not XML: {error}")))?
    };
    let document = package.as_document();
    let mut context = Context::new();
    let mut declared = Vec::new();
    for namespace in root_of(document).map(|root| root.namespaces_in_scope()).unwrap_or_default() {
        context.set_namespace(namespace.prefix(), namespace.uri());
        declared.push(namespace.prefix());
    }
    let wrong = |problem: String| ExtractError::Expression { kind: "XPath expression", expression: source.to_owned(), problem };
    // The evaluator panics at an unknown prefix.
    if let Some(prefix) = prefixes(source).find(|prefix| !declared.contains(prefix)) {
        return Err(wrong(format!("the body's root element declares no prefix \"{prefix}\"; *[local-name()='…'] needs none")));
    }
    let value = expression.evaluate(&context, document.root()).map_err(|error| wrong(error.to_string()))?;
    Ok(match value {
        Value::Nodeset(nodes) => nodes.document_order().into_iter().take(limit).map(|node| node.string_value().trim().to_owned()).collect(),
        single => vec![single.string()],
    })
}

/// The namespace prefixes in an expression: names before a single colon, outside quotes.
fn prefixes(expression: &str) -> impl Iterator<Item = &str> {
    let outside_quotes = expression.split(['"', '\'']).step_by(2);
    outside_quotes.flat_map(|part| {
        part.match_indices(':').filter_map(move |(at, _)| {
            let single = !part[at + 1..].starts_with(':') && !part[..at].ends_with(':');
            let start = part[..at].rfind(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).map_or(0, |end| end + 1);
            (single && start < at).then(|| &part[start..at])
        })
    })
}

fn root_of<'d>(document: Document<'d>) -> Option<Element<'d>> {
    document.root().children().into_iter().find_map(|child| child.element())
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

/// Elements that are nested deeper are omitted: XPath's axes recurse.
const NESTING_MAX: usize = 400;

/// HTML as browsers parse it, copied into a tree that XPath can traverse. Names have no namespace, so that `//div` finds them.
fn from_html(body: &str) -> Package {
    let page = Html::parse_document(body);
    let package = Package::new();
    let document = package.as_document();
    let source = page.root_element();
    let root = copy_element(document, source);
    document.root().append_child(root);
    let mut pending = vec![(source, root, 1)];
    while let Some((source, element, depth)) = pending.pop() {
        for child in source.children() {
            if let Some(text) = child.value().as_text() {
                element.append_child(document.create_text(text));
            } else if let Some(child) = ElementRef::wrap(child)
                && depth < NESTING_MAX
            {
                let copy = copy_element(document, child);
                element.append_child(copy);
                pending.push((child, copy, depth + 1));
            }
        }
    }
    package
}

fn copy_element<'d>(document: Document<'d>, source: ElementRef<'_>) -> Element<'d> {
    let element = document.create_element(source.value().name());
    for (name, value) in source.value().attrs() {
        element.set_attribute_value(name, value);
    }
    element
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"<!DOCTYPE html><html><head><title>Shop &amp; more</title></head><body>
        <form><input name="csrf" value="t0ken"><input name=q></form>
        <ul><li class="item">One</li><li class="item new"> <b>Two</b>&nbsp;2 </li></ul><p>open <br> paragraph</body></html>"#;

    fn by_css(text: &str, attribute: Option<&str>) -> Vec<String> {
        css(PAGE, &selector(text).unwrap(), attribute, usize::MAX)
    }

    fn by_xpath(body: &str, text: &str, content_type: Option<&str>) -> Result<Vec<String>, String> {
        xpath(body, &expression(text).unwrap(), text, content_type, usize::MAX).map_err(|error| error.to_string())
    }

    #[test]
    fn css_finds_text_and_attributes() {
        assert_eq!(by_css("title", None), ["Shop & more"]);
        assert_eq!(by_css("input[name=csrf]", Some("value")), ["t0ken"]);
        assert_eq!(by_css("input", Some("value")), ["t0ken"], "elements without the attribute are passed over");
        assert_eq!(by_css("li.item", None), ["One", "Two\u{a0}2"]);
        assert_eq!(by_css("table", None), [""; 0]);
        assert_eq!(css(PAGE, &selector("li").unwrap(), None, 1), ["One"]);
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
        assert!(expression("//li[").unwrap_err().to_string().starts_with("\"//li[\" is not a valid XPath expression: "));
        assert!(expression("").is_err());
    }

    #[test]
    fn deeply_nested_pages_are_read() {
        let page = format!("<html><body>{}<i>deep</i>", "<div>".repeat(20_000));
        assert_eq!(by_xpath(&page, "count(//i)", None).unwrap(), ["0"]);
        assert_eq!(by_xpath(&page, "count(//div) > 300", None).unwrap(), ["true"]);
    }
}
