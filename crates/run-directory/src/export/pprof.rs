//! CPU time by function as a pprof profile: gzipped protobuf, as `go tool pprof`, Pyroscope and speedscope read it.
//!
//! The messages are those of github.com/google/pprof, proto/profile.proto, as far as they are written.

use std::collections::BTreeMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use super::stacks::cpu_by_stack;
use crate::SignalSeries;

#[derive(Clone, PartialEq, Message)]
struct PprofProfile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<PprofValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<PprofSample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<PprofLocation>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<PprofFunction>,
    /// The first is empty; all other texts are places in it.
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
}

#[derive(Clone, PartialEq, Message)]
struct PprofValueType {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct PprofSample {
    /// The innermost first.
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct PprofLocation {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<PprofLine>,
}

#[derive(Clone, PartialEq, Message)]
struct PprofLine {
    #[prost(uint64, tag = "1")]
    function_id: u64,
}

#[derive(Clone, PartialEq, Message)]
struct PprofFunction {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
}

/// A sample for each stack in which a runtime's profiler saw the system compute, in nanoseconds; `None` where no runtime was observed. The outermost frame
/// is the observer.
///
/// # Errors
/// None that memory does not give.
pub fn pprof(signals: &[SignalSeries]) -> io::Result<Option<Vec<u8>>> {
    let stacks = cpu_by_stack(signals);
    if stacks.is_empty() {
        return Ok(None);
    }
    let mut texts = vec![String::new(), "cpu".to_owned(), "nanoseconds".to_owned()];
    let mut numbers = BTreeMap::<&str, u64>::new();
    let mut sample = Vec::new();
    for (stack, seconds) in &stacks {
        let location_id = stack.iter().rev().map(|frame| number_of(frame, &mut numbers, &mut texts)).collect();
        sample.push(PprofSample { location_id, value: vec![(seconds * 1e9).round() as i64] });
    }
    let ids = || 1..=numbers.len() as u64;
    let read_at = || signals.iter().flat_map(|series| &series.points).map(|point| point.at);
    let profile = PprofProfile {
        sample_type: vec![PprofValueType { kind: 1, unit: 2 }],
        sample,
        location: ids().map(|id| PprofLocation { id, line: vec![PprofLine { function_id: id }] }).collect(),
        function: ids().map(|id| PprofFunction { id, name: id as i64 + FIRST_NAME - 1 }).collect(),
        string_table: texts,
        duration_nanos: read_at().max().unwrap_or(0).saturating_sub(read_at().min().unwrap_or(0)) as i64,
    };
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&profile.encode_to_vec())?;
    packed.finish().map(Some)
}

/// Place of the first function's name among the texts.
const FIRST_NAME: i64 = 3;

fn number_of<'a>(frame: &'a str, numbers: &mut BTreeMap<&'a str, u64>, texts: &mut Vec<String>) -> u64 {
    let next = numbers.len() as u64 + 1;
    *numbers.entry(frame).or_insert_with(|| {
        texts.push(frame.to_owned());
        next
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::super::stacks::tests::function;
    use super::*;

    #[test]
    fn stacks_become_samples_the_innermost_frame_first() {
        let hash = function("hash; a.mjs:3", "login a.mjs:9 ← handle a.mjs:20", &[(1, 0.5), (2, 0.25)]);
        let parse = function("parse a.mjs:7", "handle a.mjs:20", &[(1, 0.1), (2, 0.1)]);
        let packed = pprof(&[hash, parse]).unwrap().unwrap();
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
        let profile = PprofProfile::decode(&bytes[..]).unwrap();
        assert_eq!(profile.string_table[0], "");
        let name = |id: &u64| {
            let location = profile.location.iter().find(|location| location.id == *id).unwrap();
            let function = profile.function.iter().find(|function| function.id == location.line[0].function_id).unwrap();
            profile.string_table[function.name as usize].clone()
        };
        let told: Vec<(Vec<String>, i64)> =
            profile.sample.iter().map(|sample| (sample.location_id.iter().map(name).collect(), sample.value[0])).collect();
        let stack = |frames: &[&str]| frames.iter().map(|frame| (*frame).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            told,
            [
                (stack(&["hash; a.mjs:3", "login a.mjs:9", "handle a.mjs:20", "node"]), 750_000_000),
                (stack(&["parse a.mjs:7", "handle a.mjs:20", "node"]), 200_000_000),
            ]
        );
        assert_eq!(profile.duration_nanos, 1_000_000_000);
        assert!(pprof(&[]).unwrap().is_none());
    }
}
