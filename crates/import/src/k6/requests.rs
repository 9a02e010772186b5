//! `http.get(url, params)`, `http.post(url, body, params)`, `http.batch(…)`: a k6 request has its body and its parameters apart, one of Loadstone's
//! has options.

use oxc_ast::AstKind;
use oxc_semantic::NodeId;

use super::edits::Pieces;
use super::effects::is_verb;
use super::kinds::Kind;
use super::names::{K6Module, Names};
use super::rewrite::Rewrite;
use super::tree::{CallParts, Property};
use crate::sent::with_credentials;
use crate::text::{milliseconds, quoted};

/// What stands between the braces of options, entry by entry; or one value in place of all.
enum Options {
    Entries(Vec<Pieces>),
    Whole(Pieces),
}

impl Rewrite<'_, '_> {
    pub(super) fn http_call(&mut self, id: NodeId, call: &CallParts, name: &str) -> bool {
        match name {
            "batch" => self.batch(id, call),
            "cookieJar" => {
                let cookies = format!("{}.cookies", self.user);
                self.edits.replace(self.tree.span(id), cookies.into());
                true
            }
            "asyncRequest" => {
                let Some(request) = self.request(id, name, &call.arguments) else { return false };
                self.edits.replace(self.tree.span(id), request);
                true
            }
            _ if is_verb(name) => {
                let Some(request) = self.request(id, name, &call.arguments) else { return false };
                let request = self.awaited(id, request);
                self.edits.replace(self.tree.span(id), request);
                true
            }
            // Dealt with where they stand: in a request's parameters or its body.
            "expectedStatuses" | "file" => self.inside_request(id),
            _ => false,
        }
    }

    fn inside_request(&self, id: NodeId) -> bool {
        self.tree.ancestors(id).any(|at| {
            self.tree.call(at).is_some_and(|call| self.names.member(self.tree, call.callee, &K6Module::Http).is_some())
                || matches!(self.tree.kind(at), AstKind::VariableDeclarator(_))
        })
    }

    /// `user.post(url, { … })`, without `await`.
    fn request(&mut self, id: NodeId, verb: &str, arguments: &[NodeId]) -> Option<Pieces> {
        let (method, rest) = match verb {
            "request" | "asyncRequest" => (Some(*arguments.first()?), &arguments[1..]),
            _ => (None, arguments),
        };
        let (url, rest) = rest.split_first()?;
        let bodiless = matches!(verb, "get" | "head")
            || method.is_some_and(|method| self.tree.string(method).is_some_and(|m| m == "GET") && rest.len() < 2);
        let (body, params) =
            if bodiless && verb != "request" && verb != "asyncRequest" { (None, rest.first()) } else { (rest.first(), rest.get(1)) };
        let mut entries = Vec::new();
        let url = self.url(*url, &mut entries);
        if let Some(&body) = body.filter(|&&body| !self.tree.nothing(body)) {
            entries.push(self.body(body));
        }
        let options = match params.filter(|&&params| !self.tree.nothing(params)) {
            None => Options::Entries(entries),
            Some(&params) => match self.params(params) {
                Options::Entries(more) => Options::Entries(entries.into_iter().chain(more).collect()),
                Options::Whole(whole) if entries.is_empty() => Options::Whole(whole),
                Options::Whole(whole) => Options::Entries(entries.into_iter().chain([Pieces::from("...").then(whole)]).collect()),
            },
        };
        let known = method.and_then(|method| self.tree.string(method)).map(|method| method.to_ascii_lowercase());
        let known = known.as_deref().filter(|method| matches!(*method, "get" | "head" | "options" | "post" | "put" | "patch" | "delete"));
        let function = match (method, known) {
            (None, _) => (if verb == "del" { "delete" } else { verb }).to_owned(),
            (Some(_), Some(known)) => known.to_owned(),
            (Some(_), None) => "request".to_owned(),
        };
        let mut request = Pieces::from(format!("{}.{function}(", self.user));
        if let Some(method) = method.filter(|_| function == "request") {
            request = request.node(self.tree, method).text(", ");
        }
        request = request.then(url);
        request = match options {
            Options::Whole(whole) => request.text(", ").then(whole),
            Options::Entries(entries) if entries.is_empty() => request,
            Options::Entries(entries) => {
                let layout = self.layout(id, params.copied());
                request.text(format!(", {{{}", layout.0)).then(Pieces::joined(entries, &format!(",{}", layout.0))).text(layout.1)
            }
        };
        Some(request.text(")"))
    }

    /// What stands between the entries of options and behind them: as the script had it.
    fn layout(&self, call: NodeId, params: Option<NodeId>) -> (String, String) {
        let source = params.map_or("", |params| self.tree.source(params));
        if source.contains('\n') {
            let indent = self.tree.indent(call);
            return (format!("\n{indent}  "), format!(",\n{indent}}}"));
        }
        (" ".to_owned(), " }".to_owned())
    }

    /// A URL; one of ``http.url`…` `` names the request.
    fn url(&mut self, url: NodeId, entries: &mut Vec<Pieces>) -> Pieces {
        let inner = self.tree.strip(url);
        if let AstKind::TaggedTemplateExpression(_) = self.tree.kind(inner)
            && let [tag, template] = self.tree.children(inner)
            && self.names.member(self.tree, *tag, &K6Module::Http).as_deref() == Some("url")
        {
            self.handled.insert(Names::root(self.tree, *tag));
            let name = self.tree.source(*template).trim_matches('`').replace("${", "{");
            entries.push(format!("name: {}", quoted(&name)).into());
            return Pieces::new().node(self.tree, *template);
        }
        if let Some((plain, user, password)) = self.tree.string(inner).as_deref().and_then(with_credentials) {
            entries.push(format!("auth: {{ username: {}, password: {} }}", quoted(&user), quoted(&password)).into());
            return quoted(&plain).into();
        }
        Pieces::new().node(self.tree, url)
    }

    fn body(&mut self, body: NodeId) -> Pieces {
        let tree = self.tree;
        let inner = tree.strip(body);
        if let Some(call) = tree.call(inner)
            && tree.member(call.callee).is_some_and(|(object, name)| name == "stringify" && tree.global(object) == Some("JSON"))
            && let [value] = call.arguments[..]
        {
            return self.entry("json", value);
        }
        // A variable is judged by what it was declared with.
        let declared = tree.symbol(inner).and_then(|symbol| tree.initial(symbol)).map_or(inner, |initial| tree.strip(initial));
        if let Some(properties) = tree.properties(declared) {
            let files = properties.iter().filter(|property| self.is_file(property.value)).count();
            if files == 0 {
                return self.entry("form", body);
            }
            for property in &properties {
                self.file_part(property.value);
            }
            return self.entry("multipart", body);
        }
        match self.kind_of(inner) {
            Kind::Text | Kind::Bytes => self.entry("body", body),
            Kind::Object => self.entry("form", body),
            _ => {
                self.helpers.insert("k6Payload");
                Pieces::from("...k6Payload(").node(tree, body).text(")")
            }
        }
    }

    fn is_file(&self, value: NodeId) -> bool {
        self.tree.call(value).is_some_and(|call| self.names.member(self.tree, call.callee, &K6Module::Http).as_deref() == Some("file"))
    }

    /// `http.file(open("a.png", "b"), "a.png", "image/png")` is `file("a.png", { … })`.
    fn file_part(&mut self, value: NodeId) {
        let Some(call) = self.tree.call(value).filter(|_| self.is_file(value)) else { return };
        let data = call.arguments.first().map(|&data| self.tree.strip(data));
        let opened = data.map(|data| self.tree.symbol(data).and_then(|symbol| self.tree.initial(symbol)).unwrap_or(data));
        let path = opened.and_then(|opened| self.tree.call(opened)).filter(|open| self.tree.global(open.callee) == Some("open"));
        let Some(path) = path.and_then(|open| self.tree.string(*open.arguments.first()?)) else {
            return self.problem(value, "a part of an upload must be a file: `file(path)`");
        };
        let file = self.loadstone("file");
        let mut pieces = Pieces::from(format!("{file}({}", quoted(&self.rebased(&path))));
        let options = ["name", "type"].iter().zip(call.arguments.iter().skip(1));
        let options = options.map(|(name, &value)| Pieces::from(format!("{name}: ")).node(self.tree, value)).collect::<Vec<_>>();
        if !options.is_empty() {
            pieces = pieces.text(", { ").then(Pieces::joined(options, ", ")).text(" }");
        }
        self.edits.replace(self.tree.span(value), pieces.text(")"));
    }

    /// `name: value`, or `name` alone where that is what the value is called.
    fn entry(&self, name: &str, value: NodeId) -> Pieces {
        if self.tree.source(value) == name && self.tree.symbol(value).is_some() {
            return name.into();
        }
        Pieces::from(format!("{name}: ")).node(self.tree, value)
    }

    fn params(&mut self, params: NodeId) -> Options {
        let inner = self.tree.strip(params);
        if let Some(properties) = self.tree.properties(inner) {
            return Options::Entries(self.param_entries(&properties));
        }
        if let Some(initial) = self.tree.symbol(inner).and_then(|symbol| self.tree.initial(symbol))
            && !(self.left_out)(initial)
        {
            self.declared_params(initial);
        }
        Options::Whole(Pieces::new().node(self.tree, params))
    }

    /// Parameters that several requests share become options where they are declared.
    fn declared_params(&mut self, initial: NodeId) {
        let initial = self.tree.strip(initial);
        let span = self.tree.span(initial);
        let Some(properties) = self.tree.properties(initial).filter(|_| !self.edits.has(span)) else { return };
        // TypeScript would widen its durations to texts.
        if let Some(declarator) = self.tree.parent(initial)
            && let AstKind::VariableDeclarator(declared) = self.tree.kind(declarator)
            && declared.type_annotation.is_none()
            && let Some(&name) = self.tree.children(declarator).first()
        {
            let name = self.tree.span(name);
            self.edits.replace(name, Pieces::new().span(name).text(": any"));
        }
        let entries = self.param_entries(&properties);
        let layout = self.layout(initial, Some(initial));
        let pieces = if entries.is_empty() {
            Pieces::from("{}")
        } else {
            Pieces::from(format!("{{{}", layout.0)).then(Pieces::joined(entries, &format!(",{}", layout.0))).text(layout.1)
        };
        self.edits.replace(span, pieces);
    }

    fn param_entries(&mut self, properties: &[Property]) -> Vec<Pieces> {
        let mut entries = Vec::new();
        let cookies = properties.iter().find(|property| property.key.as_deref() == Some("cookies")).map(|property| property.value);
        let mut cookie = cookies.map(|cookies| self.cookie_header(cookies));
        for property in properties {
            let value = property.value;
            let dropped = match property.key.as_deref() {
                Some("headers") if cookie.is_some() => {
                    let cookie = cookie.take().unwrap_or_default();
                    entries.push(Pieces::from("headers: { ...").node(self.tree, value).text(", ").then(cookie).text(" }"));
                    None
                }
                Some("headers" | "redirects") => {
                    entries.push(Pieces::new().node(self.tree, property.node));
                    None
                }
                Some("tags") => {
                    entries.extend(self.tags(property));
                    None
                }
                Some("timeout") => {
                    entries.push(Pieces::from("timeout: ").then(self.timeout(value)));
                    None
                }
                Some("cookies") => None,
                Some("responseType") if self.tree.string(value).as_deref() == Some("none") => {
                    entries.push("discardBody: true".into());
                    None
                }
                Some("responseType") => None,
                Some("responseCallback") => self.expected(value).map_or(Some("only lists of statuses are supported"), |expected| {
                    entries.push(expected);
                    None
                }),
                Some("auth") => match self.tree.string(value).as_deref() {
                    Some("basic") => None,
                    _ => {
                        self.problem(value, "only basic and bearer authentication are supported: `auth: { username, password }`");
                        None
                    }
                },
                Some("jar") => Some("a user has one cookie jar"),
                Some("compression") => match self.tree.string(value).as_deref() {
                    Some(coding @ ("gzip" | "deflate" | "br" | "zstd")) => {
                        entries.push(format!("compress: {}", quoted(coding)).into());
                        None
                    }
                    _ => Some("a body has one compression: `compress: \"gzip\"`"),
                },
                None if property.spread => {
                    if let Some(initial) = self.tree.symbol(self.tree.strip(value)).and_then(|symbol| self.tree.initial(symbol)) {
                        self.declared_params(initial);
                    }
                    entries.push(Pieces::new().node(self.tree, property.node));
                    None
                }
                _ => Some("a request has no such option"),
            };
            if let Some(reason) = dropped {
                let key = property.key.clone().unwrap_or_else(|| self.tree.source(property.node).to_owned());
                self.note(property.node, format!("`{key}` of a request is left out: {reason}"));
            }
        }
        entries.extend(cookie.map(|cookie| Pieces::from("headers: { ").then(cookie).text(" }")));
        entries
    }

    /// The tag `name` is the name of a request.
    pub(super) fn tags(&mut self, property: &Property) -> Vec<Pieces> {
        let Some(tags) = self.tree.properties(self.tree.strip(property.value)) else {
            return vec![Pieces::new().node(self.tree, property.node)];
        };
        let (names, others): (Vec<_>, Vec<_>) = tags.iter().partition(|tag| tag.key.as_deref() == Some("name"));
        let mut entries: Vec<Pieces> = names.iter().map(|name| self.entry("name", name.value)).collect();
        if !others.is_empty() {
            let others = others.iter().map(|tag| Pieces::new().node(self.tree, tag.node));
            entries.push(Pieces::from("tags: { ").then(Pieces::joined(others, ", ")).text(" }"));
        }
        entries
    }

    /// A number is milliseconds in k6.
    pub(super) fn timeout(&self, value: NodeId) -> Pieces {
        if let Some(number) = self.tree.number(value) {
            return quoted(&milliseconds(number)).into();
        }
        match self.kind_of(value) {
            Kind::Text => Pieces::new().node(self.tree, value),
            _ => Pieces::from("`${").node(self.tree, value).text("}ms`"),
        }
    }

    /// The header's value, as text between backquotes or an expression.
    fn cookie_header(&mut self, value: NodeId) -> Pieces {
        let inner = self.tree.strip(value);
        let properties = self.tree.properties(inner).unwrap_or_default();
        let plain = |property: &Property| property.key.is_some() && self.tree.properties(property.value).is_none();
        if properties.is_empty() || !properties.iter().all(plain) {
            self.helpers.insert("k6Cookies");
            return Pieces::from("cookie: k6Cookies(").node(self.tree, value).text(")");
        }
        let cookie = |property: &Property| {
            let name = property.key.clone().unwrap_or_default();
            match self.tree.string(property.value) {
                Some(text) => Pieces::from(format!("{name}={}", text.replace('\\', "\\\\").replace('`', "\\`"))),
                None => Pieces::from(format!("{name}=${{")).node(self.tree, property.value).text("}"),
            }
        };
        Pieces::from("cookie: `").then(Pieces::joined(properties.iter().map(cookie), "; ")).text("`")
    }

    /// `http.expectedStatuses(200, { min: 300, max: 399 })`.
    fn expected(&mut self, value: NodeId) -> Option<Pieces> {
        let call = self.tree.call(self.tree.strip(value))?;
        (self.names.member(self.tree, call.callee, &K6Module::Http)? == "expectedStatuses").then_some(())?;
        let mut statuses = Vec::new();
        for &argument in &call.arguments {
            let Some(range) = self.tree.properties(argument) else {
                statuses.push(Pieces::new().node(self.tree, argument));
                continue;
            };
            let bound = |name: &str| range.iter().find(|p| p.key.as_deref() == Some(name)).and_then(|p| self.tree.number(p.value));
            let (min, max) = (bound("min")? as u32, bound("max")? as u32);
            if min % 100 == 0 && max % 100 == 99 {
                statuses.extend((min / 100..=max / 100).map(|class| Pieces::from(format!("\"{class}xx\""))));
            } else {
                statuses.extend((min..=max.min(min + 99)).map(|status| Pieces::from(status.to_string())));
            }
        }
        self.handled.insert(Names::root(self.tree, call.callee));
        Some(Pieces::from("expect: { status: [").then(Pieces::joined(statuses, ", ")).text("] }"))
    }

    fn batch(&mut self, id: NodeId, call: &CallParts) -> bool {
        let Some(&list) = call.arguments.first() else { return false };
        let inner = self.tree.strip(list);
        let items: Option<Vec<Pieces>> = match self.tree.kind(inner) {
            AstKind::ArrayExpression(_) => self.tree.children(inner).to_vec().into_iter().map(|item| self.batched(item)).collect(),
            _ => None,
        };
        let indent = self.tree.indent(id).to_owned();
        let promise = match items {
            Some(items) => Pieces::from(format!("Promise.all([\n{indent}  "))
                .then(Pieces::joined(items, &format!(",\n{indent}  ")))
                .text(format!(",\n{indent}])")),
            None => {
                self.helpers.insert("k6Batch");
                self.helpers.insert("k6Payload");
                self.uses.insert("User");
                Pieces::from(format!("k6Batch({}, ", self.user)).node(self.tree, list).text(")")
            }
        };
        let promise = self.awaited(id, promise);
        self.edits.replace(self.tree.span(id), promise);
        true
    }

    /// One request of a list: a URL, `[method, url, body, params]`, or an object of these.
    fn batched(&mut self, item: NodeId) -> Option<Pieces> {
        let inner = self.tree.strip(item);
        if let AstKind::ArrayExpression(_) = self.tree.kind(inner) {
            let arguments = self.tree.children(inner).to_vec();
            return self.request(item, "request", &arguments);
        }
        if let Some(properties) = self.tree.properties(inner) {
            let of = |name: &str| properties.iter().find(|property| property.key.as_deref() == Some(name)).map(|property| property.value);
            let url = of("url")?;
            let mut arguments: Vec<NodeId> = of("method").into_iter().collect();
            let verb = if arguments.is_empty() { "get" } else { "request" };
            arguments.push(url);
            match (of("body"), of("params")) {
                (Some(body), Some(params)) => arguments.extend([body, params]),
                (Some(body), None) => arguments.push(body),
                (None, Some(params)) if verb == "get" => arguments.push(params),
                (None, Some(_)) => return None,
                (None, None) => {}
            }
            return self.request(item, verb, &arguments);
        }
        match self.kind_of(inner) {
            Kind::Text => self.request(item, "get", &[item]),
            _ => None,
        }
    }
}
