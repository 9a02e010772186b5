//! `k6/html`: a parsed page whose nodes are numbered in document order. `html.ts` has the selections.

use std::collections::HashMap;

use ego_tree::{NodeId, NodeRef};
use rquickjs::class::Trace;
use rquickjs::{Class, Ctx, Exception, Function, JsLifetime, Object};
use scraper::{ElementRef, Html, Node};

pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
    let parse = |ctx: Ctx<'js>, text: String| -> rquickjs::Result<Class<'js, HtmlPage>> {
        let page = loadstone_script::parse_html(&text).map_err(|problem| Exception::throw_message(&ctx, &problem))?;
        let nodes: Vec<NodeId> = page.tree.root().descendants().map(|node| node.id()).collect();
        let numbers = nodes.iter().enumerate().map(|(number, id)| (*id, number as u32)).collect();
        Class::instance(ctx, HtmlPage { page, nodes, numbers })
    };
    native.set("parseHtml", Function::new(ctx.clone(), parse)?)
}

#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "HtmlPage")]
struct HtmlPage {
    #[qjs(skip_trace)]
    page: Html,
    /// In document order. The document itself has number 0.
    #[qjs(skip_trace)]
    nodes: Vec<NodeId>,
    #[qjs(skip_trace)]
    numbers: HashMap<NodeId, u32>,
}

impl HtmlPage {
    fn node(&self, number: u32) -> Option<NodeRef<'_, Node>> {
        self.page.tree.get(*self.nodes.get(number as usize)?)
    }

    fn element(&self, number: u32) -> Option<ElementRef<'_>> {
        self.node(number).and_then(ElementRef::wrap)
    }

    fn number(&self, node: NodeRef<'_, Node>) -> Option<u32> {
        self.numbers.get(&node.id()).copied()
    }
}

#[rquickjs::methods(rename_all = "camelCase")]
impl HtmlPage {
    /// Elements below a node that match a selector. As in k6, an invalid selector matches none.
    fn select(&self, scope: u32, selector: String) -> Vec<u32> {
        let Some((node, selector)) = self.node(scope).zip(loadstone_script::css_selector(&selector)) else { return Vec::new() };
        let below = node.descendants().skip(1).filter_map(ElementRef::wrap).filter(|element| selector.matches(element));
        below.filter_map(|element| self.number(*element)).collect()
    }

    /// Those of the nodes that match a selector.
    fn matching(&self, numbers: Vec<u32>, selector: String) -> Vec<u32> {
        let Some(selector) = loadstone_script::css_selector(&selector) else { return Vec::new() };
        numbers.into_iter().filter(|number| self.element(*number).is_some_and(|element| selector.matches(&element))).collect()
    }

    /// Whether a selector can be compiled.
    fn is_valid(&self, selector: String) -> bool {
        loadstone_script::css_selector(&selector).is_some()
    }

    fn text(&self, number: u32) -> String {
        let Some(node) = self.node(number) else { return String::new() };
        node.descendants().filter_map(|node| node.value().as_text().map(|text| &**text)).collect()
    }

    /// The markup inside a node.
    fn inner(&self, number: u32) -> String {
        let mut markup = String::new();
        if let Some(node) = self.node(number) {
            node.children().for_each(|child| write_node(child, &mut markup));
        }
        markup
    }

    fn attribute(&self, number: u32, name: String) -> Option<String> {
        self.element(number)?.attr(&name).map(str::to_owned)
    }

    /// Names and values, in turn.
    fn attributes(&self, number: u32) -> Vec<String> {
        let Some(element) = self.element(number) else { return Vec::new() };
        element.value().attrs().flat_map(|(name, value)| [name.to_owned(), value.to_owned()]).collect()
    }

    /// `li`, `#text`, `#comment` or `#document`.
    fn name(&self, number: u32) -> String {
        match self.node(number).map(|node| node.value()) {
            Some(Node::Element(element)) => element.name().to_owned(),
            Some(Node::Text(_)) => "#text".to_owned(),
            Some(Node::Comment(_)) => "#comment".to_owned(),
            Some(Node::Document) => "#document".to_owned(),
            _ => String::new(),
        }
    }

    /// The content of a text or a comment.
    fn value(&self, number: u32) -> Option<String> {
        match self.node(number)?.value() {
            Node::Text(text) => Some(text.to_string()),
            Node::Comment(comment) => Some(comment.to_string()),
            _ => None,
        }
    }

    fn parent(&self, number: u32) -> Option<u32> {
        self.number(self.node(number)?.parent()?)
    }

    /// Child nodes, or only the elements among them.
    fn children(&self, number: u32, elements: bool) -> Vec<u32> {
        let Some(node) = self.node(number) else { return Vec::new() };
        node.children().filter(|child| !elements || child.value().is_element()).filter_map(|child| self.number(child)).collect()
    }
}

/// Elements without an end tag.
const VOID: [&str; 16] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "keygen", "link", "meta", "param", "source", "track", "wbr", "frame"];
/// Elements whose text is written as it is.
const RAW: [&str; 8] = ["iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "xmp"];

/// Writes a node as Go's html.Render does: it escapes quotes in text, and closes void elements with a slash.
fn write_node(node: NodeRef<'_, Node>, markup: &mut String) {
    match node.value() {
        Node::Text(text) => {
            let is_raw = node.parent().and_then(|parent| Some(RAW.contains(&parent.value().as_element()?.name()))).unwrap_or(false);
            if is_raw { markup.push_str(text) } else { escape(text, markup) }
        }
        Node::Element(element) => {
            markup.push('<');
            markup.push_str(element.name());
            for (name, value) in element.attrs() {
                markup.push(' ');
                markup.push_str(name);
                markup.push_str("=\"");
                escape(value, markup);
                markup.push('"');
            }
            if VOID.contains(&element.name()) {
                markup.push_str("/>");
                return;
            }
            markup.push('>');
            // The nesting of a page is bounded when it is parsed.
            node.children().for_each(|child| write_node(child, markup));
            markup.push_str("</");
            markup.push_str(element.name());
            markup.push('>');
        }
        Node::Comment(comment) => markup.push_str(&format!("<!--{}-->", &**comment)),
        Node::Doctype(doctype) => markup.push_str(&format!("<!DOCTYPE {}>", doctype.name())),
        Node::Document | Node::Fragment | Node::ProcessingInstruction(_) => {
            node.children().for_each(|child| write_node(child, markup));
        }
    }
}

fn escape(text: &str, markup: &mut String) {
    for character in text.chars() {
        match character {
            '&' => markup.push_str("&amp;"),
            '\'' => markup.push_str("&#39;"),
            '<' => markup.push_str("&lt;"),
            '>' => markup.push_str("&gt;"),
            '"' => markup.push_str("&#34;"),
            '\r' => markup.push_str("&#13;"),
            other => markup.push(other),
        }
    }
}
