//! A k6 script as a tree of nodes in the order of its text, with what each name refers to. The only file that asks oxc how nodes hang together.

use oxc_ast::AstKind;
use oxc_semantic::{NodeId, Semantic, SymbolId};
use oxc_span::{GetSpan, Span};

/// A script, parsed.
pub(super) struct Tree<'a> {
    pub(super) text: &'a str,
    semantic: Semantic<'a>,
    children: Vec<Vec<NodeId>>,
}

/// A call or `new`.
pub(super) struct CallParts {
    pub(super) callee: NodeId,
    pub(super) arguments: Vec<NodeId>,
}

/// A function of any form.
pub(super) struct FunctionParts {
    /// The list of parameters, with its parentheses where it has them.
    pub(super) list: NodeId,
    /// Patterns of the parameters.
    pub(super) parameters: Vec<NodeId>,
    pub(super) body: NodeId,
    pub(super) is_async: bool,
    /// An arrow whose body is an expression.
    pub(super) is_expression: bool,
}

/// One entry of an object literal.
pub(super) struct Property {
    pub(super) node: NodeId,
    /// `None` where the key is computed, and for spreads.
    pub(super) key: Option<String>,
    pub(super) key_node: Option<NodeId>,
    pub(super) value: NodeId,
    pub(super) spread: bool,
    pub(super) computed: bool,
}

impl<'a> Tree<'a> {
    pub(super) fn new(text: &'a str, semantic: Semantic<'a>) -> Self {
        let nodes = semantic.nodes();
        let mut children = vec![Vec::new(); nodes.len()];
        for (id, _) in nodes.iter_enumerated() {
            let parent = nodes.parent_id(id);
            if parent != id {
                children[parent.index()].push(id);
            }
        }
        Self { text, semantic, children }
    }

    /// All nodes, parents before their children.
    pub(super) fn all(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.semantic.nodes().iter_enumerated().map(|(id, _)| id)
    }

    pub(super) fn kind(&self, id: NodeId) -> AstKind<'a> {
        self.semantic.nodes().kind(id)
    }

    pub(super) fn span(&self, id: NodeId) -> Span {
        self.kind(id).span()
    }

    pub(super) fn of(&self, span: Span) -> &'a str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    pub(super) fn source(&self, id: NodeId) -> &'a str {
        self.of(self.span(id))
    }

    pub(super) fn parent(&self, id: NodeId) -> Option<NodeId> {
        let parent = self.semantic.nodes().parent_id(id);
        (parent != id).then_some(parent)
    }

    pub(super) fn children(&self, id: NodeId) -> &[NodeId] {
        &self.children[id.index()]
    }

    /// From the parent of a node to the program.
    pub(super) fn ancestors(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.parent(id), |&at| self.parent(at))
    }

    pub(super) fn within(&self, id: NodeId, outer: NodeId) -> bool {
        id == outer || self.ancestors(id).any(|at| at == outer)
    }

    /// 1 for the first line.
    pub(super) fn line(&self, id: NodeId) -> usize {
        self.text[..self.span(id).start as usize].matches('\n').count() + 1
    }

    /// What stands before the first character of a node's line that is no blank.
    pub(super) fn indent(&self, id: NodeId) -> &'a str {
        let start = self.span(id).start as usize;
        let line = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let rest = &self.text[line..];
        &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
    }

    /// A node's stretch of the text; with all of its lines where nothing else stands on them.
    pub(super) fn line_of(&self, id: NodeId) -> Span {
        let span = self.span(id);
        let before = &self.text[..span.start as usize];
        let behind = &self.text[span.end as usize..];
        let start = before.trim_end_matches([' ', '\t']).len();
        let end = behind.trim_start_matches([' ', '\t']);
        if (start == 0 || before[..start].ends_with('\n')) && end.starts_with('\n') {
            return Span::new(start as u32, span.end + (behind.len() - end.len()) as u32 + 1);
        }
        span
    }

    /// What a name stands for, where it is used or where it is declared.
    pub(super) fn symbol(&self, id: NodeId) -> Option<SymbolId> {
        match self.kind(id) {
            AstKind::IdentifierReference(name) => {
                name.reference_id.get().and_then(|reference| self.semantic.scoping().get_reference(reference).symbol_id())
            }
            AstKind::BindingIdentifier(name) => name.symbol_id.get(),
            _ => None,
        }
    }

    /// A global name: used, and declared nowhere.
    pub(super) fn global(&self, id: NodeId) -> Option<&'a str> {
        match self.kind(id) {
            AstKind::IdentifierReference(name) if self.symbol(id).is_none() => Some(name.name.as_str()),
            _ => None,
        }
    }

    pub(super) fn symbol_name(&self, symbol: SymbolId) -> &str {
        self.semantic.scoping().symbol_name(symbol)
    }

    pub(super) fn symbol_span(&self, symbol: SymbolId) -> Span {
        self.semantic.scoping().symbol_span(symbol)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = (SymbolId, &str)> + '_ {
        let scoping = self.semantic.scoping();
        scoping.symbol_ids().map(|symbol| (symbol, scoping.symbol_name(symbol)))
    }

    /// Where a symbol is used.
    pub(super) fn references(&self, symbol: SymbolId) -> Vec<NodeId> {
        self.semantic.symbol_references(symbol).map(oxc_semantic::Reference::node_id).collect()
    }

    /// Through parentheses, casts, `!`, `await` and the mark of an optional chain.
    pub(super) fn strip(&self, id: NodeId) -> NodeId {
        match self.kind(id) {
            AstKind::ParenthesizedExpression(_)
            | AstKind::TSAsExpression(_)
            | AstKind::TSNonNullExpression(_)
            | AstKind::TSSatisfiesExpression(_)
            | AstKind::ChainExpression(_)
            | AstKind::AwaitExpression(_) => self.children(id).first().map_or(id, |&inner| self.strip(inner)),
            _ => id,
        }
    }

    pub(super) fn call(&self, id: NodeId) -> Option<CallParts> {
        if !matches!(self.kind(id), AstKind::CallExpression(_) | AstKind::NewExpression(_)) {
            return None;
        }
        let mut parts = self.children(id).iter().copied().filter(|&c| !matches!(self.kind(c), AstKind::TSTypeParameterInstantiation(_)));
        let callee = parts.next()?;
        Some(CallParts { callee, arguments: parts.collect() })
    }

    /// `object.name` or `object["name"]`.
    pub(super) fn member(&self, id: NodeId) -> Option<(NodeId, String)> {
        match self.kind(id) {
            AstKind::StaticMemberExpression(member) => Some((*self.children(id).first()?, member.property.name.to_string())),
            AstKind::ComputedMemberExpression(_) => {
                let [object, property] = self.children(id) else { return None };
                Some((*object, self.string(*property)?))
            }
            _ => None,
        }
    }

    /// `list[index]`.
    pub(super) fn element(&self, id: NodeId) -> Option<NodeId> {
        matches!(self.kind(id), AstKind::ComputedMemberExpression(_)).then(|| self.children(id).first().copied()).flatten()
    }

    /// A text that is written out.
    pub(super) fn string(&self, id: NodeId) -> Option<String> {
        match self.kind(id) {
            AstKind::StringLiteral(text) => Some(text.value.to_string()),
            AstKind::TemplateLiteral(template) if template.expressions.is_empty() => {
                template.quasis.first().and_then(|part| part.value.cooked.as_ref()).map(ToString::to_string)
            }
            _ => None,
        }
    }

    pub(super) fn number(&self, id: NodeId) -> Option<f64> {
        match self.kind(id) {
            AstKind::NumericLiteral(number) => Some(number.value),
            _ => None,
        }
    }

    /// `null` or `undefined`.
    pub(super) fn nothing(&self, id: NodeId) -> bool {
        matches!(self.kind(id), AstKind::NullLiteral(_)) || self.global(id) == Some("undefined")
    }

    pub(super) fn properties(&self, id: NodeId) -> Option<Vec<Property>> {
        let AstKind::ObjectExpression(_) = self.kind(id) else { return None };
        let property = |&node: &NodeId| match (self.kind(node), self.children(node)) {
            (AstKind::ObjectProperty(property), [key, value]) => Property {
                node,
                key: if property.computed { self.string(*key) } else { self.key(*key) },
                key_node: Some(*key),
                value: *value,
                spread: false,
                computed: property.computed,
            },
            (_, inner) => {
                Property { node, key: None, key_node: None, value: inner.first().copied().unwrap_or(node), spread: true, computed: false }
            }
        };
        Some(self.children(id).iter().map(property).collect())
    }

    fn key(&self, id: NodeId) -> Option<String> {
        match self.kind(id) {
            AstKind::IdentifierName(name) => Some(name.name.to_string()),
            AstKind::NumericLiteral(number) => Some(number.value.to_string()),
            _ => self.string(id),
        }
    }

    pub(super) fn function(&self, id: NodeId) -> Option<FunctionParts> {
        let (is_async, is_expression) = match self.kind(id) {
            AstKind::Function(function) => (function.r#async, false),
            AstKind::ArrowFunctionExpression(arrow) => (arrow.r#async, true),
            _ => return None,
        };
        let list = *self.children(id).iter().find(|&&c| matches!(self.kind(c), AstKind::FormalParameters(_)))?;
        let body = *self.children(id).last()?;
        let is_expression = is_expression && !matches!(self.kind(body), AstKind::FunctionBody(_));
        let parameters = self
            .children(list)
            .iter()
            .filter(|&&c| matches!(self.kind(c), AstKind::FormalParameter(_)))
            .filter_map(|&parameter| self.children(parameter).first().copied())
            .collect();
        (body != list).then_some(FunctionParts { list, parameters, body, is_async, is_expression })
    }

    /// The innermost function around a node.
    pub(super) fn around(&self, id: NodeId) -> Option<NodeId> {
        self.ancestors(id).find(|&at| self.function(at).is_some())
    }

    /// The name that a function is bound to: its own, that of its variable, or (without a symbol) that of its method.
    pub(super) fn bound(&self, function: NodeId) -> (Option<SymbolId>, Option<String>) {
        if let AstKind::Function(declared) = self.kind(function)
            && let Some(id) = &declared.id
        {
            return (id.symbol_id.get(), Some(id.name.to_string()));
        }
        let Some(parent) = self.parent(function) else { return (None, None) };
        match self.kind(parent) {
            AstKind::VariableDeclarator(_) => {
                let name = self.children(parent).first().copied();
                (name.and_then(|name| self.symbol(name)), name.map(|name| self.source(name).to_owned()))
            }
            AstKind::MethodDefinition(_) | AstKind::ObjectProperty(_) | AstKind::PropertyDefinition(_) => {
                (None, self.children(parent).first().and_then(|&key| self.key(key)))
            }
            _ => (None, None),
        }
    }

    /// The node that declares a name.
    pub(super) fn declared(&self, symbol: SymbolId) -> NodeId {
        self.semantic.symbol_declaration(symbol).id()
    }

    /// Whether a use of a name is an assignment to it.
    pub(super) fn is_assigned(&self, used: NodeId) -> bool {
        self.parent(used).is_some_and(|parent| match self.kind(parent) {
            AstKind::AssignmentExpression(_) => self.children(parent).first() == Some(&used),
            AstKind::UpdateExpression(_) => true,
            _ => false,
        })
    }

    /// The function that a name is bound to.
    pub(super) fn function_of(&self, symbol: SymbolId) -> Option<NodeId> {
        let declared = self.semantic.symbol_declaration(symbol).id();
        if self.function(declared).is_some() {
            return Some(declared);
        }
        let AstKind::VariableDeclarator(_) = self.kind(declared) else { return None };
        self.children(declared).last().copied().filter(|&value| self.function(value).is_some())
    }

    /// The value that a name is declared with.
    pub(super) fn initial(&self, symbol: SymbolId) -> Option<NodeId> {
        let declared = self.semantic.symbol_declaration(symbol).id();
        let AstKind::VariableDeclarator(declarator) = self.kind(declared) else { return None };
        declarator.init.as_ref()?;
        self.children(declared).last().copied()
    }

    /// The innermost statement around a node that can be taken out as a whole.
    pub(super) fn statement(&self, id: NodeId) -> Option<NodeId> {
        let is_loop_head = |at: NodeId| {
            matches!(self.kind(at), AstKind::VariableDeclaration(_))
                && self.parent(at).is_some_and(|parent| self.kind(parent).is_iteration_statement())
        };
        let declares = |at: NodeId| {
            let kind = self.kind(at);
            kind.is_statement() && !matches!(kind, AstKind::BlockStatement(_))
                || matches!(kind, AstKind::Function(function) if function.is_declaration())
                || matches!(kind, AstKind::Class(class) if class.is_declaration())
                || matches!(kind, AstKind::ExportNamedDeclaration(_))
        };
        let found = std::iter::once(id).chain(self.ancestors(id)).find(|&at| declares(at) && !is_loop_head(at))?;
        let exported = self
            .parent(found)
            .filter(|&parent| matches!(self.kind(parent), AstKind::ExportDeclaration(_) | AstKind::ExportDefaultDeclaration(_)));
        Some(exported.unwrap_or(found))
    }

    /// Whether a statement stands in a list of statements, so that there may be more or less of them.
    pub(super) fn in_list(&self, statement: NodeId) -> bool {
        self.parent(statement).is_some_and(|parent| {
            matches!(
                self.kind(parent),
                AstKind::Program(_) | AstKind::BlockStatement(_) | AstKind::FunctionBody(_) | AstKind::SwitchCase(_)
            )
        })
    }
}
