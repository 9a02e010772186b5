//! Assertions as `expect`, and extractors as assignments to the user's state.

use super::tree::PlanNode;
use super::values::{Values, state};
use crate::text::quoted;
use crate::write::text;

/// Bits of `Assertion.test_type` (`ResponseAssertion.java`).
const MATCH: u32 = 1;
const CONTAINS: u32 = 2;
const NOT: u32 = 4;
const EQUALS: u32 = 8;
const SUBSTRING: u32 = 16;
const OR: u32 = 32;

/// What the assertions expect, as the value of `expect`.
pub(super) fn expectation(assertions: &[PlanNode], values: &mut Values) -> Option<String> {
    let (mut status, mut limit, mut json) = (Vec::new(), None, Vec::new());
    // Look-aheads: each assertion of the body is one.
    let mut body = String::new();
    for assertion in assertions {
        match assertion.kind() {
            "DurationAssertion" => match assertion.text("DurationAssertion.duration").parse::<f64>() {
                Ok(most) => limit = Some(quoted(&crate::text::milliseconds(most))),
                Err(_) => values.lost(format!("the duration of \"{}\"", assertion.name())),
            },
            "JSONPathAssertion" => match path_assertion(assertion, values) {
                Some(entry) => json.push(entry),
                None => values.lost(format!("the JSON assertion \"{}\"", assertion.name())),
            },
            _ => {
                let field = assertion.text("Assertion.test_field");
                let found = if field.ends_with("response_code") {
                    statuses(assertion).map(|found| status.extend(found))
                } else if field.ends_with("response_data") || field.is_empty() {
                    pattern(assertion).map(|pattern| body.push_str(&pattern))
                } else {
                    None
                };
                if found.is_none() {
                    values.lost(format!("the assertion \"{}\": use `expect` or `user.check`", assertion.name()));
                }
            }
        }
    }
    // "Ignore status": a status of 400 or more passes, too.
    if status.is_empty() && assertions.iter().any(|assertion| assertion.is_true("Assertion.assume_success")) {
        status = ["1xx", "2xx", "3xx", "4xx", "5xx"].iter().map(|class| quoted(class)).collect();
    }
    let mut parts = Vec::new();
    match &status[..] {
        [] => {}
        [one] => parts.push(format!("status: {one}")),
        many => parts.push(format!("status: [{}]", many.join(", "))),
    }
    if !body.is_empty() {
        parts.push(format!("text: new RegExp({})", quoted(&format!("^{body}"))));
    }
    if !json.is_empty() {
        parts.push(format!("json: {{ {} }}", json.join(", ")));
    }
    parts.extend(limit.map(|limit| format!("within: {limit}")));
    (!parts.is_empty()).then(|| format!("{{ {} }}", parts.join(", ")))
}

fn strings(assertion: &PlanNode) -> Vec<String> {
    // The property's name is misspelt in JMeter's files.
    let found = assertion.strings("Asserion.test_strings");
    if found.is_empty() { assertion.strings("Assertion.test_strings") } else { found }
}

fn kind_of(assertion: &PlanNode) -> u32 {
    assertion.text("Assertion.test_type").trim().parse().unwrap_or(CONTAINS)
}

/// Statuses that the assertion accepts.
fn statuses(assertion: &PlanNode) -> Option<Vec<String>> {
    let kind = kind_of(assertion);
    let strings = strings(assertion);
    if kind & NOT != 0 || (strings.len() > 1 && kind & OR == 0) {
        return None;
    }
    let status = |text: &String| {
        let text = text.trim();
        let class = text.strip_suffix("..").or(text.strip_suffix("\\d\\d")).or(text.strip_suffix("[0-9][0-9]"));
        match class {
            Some(class) if kind & (EQUALS | SUBSTRING) == 0 && matches!(class, "1" | "2" | "3" | "4" | "5") => {
                Some(vec![quoted(&format!("{class}xx"))])
            }
            _ if text.len() == 3 && text.parse::<u16>().is_ok() => Some(vec![text.to_owned()]),
            // A list of alternatives.
            _ if text.contains('|') && kind & (EQUALS | SUBSTRING) == 0 => text
                .trim_matches(['(', ')'])
                .split('|')
                .map(|one| (one.len() == 3 && one.parse::<u16>().is_ok()).then(|| one.to_owned()))
                .collect(),
            _ => None,
        }
    };
    strings.iter().map(status).collect::<Option<Vec<_>>>().map(|lists| lists.concat())
}

/// Look-aheads for the body.
fn pattern(assertion: &PlanNode) -> Option<String> {
    let kind = kind_of(assertion);
    let strings = strings(assertion);
    if strings.iter().any(|text| text.contains("${")) || strings.is_empty() {
        return None;
    }
    let one = |text: &String| {
        let is_plain = kind & (EQUALS | SUBSTRING) != 0;
        let inner = if is_plain { escaped(text) } else { text.trim_start_matches("(?s)").to_owned() };
        // Patterns that match whole bodies, and those that occur in them.
        if kind & (MATCH | EQUALS) != 0 { format!("(?:{inner})$") } else { format!("[\\s\\S]*(?:{inner})") }
    };
    let ahead = if kind & NOT != 0 { "(?!" } else { "(?=" };
    let all: Vec<String> = strings.iter().map(one).collect();
    Some(if kind & OR != 0 {
        // "Not" and "or": at least one does not match.
        if kind & NOT != 0 {
            format!("(?!{})", all.iter().map(|one| format!("(?={one})")).collect::<String>())
        } else {
            format!("(?={})", all.join("|"))
        }
    } else {
        all.iter().map(|one| format!("{ahead}{one})")).collect()
    })
}

fn path_assertion(assertion: &PlanNode, values: &mut Values) -> Option<String> {
    let path = assertion.text("JSON_PATH");
    if path.contains("${") || assertion.is_true("INVERT") {
        return None;
    }
    if assertion.is_true("EXPECT_NULL") {
        return Some(format!("{}: null", quoted(path)));
    }
    if !assertion.is_true("JSONVALIDATION") {
        return Some(format!("{}: (value: unknown) => value !== undefined", quoted(path)));
    }
    let expected = assertion.text("EXPECTED_VALUE");
    if !assertion.is_false("ISREGEX") {
        values.helpers.insert("asText");
        return (!expected.contains("${")).then(|| {
            let pattern = quoted(&format!("^(?:{expected})$"));
            format!("{}: (value: unknown) => new RegExp({pattern}).test(asText(value))", quoted(path))
        });
    }
    values.helpers.insert("asText");
    let filled = values.filled(expected);
    Some(format!("{}: (value: unknown) => asText(value) === String({})", quoted(path), text(&filled)))
}

/// Assignments of an extractor.
pub(super) fn extraction(node: &PlanNode, values: &mut Values) -> String {
    let code = match node.kind() {
        "RegexExtractor" => regex(node, values),
        "BoundaryExtractor" => boundary(node, values),
        "JSONPostProcessor" => json(node, values),
        "HtmlExtractor" => {
            let attribute = node.text("HtmlExtractor.attribute");
            let options = if attribute.is_empty() { "{}".to_owned() } else { format!("{{ attribute: {} }}", quoted(attribute)) };
            let default = default_of(node, "HtmlExtractor.default", node.text("HtmlExtractor.refname"), values);
            let is_first = matches!(node.text("HtmlExtractor.match_number").trim(), "" | "1");
            is_first.then(|| {
                let (name, expression) = (node.text("HtmlExtractor.refname"), quoted(node.text("HtmlExtractor.expr")));
                format!("{} = response.css({expression}, {options}, {default});\n", state(name))
            })
        }
        _ => {
            let (name, query, default) = if node.kind() == "XPath2Extractor" {
                ("XPathExtractor2.refname", "XPathExtractor2.xpathQuery", "XPathExtractor2.default")
            } else {
                ("XPathExtractor.refname", "XPathExtractor.xpathQuery", "XPathExtractor.default")
            };
            let default = default_of(node, default, node.text(name), values);
            Some(format!("{} = response.xpath({}, {default});\n", state(node.text(name)), quoted(node.text(query))))
        }
    };
    code.unwrap_or_else(|| {
        values.lost(format!("the extractor \"{}\"", node.name()));
        format!("// Not translated: the extractor \"{}\".\n", node.name())
    })
}

/// What JMeter stores if nothing matches. Without a default, the variable stays as it was.
fn default_of(node: &PlanNode, property: &str, variable: &str, values: &mut Values) -> String {
    let prefix = property.split('.').next().unwrap_or(property);
    if node.text(property).is_empty() && !node.is_true(&format!("{prefix}.default_empty_value")) {
        return state(variable);
    }
    let default = values.filled(node.text(property));
    text(&default)
}

fn regex(node: &PlanNode, values: &mut Values) -> Option<String> {
    let source = match node.text("RegexExtractor.useHeaders") {
        "" | "false" => "response.text",
        "true" => "Object.entries(response.headers).map(([name, content]) => `${name}: ${content}`).join(\"\\n\")",
        "URL" => "response.url",
        "code" => "String(response.status)",
        _ => return None,
    };
    let pattern = node.text("RegexExtractor.regex");
    if pattern.contains("${") {
        return None;
    }
    let flags =
        pattern.strip_prefix("(?").and_then(|rest| rest.split_once(')')).filter(|(flags, _)| flags.chars().all(|c| "ism".contains(c)));
    let (flags, pattern) = flags.unwrap_or(("", pattern));
    // Header names are in lower case here.
    let flags = if source.starts_with("Object") && !flags.contains('i') { format!("{flags}i") } else { flags.to_owned() };
    let number = match_number(node.text("RegexExtractor.match_number"))?;
    let template = Some(node.text("RegexExtractor.template")).filter(|template| !template.is_empty()).unwrap_or("$1$");
    let default = default_of(node, "RegexExtractor.default", node.text("RegexExtractor.refname"), values);
    values.helpers.insert("matched");
    Some(format!(
        "{} = matched(user, {source}, new RegExp({}, \"g{flags}\"), {}, {number}, {default});\n",
        state(node.text("RegexExtractor.refname")),
        quoted(pattern),
        quoted(template),
    ))
}

fn boundary(node: &PlanNode, values: &mut Values) -> Option<String> {
    let (left, right) = (node.text("BoundaryExtractor.lboundary"), node.text("BoundaryExtractor.rboundary"));
    if !matches!(node.text("BoundaryExtractor.useHeaders"), "" | "false") || left.contains("${") || right.contains("${") {
        return None;
    }
    let number = match_number(node.text("BoundaryExtractor.match_number"))?;
    let default = default_of(node, "BoundaryExtractor.default", node.text("BoundaryExtractor.refname"), values);
    values.helpers.insert("matched");
    Some(format!(
        "{} = matched(user, response.text, new RegExp({}, \"gs\"), \"$1$\", {number}, {default});\n",
        state(node.text("BoundaryExtractor.refname")),
        quoted(&format!("{}(.*?){}", escaped(left), escaped(right))),
    ))
}

/// Which match: 1 is the first, 0 is a random one. All of them (-1) become several variables, which has no equivalent.
fn match_number(text: &str) -> Option<u32> {
    let text = text.trim();
    if text.is_empty() { Some(0) } else { text.parse().ok() }
}

fn json(node: &PlanNode, values: &mut Values) -> Option<String> {
    let list = |name: &str| node.text(name).split(';').map(|part| part.trim().to_owned()).collect::<Vec<_>>();
    let (names, paths) = (list("JSONPostProcessor.referenceNames"), list("JSONPostProcessor.jsonPathExprs"));
    let (numbers, defaults) = (list("JSONPostProcessor.match_numbers"), list("JSONPostProcessor.defaultValues"));
    if names.len() != paths.len() || paths.iter().any(|path| path.contains("${")) {
        return None;
    }
    values.helpers.insert("asText");
    let mut code = String::new();
    for (index, (name, path)) in names.iter().zip(&paths).enumerate() {
        let default = values.filled(defaults.get(index).map_or("", String::as_str));
        let (default, path) = (text(&default), quoted(path));
        let read = match match_number(numbers.get(index).map_or("", String::as_str))? {
            1 => format!("response.json({path}, {default})"),
            number => {
                let all = format!("response.json(\"$\", undefined) === undefined ? [] : response.jsonAll({path})");
                values.helpers.insert("nth");
                format!("nth(user, {all}, {number}, {default})")
            }
        };
        code.push_str(&format!("{} = asText({read});\n", state(name)));
    }
    Some(code)
}

/// A string as a pattern that matches it alone.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if "\\^$.|?*+()[]{}/".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Names that extractors set.
pub(super) fn names(node: &PlanNode) -> Vec<String> {
    let property = match node.kind() {
        "RegexExtractor" => "RegexExtractor.refname",
        "BoundaryExtractor" => "BoundaryExtractor.refname",
        "JSONPostProcessor" => "JSONPostProcessor.referenceNames",
        "HtmlExtractor" => "HtmlExtractor.refname",
        "XPathExtractor" => "XPathExtractor.refname",
        "XPath2Extractor" => "XPathExtractor2.refname",
        _ => return Vec::new(),
    };
    node.text(property).split(';').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}
