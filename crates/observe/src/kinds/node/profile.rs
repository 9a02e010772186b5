//! A CPU profile of V8 as seconds by function, without the event loop's waiting.

use std::collections::HashMap;

use loadstone_metrics::function_labels::COLLECTOR;
use serde::Deserialize;

use crate::stacks::functions::FunctionSamples;
use crate::stacks::position::{Frame, Position};

/// The used part of the protocol's `Profiler.Profile`.
#[derive(Debug, Deserialize)]
pub(super) struct CpuProfile {
    nodes: Vec<ProfileNode>,
    /// Microseconds, as are the deltas.
    #[serde(rename = "startTime")]
    start: f64,
    #[serde(rename = "endTime")]
    end: f64,
    #[serde(default)]
    samples: Vec<u64>,
    /// Time from one sample to the next, the first from the start.
    #[serde(default, rename = "timeDeltas")]
    deltas: Vec<f64>,
}

#[derive(Debug, Deserialize)]
struct ProfileNode {
    id: u64,
    #[serde(rename = "callFrame")]
    frame: CallFrame,
    #[serde(default)]
    children: Vec<u64>,
}

#[derive(Debug, Deserialize)]
struct CallFrame {
    #[serde(rename = "functionName")]
    function: String,
    url: String,
    /// From 0; -1 where there is none.
    #[serde(rename = "lineNumber")]
    line: i64,
}

/// Frames of a stack that are read, from the innermost one. The process sends the tree of calls, so a chain of callers may be long or even a circle.
const FRAMES_MAX: usize = 128;
/// V8's names for samples outside of functions: the waiting loop, native code without a frame, the collector.
const IDLE: &str = "(idle)";
const PROGRAM: &str = "(program)";
const V8_COLLECTOR: &str = "(garbage collector)";

impl CpuProfile {
    /// A sample represents the time until the next one.
    pub(super) fn add_to(&self, functions: &mut FunctionSamples) {
        let nodes: HashMap<u64, &ProfileNode> = self.nodes.iter().map(|node| (node.id, node)).collect();
        let parents: HashMap<u64, u64> = self.nodes.iter().flat_map(|node| node.children.iter().map(|child| (*child, node.id))).collect();
        let mut seconds = HashMap::<u64, f64>::new();
        let mut at = self.start;
        for (index, id) in self.samples.iter().enumerate() {
            at += self.deltas.get(index).copied().unwrap_or(0.0);
            let next = self.deltas.get(index + 1).map_or(self.end, |delta| at + delta);
            *seconds.entry(*id).or_default() += (next - at).max(0.0) / 1e6;
        }
        functions.looked(((self.end - self.start) / 1e6).max(0.0));
        for (id, seconds) in seconds {
            let chain = std::iter::successors(Some(id), |id| parents.get(id).copied()).take(FRAMES_MAX);
            let frames: Vec<&CallFrame> = chain.filter_map(|id| nodes.get(&id)).map(|node| &node.frame).collect();
            if let Some(function) = function(&frames) {
                functions.add(function, seconds);
            }
        }
    }
}

/// The position of a stack, innermost frame first. `None` while the loop waits.
fn function(frames: &[&CallFrame]) -> Option<Position> {
    let innermost = frames.first()?;
    let plain = |name: &str| Some(Position { at: name.to_owned(), under: String::new() });
    match innermost.function.as_str() {
        IDLE | "(root)" => return None,
        PROGRAM => return plain("native code"),
        V8_COLLECTOR => return plain(COLLECTOR),
        _ => {}
    }
    let stack: Vec<Frame> = frames.iter().filter(|frame| frame.function != "(root)").map(|frame| frame.named()).collect();
    Some(Position::computing(&stack))
}

impl CallFrame {
    /// `login shop.mjs:12`; functions of V8 and Node have only their name.
    fn named(&self) -> Frame {
        let function = if self.function.is_empty() { "(anonymous)" } else { &self.function };
        let is_own = !self.url.is_empty() && !self.url.starts_with("node:") && !self.url.contains("/node_modules/");
        let file = self.url.rsplit('/').next().unwrap_or_default();
        let named = match (self.url.is_empty(), self.url.starts_with("node:")) {
            (true, _) => function.to_owned(),
            (_, true) => format!("{function} {}", self.url),
            _ => format!("{function} {file}:{}", self.line.saturating_add(1)),
        };
        Frame { function: named, is_own }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collector::SignalCollector;
    use serde_json::json;

    #[test]
    fn a_circle_of_callers_ends() {
        let frame = json!({ "functionName": "f", "url": "file:///a.mjs", "lineNumber": i64::MAX });
        let node = |id: u64, child: u64| json!({ "id": id, "callFrame": frame, "children": [child] });
        let profile = json!({
            "nodes": [node(1, 2), node(2, 1), node(3, 3)], "startTime": 0, "endTime": 1e6, "samples": [1, 2, 3], "timeDeltas": [0, 1e5, 1e5]
        });
        let profile: CpuProfile = serde_json::from_value(profile).unwrap();
        let mut functions = FunctionSamples::at(100.0);
        profile.add_to(&mut functions);
    }

    #[test]
    fn samples_stand_for_the_time_until_the_next_one() {
        let node = |id: u64, function: &str, url: &str, line: i64, children: &[u64]| {
            json!({ "id": id, "callFrame": { "functionName": function, "scriptId": "1", "url": url, "lineNumber": line, "columnNumber": 0 },
                "hitCount": 1, "children": children })
        };
        let profile = json!({
            "nodes": [
                node(1, "(root)", "", -1, &[2, 3, 4]),
                node(2, "(idle)", "", -1, &[]),
                node(3, "handle", "file:///srv/shop.mjs", 11, &[5]),
                node(4, "(garbage collector)", "", -1, &[]),
                node(5, "render", "file:///srv/node_modules/view/index.js", 4, &[6]),
                node(6, "stringify", "", -1, &[]),
            ],
            "startTime": 1_000_000, "endTime": 2_000_000,
            "samples": [2, 6, 3, 4], "timeDeltas": [0, 200_000, 500_000, 200_000]
        });
        let mut functions = FunctionSamples::default();
        serde_json::from_value::<CpuProfile>(profile).unwrap().add_to(&mut functions);
        let mut out = SignalCollector::new("node");
        functions.report(&mut out);
        let mut reported: Vec<(String, String)> =
            out.finish(0).into_iter().map(|(signal, point)| (signal.name.clone(), format!("{:.2}", point.value))).collect();
        reported.sort();
        let line = |labels: &str, cores: &str| (format!("node/function_cpu{{{labels}}}"), cores.to_owned());
        let wanted = [
            line("function=garbage collector", "0.10"),
            line("function=handle shop.mjs:12", "0.20"),
            line("function=stringify,under=handle shop.mjs:12", "0.50"),
        ];
        assert_eq!(reported, wanted);
    }
}
