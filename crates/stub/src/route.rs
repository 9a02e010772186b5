//! The endpoint of a request. Read [`RoutePattern`].

use crate::BehaviourError;

/// `GET /products/:id`, `* /health`, `POST /files/*`: a method (or `*`) and a path. The path has literal parts, `:name` parts that match
/// one segment, and an optional `*` at the end that matches the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoutePattern {
    text: String,
    method: String,
    parts: Vec<RouteSegment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RouteSegment {
    Literal(String),
    Name(String),
    Rest,
}

impl RoutePattern {
    /// # Errors
    /// [`BehaviourError::RoutePattern`]
    pub(crate) fn parse(text: &str) -> Result<Self, BehaviourError> {
        let wrong = || BehaviourError::RoutePattern(text.to_owned());
        let (method, path) = text.trim().split_once(' ').ok_or_else(wrong)?;
        let path = path.trim().strip_prefix('/').ok_or_else(wrong)?;
        if method.is_empty() || !method.chars().all(|c| c.is_ascii_uppercase() || c == '*') {
            return Err(wrong());
        }
        let mut parts = Vec::new();
        for part in path.split('/') {
            if parts.last() == Some(&RouteSegment::Rest) {
                return Err(wrong());
            }
            parts.push(match part {
                "*" => RouteSegment::Rest,
                _ if part.starts_with(':') && part.len() > 1 => RouteSegment::Name(part[1..].to_owned()),
                _ => RouteSegment::Literal(part.to_owned()),
            });
        }
        Ok(Self { text: text.trim().to_owned(), method: method.to_owned(), parts })
    }

    /// A gRPC method: `package.Service/Method`.
    pub(crate) fn of_method(name: &str) -> Self {
        let parts = name.split('/').map(|part| RouteSegment::Literal(part.to_owned())).collect();
        Self { text: name.to_owned(), method: "POST".to_owned(), parts }
    }

    /// Any TCP request.
    pub(crate) fn any() -> Self {
        Self { text: "TCP".to_owned(), method: "*".to_owned(), parts: vec![RouteSegment::Rest] }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it matches every request that `other` matches.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        if self.method != "*" && self.method != other.method && !(other.method == "HEAD" && self.method == "GET") {
            return false;
        }
        let mut others = other.parts.iter();
        for part in &self.parts {
            let covered = match (part, others.next()) {
                (RouteSegment::Rest, _) => return true,
                (RouteSegment::Literal(own), Some(RouteSegment::Literal(other))) => own == other,
                (RouteSegment::Name(_), Some(RouteSegment::Literal(other))) => !other.is_empty(),
                (RouteSegment::Name(_), Some(RouteSegment::Name(_))) => true,
                _ => false,
            };
            if !covered {
                return false;
            }
        }
        others.next().is_none()
    }

    /// The values of the named parts when method and path match.
    pub(crate) fn matches(&self, method: &str, path: &str) -> Option<Vec<(String, String)>> {
        if self.method != "*" && self.method != method && !(method == "HEAD" && self.method == "GET") {
            return None;
        }
        let mut segments = path.strip_prefix('/').unwrap_or(path).split('/');
        let mut values = Vec::new();
        for part in &self.parts {
            if *part == RouteSegment::Rest {
                return Some(values);
            }
            let segment = segments.next()?;
            match part {
                RouteSegment::Literal(literal) if literal == segment => {}
                RouteSegment::Name(name) if !segment.is_empty() => values.push((name.clone(), percent_decoded(segment))),
                _ => return None,
            }
        }
        segments.next().is_none().then_some(values)
    }
}

fn percent_decoded(segment: &str) -> String {
    if !segment.contains('%') {
        return segment.to_owned();
    }
    // A form decoder also turns `+` into a space, which is wrong for a path.
    let escaped = segment.replace('+', "%2B");
    url::form_urlencoded::parse(format!("v={escaped}").as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_methods_and_paths() {
        for (route, method, path, expected) in [
            ("GET /", "GET", "/", Some(vec![])),
            ("GET /", "GET", "/x", None),
            ("GET /products/:id", "GET", "/products/a%20b", Some(vec![("id", "a b")])),
            ("GET /products/:id", "GET", "/products/", None),
            ("GET /products/:id", "POST", "/products/1", None),
            ("GET /products/:id", "HEAD", "/products/1", Some(vec![("id", "1")])),
            ("* /a/*", "DELETE", "/a/b/c", Some(vec![])),
            ("GET /a/:x/b/:y", "GET", "/a/1+1/b/2", Some(vec![("x", "1+1"), ("y", "2")])),
            ("GET /a", "GET", "/a/b", None),
        ] {
            let expected = expected.map(|list| list.into_iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect::<Vec<_>>());
            assert_eq!(RoutePattern::parse(route).unwrap().matches(method, path), expected, "{route} {method} {path}");
        }
    }

    #[test]
    fn a_route_covers_those_that_it_leaves_no_request() {
        for (route, other, covers) in [
            ("* /*", "POST /webhook", true),
            ("GET /a/:x", "GET /a/b", true),
            ("GET /a/:x", "GET /a/:y", true),
            ("GET /a", "GET /a", true),
            ("GET /a", "HEAD /a", true),
            ("GET /a/*", "GET /a/b/c", true),
            ("GET /a/b", "GET /a/:x", false),
            ("GET /a/:x", "GET /a/*", false),
            ("GET /a/:x", "GET /a/", false),
            ("GET /a/:x", "POST /a/b", false),
            ("GET /a", "* /a", false),
            ("GET /a", "GET /a/b", false),
            ("GET /a/b", "GET /a", false),
        ] {
            let parse = |text| RoutePattern::parse(text).unwrap();
            assert_eq!(parse(route).covers(&parse(other)), covers, "{route} | {other}");
        }
    }

    #[test]
    fn invalid_routes_are_rejected() {
        for text in ["", "GET", "/x", "get /x", "GET x", "GET /*/x"] {
            assert!(RoutePattern::parse(text).unwrap_err().to_string().contains("is not a route"), "{text}");
        }
    }
}
