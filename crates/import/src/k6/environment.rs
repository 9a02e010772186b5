//! `__ENV.NAME`: a parameter of the test.

use std::collections::{BTreeMap, HashSet};

use oxc_ast::AstKind;
use oxc_semantic::NodeId;
use oxc_span::Span;

use super::tree::Tree;
use crate::text::{camel_case, fresh, quoted};

/// A variable of the environment.
pub(super) struct Variable {
    /// Of the parameter.
    pub(super) parameter: String,
    /// Of the constant that holds it, where it is not declared where it is used.
    constant: Option<String>,
    default: Default,
    /// Whether several files may read it: a parameter is declared once.
    is_shared: bool,
}

enum Default {
    Text(String),
    Number(String),
}

/// All that a file reads.
#[derive(Default)]
pub(super) struct Environment {
    variables: BTreeMap<String, Variable>,
}

impl Environment {
    /// `shared` returns whether a variable is declared in the separate parameter file.
    pub(super) fn of(tree: &Tree<'_>, shared: &dyn Fn(&str) -> bool) -> Self {
        let mut uses: BTreeMap<String, Vec<NodeId>> = BTreeMap::new();
        for id in tree.all() {
            if let Some((object, name)) = tree.member(id)
                && tree.global(object) == Some("__ENV")
            {
                uses.entry(name).or_default().push(id);
            }
        }
        let mut taken: HashSet<String> = tree.names().map(|(_, name)| name.to_owned()).collect();
        let mut parameters = HashSet::new();
        let mut variables = BTreeMap::new();
        for (name, places) in uses {
            let default =
                places.iter().find_map(|&place| fallback(tree, place)).map_or(Default::Text(String::new()), |(_, default)| default);
            let parameter = fresh(&mut parameters, &camel_case(&name));
            let is_shared = shared(&name);
            let in_place = !is_shared && places.len() == 1 && tree.around(places[0]).is_none();
            let constant = (!in_place).then(|| fresh(&mut taken, &parameter));
            variables.insert(name, Variable { parameter, constant, default, is_shared });
        }
        Self { variables }
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = (&str, &Variable)> {
        self.variables.iter().map(|(name, variable)| (name.as_str(), variable))
    }

    /// Declarations of the parameters that stand at the top of the file.
    pub(super) fn declarations(&self, param: &str) -> Vec<String> {
        let declared = self.variables.iter().filter(|(_, variable)| !variable.is_shared).filter_map(|(name, variable)| {
            let constant = variable.constant.as_ref()?;
            Some(format!("const {constant} = {};", variable.declaration(name, param)))
        });
        declared.collect()
    }

    /// Declarations for the file of the shared ones, by variable.
    pub(super) fn shared(&self) -> impl Iterator<Item = (String, String)> {
        let shared = self.variables.iter().filter(|(_, variable)| variable.is_shared);
        shared.map(|(name, variable)| {
            (name.clone(), format!("export const {} = {};", variable.parameter, variable.declaration(name, "param")))
        })
    }

    /// Takes the shared ones from their file.
    pub(super) fn import(&self, from: &str) -> Option<String> {
        let shared = self.variables.values().filter(|variable| variable.is_shared);
        let names = shared.filter_map(|variable| {
            let constant = variable.constant.as_ref()?;
            let name = &variable.parameter;
            Some(if name == constant { name.clone() } else { format!("{name} as {constant}") })
        });
        let names: Vec<String> = names.collect();
        (!names.is_empty()).then(|| format!("import {{ {} }} from {};", names.join(", "), quoted(from)))
    }

    /// What a use of a variable is replaced by, and where; its default goes with it.
    pub(super) fn replacement(&self, tree: &Tree<'_>, place: NodeId, name: &str, param: &str) -> Option<(Span, String)> {
        let variable = self.variables.get(name)?;
        let whole = fallback(tree, place).filter(|(_, default)| default.text() == variable.default.text());
        let span = tree.span(whole.map_or(place, |(whole, _)| whole));
        Some((span, variable.constant.clone().unwrap_or_else(|| variable.declaration(name, param))))
    }

    /// Whether a constant at the top of the file is needed for any of them.
    pub(super) fn is_empty(&self) -> bool {
        self.variables.values().all(|variable| variable.is_shared)
    }
}

impl Variable {
    fn declaration(&self, name: &str, param: &str) -> String {
        let secret = if loadstone_secrets::is_credential(name) { ", secret: true" } else { "" };
        let (kind, default) = match &self.default {
            Default::Number(number) => ("number", number.clone()),
            Default::Text(text) => {
                let is_url =
                    url::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https" | "ws" | "wss") && url.has_host());
                (if is_url { "url" } else { "string" }, quoted(text))
            }
        };
        format!("{param}.{kind}({}, {{ default: {default}{secret} }})", quoted(&self.parameter))
    }
}

/// The `… || default` around a use, and what it says.
fn fallback(tree: &Tree<'_>, place: NodeId) -> Option<(NodeId, Default)> {
    let parent = tree.parent(place)?;
    let AstKind::LogicalExpression(logical) = tree.kind(parent) else { return None };
    let [left, right] = tree.children(parent) else { return None };
    if *left != place || !matches!(logical.operator.as_str(), "||" | "??") {
        return None;
    }
    if let Some(text) = tree.string(*right) {
        return Some((parent, Default::Text(text)));
    }
    tree.number(*right).map(|_| (parent, Default::Number(tree.source(*right).to_owned())))
}

impl Default {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Number(text) => text,
        }
    }
}
