//! A document as one list of nodes in document order, so that every axis is a range and no traversal recurses.
//!
//! Read [`DocumentTree`]. [`DocumentTree::from_xml`] and [`DocumentTree::from_html`] build it.

use quick_xml::NsReader;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::{NamespaceError, PrefixDeclaration, ResolveResult};
use scraper::{Html, Node as HtmlNode};

use crate::extract::ExtractError;
use crate::extract::effort::{Effort, NESTING_MAX, too_deep};

/// Attributes of one element. The parser compares each with the others.
const ATTRIBUTES_MAX: usize = 1_000;

/// A node or an attribute. The order of ids is the document order: the lower half is 0 for the node, and 1 + n for its attribute n.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NodeId(u64);

impl NodeId {
    pub(super) const ROOT: Self = Self(0);

    pub(super) fn node(index: usize) -> Self {
        Self((index as u64) << 32)
    }

    pub(super) fn attribute(index: usize, number: usize) -> Self {
        Self((index as u64) << 32 | (number as u64 + 1))
    }

    /// Index of the node, or of the attribute's element.
    pub(super) fn index(self) -> usize {
        (self.0 >> 32) as usize
    }

    pub(super) fn attribute_number(self) -> Option<usize> {
        (self.0 as u32 as usize).checked_sub(1)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct NodeName {
    pub(super) prefix: String,
    pub(super) local: String,
    /// Empty: none.
    pub(super) namespace: String,
}

impl NodeName {
    /// As written.
    pub(super) fn qualified(&self) -> String {
        if self.prefix.is_empty() { self.local.clone() } else { format!("{}:{}", self.prefix, self.local) }
    }
}

#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) name: NodeName,
    pub(super) value: String,
}

#[derive(Debug)]
pub(super) enum TreeNodeKind {
    Root,
    Element(NodeName, Vec<Attribute>),
    Text(String),
    Comment(String),
    Instruction { target: String, content: String },
}

#[derive(Debug)]
pub(super) struct TreeNode {
    pub(super) kind: TreeNodeKind,
    pub(super) parent: usize,
    /// Index after its last descendant.
    pub(super) end: usize,
}

/// A document.
#[derive(Debug)]
pub(super) struct DocumentTree {
    pub(super) nodes: Vec<TreeNode>,
    /// Prefixes that the root element declares, with their namespaces.
    pub(super) declared: Vec<(String, String)>,
}

/// Adds nodes in document order.
struct Builder {
    tree: DocumentTree,
    /// Indices of the open elements, the root first.
    open: Vec<usize>,
}

impl Builder {
    fn new() -> Self {
        let root = TreeNode { kind: TreeNodeKind::Root, parent: 0, end: 1 };
        Self { tree: DocumentTree { nodes: vec![root], declared: Vec::new() }, open: vec![0] }
    }

    fn add(&mut self, kind: TreeNodeKind) -> usize {
        let index = self.tree.nodes.len();
        self.tree.nodes.push(TreeNode { kind, parent: self.parent(), end: index + 1 });
        index
    }

    fn parent(&self) -> usize {
        self.open.last().copied().unwrap_or(0)
    }

    fn open(&mut self, kind: TreeNodeKind) -> Result<(), ExtractError> {
        let index = self.add(kind);
        self.open.push(index);
        if self.open.len() > NESTING_MAX { Err(too_deep()) } else { Ok(()) }
    }

    fn close(&mut self) {
        if self.open.len() > 1
            && let Some(index) = self.open.pop()
        {
            self.tree.nodes[index].end = self.tree.nodes.len();
        }
    }

    /// Adjacent text is one node.
    fn text(&mut self, text: &str) {
        let parent = self.parent();
        if let Some(TreeNode { kind: TreeNodeKind::Text(before), parent: of, .. }) = self.tree.nodes.last_mut()
            && *of == parent
        {
            before.push_str(text);
        } else if !text.is_empty() {
            self.add(TreeNodeKind::Text(text.to_owned()));
        }
    }

    fn finish(mut self) -> DocumentTree {
        while self.open.len() > 1 {
            self.close();
        }
        self.tree.nodes[0].end = self.tree.nodes.len();
        self.tree
    }
}

fn not_xml(problem: impl std::fmt::Display) -> ExtractError {
    ExtractError::Body(format!("not XML: {problem}"))
}

/// The parser's own words name a function of its library.
fn unread(error: quick_xml::Error) -> ExtractError {
    match error {
        quick_xml::Error::Namespace(NamespaceError::TooManyBindings(limit)) => {
            ExtractError::Body(format!("elements declare more than {limit} namespaces at once"))
        }
        error => not_xml(error),
    }
}

impl DocumentTree {
    /// Parses XML 1.0. Entities that a document type declares are not expanded.
    pub(super) fn from_xml(body: &str, effort: &Effort) -> Result<Self, ExtractError> {
        let mut reader = NsReader::from_str(body);
        reader.config_mut().expand_empty_elements = true;
        let mut builder = Builder::new();
        let mut has_element = false;
        loop {
            effort.steps(1)?;
            let event = reader.read_event().map_err(unread)?;
            let is_outside = builder.open.len() == 1;
            match event {
                Event::Start(start) => {
                    if is_outside && std::mem::replace(&mut has_element, true) {
                        return Err(not_xml("there is more than one root element"));
                    }
                    let element = element_of(&reader, &start, effort)?;
                    if is_outside {
                        builder.tree.declared = declared_by(&reader);
                    }
                    builder.open(element)?;
                }
                Event::End(_) => builder.close(),
                Event::Text(text) => {
                    let text = text.xml10_content();
                    if !is_outside {
                        builder.text(&text);
                    } else if !text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']).is_empty() {
                        return Err(not_xml("there is text outside the root element"));
                    }
                }
                Event::CData(text) if !is_outside => builder.text(&text.xml10_content()),
                Event::GeneralRef(entity) if !is_outside => match entity.resolve_char_ref().map_err(not_xml)? {
                    Some(character) => builder.text(character.encode_utf8(&mut [0; 4])),
                    None => builder.text(predefined(&entity)?),
                },
                Event::CData(_) | Event::GeneralRef(_) => return Err(not_xml("there is text outside the root element")),
                Event::Comment(text) => _ = builder.add(TreeNodeKind::Comment(text.xml10_content().into_owned())),
                Event::PI(instruction) => {
                    let (target, content) = (instruction.target().to_owned(), instruction.content().trim_start().to_owned());
                    builder.add(TreeNodeKind::Instruction { target, content });
                }
                Event::Eof if !has_element => return Err(not_xml("there is no element")),
                Event::Eof if !is_outside => return Err(not_xml("an element is not closed")),
                Event::Eof => return Ok(builder.finish()),
                Event::Decl(_) | Event::DocType(_) | Event::Empty(_) => {}
            }
        }
    }

    /// HTML as browsers parse it. Names have no namespace, so that `//div` finds them.
    pub(super) fn from_html(page: &Html, effort: &Effort) -> Result<Self, ExtractError> {
        use ego_tree::iter::Edge;
        let mut builder = Builder::new();
        for edge in page.tree.root().traverse() {
            effort.steps(1)?;
            match edge {
                Edge::Open(node) => match node.value() {
                    HtmlNode::Element(element) => {
                        let attributes = element.attrs().map(|(name, value)| Attribute { name: plain(name), value: value.to_owned() });
                        builder.open(TreeNodeKind::Element(plain(element.name()), attributes.collect()))?;
                    }
                    HtmlNode::Text(text) => builder.text(text),
                    HtmlNode::Comment(text) => _ = builder.add(TreeNodeKind::Comment(text.to_string())),
                    _ => {}
                },
                Edge::Close(node) if node.value().is_element() => builder.close(),
                Edge::Close(_) => {}
            }
        }
        Ok(builder.finish())
    }

    /// The string-value of a node (XPath 1.0, section 5).
    pub(super) fn string(&self, id: NodeId, effort: &Effort) -> Result<String, ExtractError> {
        let node = &self.nodes[id.index()];
        let value = match (&node.kind, id.attribute_number()) {
            (TreeNodeKind::Element(_, attributes), Some(number)) => attributes[number].value.clone(),
            (TreeNodeKind::Text(text) | TreeNodeKind::Comment(text) | TreeNodeKind::Instruction { content: text, .. }, _) => text.clone(),
            (TreeNodeKind::Root | TreeNodeKind::Element(..), _) => {
                let mut all = String::new();
                for node in &self.nodes[id.index()..node.end] {
                    effort.steps(1)?;
                    if let TreeNodeKind::Text(text) = &node.kind {
                        all.push_str(text);
                    }
                }
                all
            }
        };
        effort.steps(value.len() / 64)?;
        Ok(value)
    }

    /// The name of an element or attribute.
    pub(super) fn name(&self, id: NodeId) -> Option<&NodeName> {
        match (&self.nodes[id.index()].kind, id.attribute_number()) {
            (TreeNodeKind::Element(_, attributes), Some(number)) => Some(&attributes[number].name),
            (TreeNodeKind::Element(name, _), None) => Some(name),
            _ => None,
        }
    }

    pub(super) fn attributes(&self, index: usize) -> &[Attribute] {
        match &self.nodes[index].kind {
            TreeNodeKind::Element(_, attributes) => attributes,
            _ => &[],
        }
    }
}

fn plain(local: &str) -> NodeName {
    NodeName { local: local.to_owned(), ..NodeName::default() }
}

fn predefined(entity: &str) -> Result<&'static str, ExtractError> {
    quick_xml::escape::resolve_predefined_entity(entity).ok_or_else(|| not_xml(format!("the entity \"{entity}\" is not declared")))
}

fn element_of(reader: &NsReader<&[u8]>, start: &BytesStart<'_>, effort: &Effort) -> Result<TreeNodeKind, ExtractError> {
    let resolver = reader.resolver();
    let (namespace, _) = resolver.resolve_element(start.name());
    let name = name_of(start.name(), &namespace)?;
    let mut attributes = Vec::new();
    for (number, attribute) in start.attributes().enumerate() {
        if number >= ATTRIBUTES_MAX {
            return Err(not_xml(format!("an element has more than {ATTRIBUTES_MAX} attributes")));
        }
        effort.steps(number)?;
        let attribute = attribute.map_err(not_xml)?;
        if attribute.key.as_namespace_binding().is_some() {
            continue;
        }
        let (namespace, _) = resolver.resolve_attribute(attribute.key);
        let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0).map_err(not_xml)?.into_owned();
        attributes.push(Attribute { name: name_of(attribute.key, &namespace)?, value });
    }
    Ok(TreeNodeKind::Element(name, attributes))
}

fn name_of(name: quick_xml::name::QName<'_>, namespace: &ResolveResult<'_>) -> Result<NodeName, ExtractError> {
    let (local, prefix) = name.decompose();
    let namespace = match namespace {
        ResolveResult::Unbound => String::new(),
        ResolveResult::Bound(namespace) => namespace.into_inner().to_owned(),
        ResolveResult::Unknown(prefix) => return Err(not_xml(format!("the prefix \"{prefix}\" is not declared"))),
    };
    Ok(NodeName {
        prefix: prefix.map(|prefix| prefix.into_inner().to_owned()).unwrap_or_default(),
        local: local.into_inner().to_owned(),
        namespace,
    })
}

fn declared_by(reader: &NsReader<&[u8]>) -> Vec<(String, String)> {
    let bindings = reader.resolver().bindings().filter_map(|(prefix, namespace)| match prefix {
        PrefixDeclaration::Named(prefix) => Some((prefix.to_owned(), namespace.into_inner().to_owned())),
        PrefixDeclaration::Default => None,
    });
    let xml = ("xml".to_owned(), "http://www.w3.org/XML/1998/namespace".to_owned());
    std::iter::once(xml).chain(bindings).collect()
}
