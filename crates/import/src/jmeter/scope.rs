//! Elements that apply to all samplers in their scope: those of the same level and below.

use super::tree::PlanNode;
use super::values::Values;

/// What applies to a sampler, from the plan down to its own children.
#[derive(Default, Clone)]
pub(super) struct SamplerScope {
    /// The inner value of a name wins.
    pub(super) headers: Vec<(String, String)>,
    /// HTTP Request Defaults, the innermost first.
    pub(super) defaults: Vec<PlanNode>,
    /// Without a cookie manager, JMeter ignores cookies.
    pub(super) has_cookies: bool,
    /// URL prefix, user name, password.
    pub(super) credentials: Vec<(String, String, String)>,
    pub(super) timers: Vec<PlanNode>,
    pub(super) assertions: Vec<PlanNode>,
    pub(super) extractors: Vec<PlanNode>,
}

/// What an element is to the importer.
#[derive(Debug, PartialEq)]
pub(super) enum ElementRole {
    Config,
    Timer,
    Assertion,
    Extractor,
    /// It shows or stores results.
    Output,
    Other,
}

pub(super) fn role(node: &PlanNode) -> ElementRole {
    match node.kind() {
        "HeaderManager" | "CookieManager" | "AuthManager" | "ConfigTestElement" => ElementRole::Config,
        "ConstantTimer" | "UniformRandomTimer" | "GaussianRandomTimer" | "PoissonRandomTimer" | "ConstantThroughputTimer" => {
            ElementRole::Timer
        }
        "ResponseAssertion" | "DurationAssertion" | "JSONPathAssertion" => ElementRole::Assertion,
        "RegexExtractor" | "JSONPostProcessor" | "BoundaryExtractor" | "HtmlExtractor" | "XPathExtractor" | "XPath2Extractor" => {
            ElementRole::Extractor
        }
        "ResultCollector" | "Summariser" | "DebugSampler" | "DebugPostProcessor" | "DNSCacheManager" | "BackendListener"
        | "MirrorServer" => ElementRole::Output,
        kind if kind.ends_with("Visualizer") || kind.ends_with("ResultCollector") => ElementRole::Output,
        _ => ElementRole::Other,
    }
}

impl SamplerScope {
    /// This scope with the elements of a level.
    pub(super) fn within(&self, level: &[PlanNode], values: &mut Values) -> Self {
        let mut scope = self.clone();
        for node in level {
            match (role(node), node.kind()) {
                (ElementRole::Config, "HeaderManager") => {
                    for header in node.items("HeaderManager.headers") {
                        let name = header.text("Header.name").to_ascii_lowercase();
                        let content = match header.text("Header.value").split_once(' ') {
                            Some((scheme @ ("Bearer" | "Basic" | "Token"), rest)) => {
                                format!("{scheme} {}", values.filled_for("token", rest))
                            }
                            _ => values.filled_for(&name, header.text("Header.value")),
                        };
                        scope.headers.retain(|(known, _)| *known != name);
                        scope.headers.push((name, content));
                    }
                }
                (ElementRole::Config, "CookieManager") => {
                    scope.has_cookies = true;
                    if !node.items("CookieManager.cookies").is_empty() {
                        values.lost(format!("the cookies of \"{}\": use user.cookies.set(…)", node.name()));
                    }
                }
                (ElementRole::Config, "AuthManager") => {
                    for entry in node.items("AuthManager.auth_list") {
                        if !matches!(entry.text("Authorization.mechanism"), "" | "BASIC" | "BASIC_DIGEST") {
                            values.lost(format!("the mechanism of \"{}\"", node.name()));
                            continue;
                        }
                        let of = |name: &str, values: &mut Values| values.filled(entry.text(name));
                        let url = of("Authorization.url", values);
                        let user = of("Authorization.username", values);
                        let user = values.hidden("username", user);
                        let password = of("Authorization.password", values);
                        let password = values.hidden("password", password);
                        scope.credentials.insert(0, (url, user, password));
                    }
                }
                (ElementRole::Config, _) => scope.defaults.insert(0, node.clone()),
                (ElementRole::Timer, _) => scope.timers.push(node.clone()),
                (ElementRole::Assertion, _) => scope.assertions.push(node.clone()),
                (ElementRole::Extractor, _) => scope.extractors.push(node.clone()),
                _ => {}
            }
        }
        scope
    }

    /// A property of the sampler, or of the innermost defaults that state it.
    pub(super) fn text<'n>(&'n self, sampler: &'n PlanNode, name: &str) -> &'n str {
        let own = sampler.text(name);
        if !own.is_empty() {
            return own;
        }
        self.defaults.iter().map(|defaults| defaults.text(name)).find(|text| !text.is_empty()).unwrap_or("")
    }
}
