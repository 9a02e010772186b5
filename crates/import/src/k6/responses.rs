//! Members of responses, of documents made of them, and of cookie jars.

use oxc_ast::AstKind;
use oxc_semantic::NodeId;
use oxc_span::Span;

use super::edits::Pieces;
use super::kinds::Kind;
use super::rewrite::Rewrite;
use super::tree::CallParts;
use crate::text::quoted;

impl Rewrite<'_, '_> {
    /// `response.body`, `response.timings.duration`, …
    pub(super) fn response_member(&mut self, id: NodeId) {
        let Some((object, name)) = self.tree.member(id) else { return };
        if self.kind_of(object) != Kind::Response {
            return;
        }
        let own = |inner: NodeId| Span::new(self.tree.span(object).end, self.tree.span(inner).end);
        let above = self.tree.parent(id).filter(|&parent| self.tree.children(parent).first() == Some(&id));
        let above_member = above.and_then(|above| self.tree.member(above).map(|(_, name)| (above, name)));
        // `response?.body` keeps its mark.
        let dot = if self.tree.of(own(id)).starts_with("?.") { "?." } else { "." };
        match (name.as_str(), above_member) {
            ("status" | "url" | "error" | "ok", _) => {}
            ("json" | "html", _) => {}
            ("body", _) => self.edits.replace(own(id), format!("{dot}text").into()),
            ("headers", Some((above, header))) => {
                self.edits.replace(own(above), format!("{dot}header({})", quoted(&header)).into());
            }
            ("headers", None) => {
                if let Some(above) = above.filter(|&above| self.tree.element(above) == Some(id))
                    && let Some(&key) = self.tree.children(above).get(1)
                {
                    self.edits.replace(own(above), Pieces::from(format!("{dot}header(")).node(self.tree, key).text(")"));
                } else {
                    self.note(id, "names in `response.headers` are in lower case; `response.header(name)` ignores case");
                }
            }
            ("timings", Some((above, phase))) => match phase_of(&phase) {
                Some(phase) => self.edits.replace(own(above), format!("{dot}times.{phase}").into()),
                None => self.problem(id, format!("`timings.{phase}` has no counterpart: see `response.times`")),
            },
            ("cookies", Some((above, cookie))) => self.cookie(id, object, above, &cookie),
            (other, _) => self.problem(id, format!("a response has no `{other}`")),
        }
    }

    /// `response.cookies.name[0].value` is that cookie of the user's.
    fn cookie(&mut self, id: NodeId, object: NodeId, named: NodeId, cookie: &str) {
        let up = |at: NodeId| self.tree.parent(at).filter(|&parent| self.tree.children(parent).first() == Some(&at));
        let element = up(named).filter(|&at| self.tree.element(at) == Some(named));
        let value = element.and_then(up).filter(|&at| self.tree.member(at).is_some_and(|(_, name)| name == "value"));
        let Some(value) = value else {
            return self.problem(id, "only the value of a cookie is available: `user.cookies.get(name, url)`");
        };
        let get = format!("{}.cookies.get({}, ", self.user, quoted(cookie));
        self.edits.replace(self.tree.span(value), Pieces::from(get).node(self.tree, object).text(".url)"));
    }

    /// `response.json(path)` and `response.html(selector).text()`.
    pub(super) fn response_call(&mut self, id: NodeId, call: &CallParts) -> bool {
        let Some((object, method)) = self.tree.member(call.callee) else { return false };
        if self.kind_of(object) == Kind::Response && method == "json" {
            if let Some(&path) = call.arguments.first() {
                self.json_path(path);
            }
            return true;
        }
        if self.kind_of(object) == Kind::Response && method == "html" {
            if !call.arguments.is_empty() || self.kind_of(id) == Kind::Document {
                self.selection(id, object, call.arguments.first().copied());
            }
            return true;
        }
        if self.kind_of(object) == Kind::Document && matches!(self.tree.kind(self.tree.strip(object)), AstKind::IdentifierReference(_)) {
            match call.arguments[..] {
                [selector] if method == "find" => self.selected(id, id, object, selector),
                _ => self.problem(id, format!("an HTML document has no `{method}`: see `response.css`")),
            }
            return true;
        }
        false
    }

    /// `html(selector)`, or `html().find(selector)`, or `html()` as the value of a variable.
    fn selection(&mut self, id: NodeId, response: NodeId, selector: Option<NodeId>) {
        if let Some(selector) = selector {
            return self.selected(id, id, response, selector);
        }
        let up = |at: NodeId| self.tree.parent(at).filter(|&parent| self.tree.children(parent).first() == Some(&at));
        let find = up(id).filter(|&at| self.tree.member(at).is_some_and(|(_, name)| name == "find")).and_then(up);
        match find.and_then(|find| Some((find, *self.tree.call(find)?.arguments.first()?))) {
            Some((find, selector)) => self.selected(id, find, response, selector),
            // The document is the response itself.
            None if matches!(
                self.tree.parent(id).map(|parent| self.tree.kind(parent)),
                Some(AstKind::VariableDeclarator(_) | AstKind::AssignmentExpression(_))
            ) =>
            {
                self.edits.replace(self.tree.span(id), Pieces::new().node(self.tree, response));
            }
            None => self.problem(id, "read HTML with `response.css(selector)` and `response.xpath(expression)`"),
        }
    }

    /// `….text()`, `….attr(name)` or `….size()` of what a selector finds.
    fn selected(&mut self, id: NodeId, selection: NodeId, of: NodeId, selector: NodeId) {
        let up = |at: NodeId| self.tree.parent(at).filter(|&parent| self.tree.children(parent).first() == Some(&at));
        let step = |at: NodeId| {
            let member = up(at)?;
            let (_, name) = self.tree.member(member)?;
            let call = up(member)?;
            Some((call, name, self.tree.call(call)?.arguments))
        };
        let mut at = selection;
        let mut found = step(at);
        if let Some((call, name, _)) = &found
            && name == "first"
        {
            at = *call;
            found = step(at);
        }
        let css = |options: Pieces| Pieces::new().node(self.tree, of).text(".css(").node(self.tree, selector).then(options).text(")");
        let replaced = match found.as_ref().map(|(call, name, arguments)| (*call, name.as_str(), &arguments[..])) {
            Some((call, "text", [])) => Some((call, css(", {}, \"\"".into()))),
            Some((call, "attr", [attribute])) => {
                Some((call, css(Pieces::from(", { attribute: ").node(self.tree, *attribute).text(" }, undefined"))))
            }
            Some((call, "size", [])) => {
                Some((call, Pieces::new().node(self.tree, of).text(".cssAll(").node(self.tree, selector).text(").length")))
            }
            _ => None,
        };
        match replaced {
            Some((call, pieces)) => self.edits.replace(self.tree.span(call), pieces),
            None => {
                self.problem(id, "only texts and attributes of HTML are available: `response.css(selector)`, `response.cssAll(selector)`")
            }
        }
    }

    /// `"a.0.b"` is `"$.a[0].b"`; what is not there is `undefined` in k6.
    fn json_path(&mut self, path: NodeId) {
        let Some(written) = self.tree.string(path) else {
            return self.problem(path, "the path is computed at run time: write a JSON path, such as `response.json(\"$.a[0].b\")`");
        };
        if written.contains(['#', '*', '?', '|', '@', '\\']) {
            return self
                .problem(path, format!("the path {written:?} selects several values: use `response.jsonAll(path)` with a JSON path"));
        }
        let mut converted = "$".to_owned();
        for part in written.split('.') {
            if part.chars().all(|c| c.is_ascii_digit()) && !part.is_empty() {
                converted.push_str(&format!("[{part}]"));
            } else if part.chars().all(|c| c.is_alphanumeric() || c == '_') && !part.is_empty() {
                converted.push_str(&format!(".{part}"));
            } else {
                converted.push_str(&format!("['{}']", part.replace('\'', "\\'")));
            }
        }
        self.edits.replace(self.tree.span(path), format!("{}, undefined", quoted(&converted)).into());
    }

    /// `jar.set(url, name, value)`, `jar.cookiesForURL(url).name`.
    pub(super) fn jar_call(&mut self, id: NodeId, call: &CallParts) -> bool {
        let Some((jar, method)) = self.tree.member(call.callee) else { return false };
        if self.kind_of(jar) != Kind::Jar {
            return false;
        }
        match (method.as_str(), &call.arguments[..]) {
            ("set", [url, name, value, more @ ..]) => {
                if !more.is_empty() {
                    self.note(id, "a cookie's options are left out: the cookie is valid for the host and all its paths");
                }
                let set = Pieces::new().node(self.tree, jar).text(".set(").node(self.tree, *name);
                let set = set.text(", ").node(self.tree, *value).text(", ").node(self.tree, *url).text(")");
                self.edits.replace(self.tree.span(id), set);
            }
            ("clear", _) => self.edits.replace(self.tree.span(id), Pieces::new().node(self.tree, jar).text(".clear()")),
            ("cookiesForURL", [url]) => {
                let above = self.tree.parent(id).filter(|&parent| self.tree.children(parent).first() == Some(&id));
                match above.and_then(|above| Some((above, self.tree.member(above)?.1))) {
                    Some((above, name)) => {
                        let get =
                            Pieces::new().node(self.tree, jar).text(format!(".get({}, ", quoted(&name))).node(self.tree, *url).text(")");
                        self.edits.replace(self.tree.span(above), get);
                    }
                    None => self.problem(id, "read cookies individually: `user.cookies.get(name, url)`"),
                }
            }
            _ => self.problem(id, format!("a user's cookies have no `{method}`")),
        }
        true
    }
}

fn phase_of(timing: &str) -> Option<&'static str> {
    Some(match timing {
        "duration" => "total",
        "waiting" => "wait",
        "receiving" => "body",
        "connecting" => "connect",
        "tls_handshaking" => "tls",
        "looking_up" => "dns",
        "blocked" => "queue",
        _ => return None,
    })
}
