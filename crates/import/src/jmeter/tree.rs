//! A test plan as a tree of elements. In the file, each element is followed by a `hashTree` with its children.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// An XML element.
#[derive(Debug, Default, Clone)]
struct Element {
    tag: String,
    attributes: Vec<(String, String)>,
    children: Vec<Element>,
    text: String,
}

/// An element of the plan with those below it.
#[derive(Debug, Default, Clone)]
pub(super) struct PlanNode {
    element: Element,
    pub(super) children: Vec<PlanNode>,
}

/// The plan's root, whose children are the Test Plan element and perhaps a workbench.
pub(super) fn parse(text: &str) -> Result<PlanNode, (usize, String)> {
    let root = element(text)?;
    if root.tag != "jmeterTestPlan" {
        return Err((1, "this is not a test plan of JMeter: its root element is not `jmeterTestPlan`".to_owned()));
    }
    let mut node = PlanNode { element: root.clone(), children: Vec::new() };
    for tree in root.children.iter().filter(|child| child.tag == "hashTree") {
        node.children.extend(nodes(tree));
    }
    Ok(node)
}

fn nodes(tree: &Element) -> Vec<PlanNode> {
    let mut found: Vec<PlanNode> = Vec::new();
    for child in &tree.children {
        if child.tag == "hashTree" {
            if let Some(last) = found.last_mut() {
                last.children = nodes(child);
            }
        } else {
            found.push(PlanNode { element: child.clone(), children: Vec::new() });
        }
    }
    found.retain(|node| node.element.attribute("enabled") != Some("false"));
    found
}

fn element(text: &str) -> Result<Element, (usize, String)> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = vec![Element::default()];
    loop {
        let at = |reader: &Reader<&[u8]>| {
            let position = (reader.buffer_position() as usize).min(text.len());
            text.as_bytes()[..position].iter().filter(|byte| **byte == b'\n').count() + 1
        };
        let event = reader.read_event().map_err(|error| (at(&reader), format!("this is not XML: {error}")))?;
        let wrong = |error: &dyn std::fmt::Display| (at(&reader), format!("this is not XML: {error}"));
        match event {
            Event::Start(start) => open.push(begun(&start).map_err(|error| wrong(&error))?),
            Event::Empty(start) => {
                let child = begun(&start).map_err(|error| wrong(&error))?;
                push(&mut open, child);
            }
            Event::End(_) => {
                if let Some(child) = open.pop() {
                    push(&mut open, child);
                }
            }
            Event::Text(piece) => add(&mut open, &piece),
            Event::CData(piece) => add(&mut open, &piece),
            Event::GeneralRef(entity) => match entity.resolve_char_ref().map_err(|error| wrong(&error))? {
                Some(c) => add(&mut open, c.encode_utf8(&mut [0; 4])),
                None => add(&mut open, quick_xml::escape::resolve_predefined_entity(&entity).unwrap_or("")),
            },
            Event::Eof => break,
            _ => {}
        }
    }
    if open.len() != 1 {
        return Err((text.lines().count(), "this is not XML: an element is not closed".to_owned()));
    }
    let root = open.pop().and_then(|mut document| document.children.pop());
    root.ok_or_else(|| (1, "this is not XML: there is no element".to_owned()))
}

fn begun(start: &BytesStart<'_>) -> Result<Element, quick_xml::Error> {
    let mut element = Element { tag: start.name().into_inner().to_owned(), ..Element::default() };
    for attribute in start.attributes() {
        let attribute = attribute?;
        let value =
            quick_xml::escape::unescape(&attribute.value).map_or_else(|_| attribute.value.to_string(), std::borrow::Cow::into_owned);
        element.attributes.push((attribute.key.into_inner().to_owned(), value));
    }
    Ok(element)
}

fn push(open: &mut [Element], child: Element) {
    if let Some(parent) = open.last_mut() {
        parent.children.push(child);
    }
}

fn add(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

impl Element {
    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A property of any type, by its name.
    fn property(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.attribute("name") == Some(name))
    }
}

impl PlanNode {
    /// The class of the element: `HTTPSamplerProxy`, `kg.apc.jmeter.timers.VariableThroughputTimer`.
    pub(super) fn kind(&self) -> &str {
        self.element.tag.rsplit('.').next().unwrap_or(&self.element.tag)
    }

    /// The name that its author gave it.
    pub(super) fn name(&self) -> &str {
        self.element.attribute("testname").filter(|name| !name.is_empty()).unwrap_or_else(|| self.kind())
    }

    /// The text of a property; empty if there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.element.property(name).map_or("", |property| property.text.as_str())
    }

    pub(super) fn is_true(&self, name: &str) -> bool {
        self.text(name).trim() == "true"
    }

    pub(super) fn is_false(&self, name: &str) -> bool {
        self.text(name).trim() == "false"
    }

    /// A property that is an element, as a node.
    pub(super) fn inner(&self, name: &str) -> Option<PlanNode> {
        self.element.property(name).map(|element| PlanNode { element: element.clone(), children: Vec::new() })
    }

    /// The elements of a collection.
    pub(super) fn items(&self, name: &str) -> Vec<PlanNode> {
        let found = self.element.property(name).map_or(&[][..], |collection| collection.children.as_slice());
        found.iter().map(|element| PlanNode { element: element.clone(), children: Vec::new() }).collect()
    }

    /// The texts of a collection of strings.
    pub(super) fn strings(&self, name: &str) -> Vec<String> {
        self.items(name).into_iter().map(|item| item.element.text).collect()
    }

    /// The texts of the element's own children, for a collection in a collection.
    pub(super) fn own_strings(&self) -> Vec<String> {
        self.element.children.iter().map(|child| child.text.clone()).collect()
    }

    /// `Arguments` as pairs.
    pub(super) fn arguments(&self) -> Vec<(String, String)> {
        self.items("Arguments.arguments")
            .iter()
            .map(|argument| (argument.text("Argument.name").to_owned(), argument.text("Argument.value").to_owned()))
            .collect()
    }

    /// How many samplers there are below.
    pub(super) fn samplers(&self) -> usize {
        self.children.iter().map(|child| usize::from(child.kind().contains("Sampler")) + child.samplers()).sum()
    }
}
