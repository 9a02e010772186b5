//! CPU time by function as a pprof profile: gzipped protobuf, as `go tool pprof`, Pyroscope and speedscope read it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use loadstone_wire_formats::pprof::{PprofFunction, PprofLine, PprofLocation, PprofProfile, PprofSample, PprofValueType};
use prost::Message;

use super::stacks::cpu_by_stack;
use crate::SignalSeries;

/// A sample for each stack in which a runtime's profiler sampled a computing thread, in nanoseconds. `None` if no runtime was observed. The outermost frame
/// is the observer.
///
/// # Errors
/// Only if memory cannot be allocated.
pub fn pprof(signals: &[SignalSeries]) -> io::Result<Option<Vec<u8>>> {
    let stacks = cpu_by_stack(signals);
    if stacks.is_empty() {
        return Ok(None);
    }
    let mut texts = vec![String::new(), "cpu".to_owned(), "nanoseconds".to_owned()];
    let mut numbers = BTreeMap::<&str, u64>::new();
    let mut samples = Vec::new();
    for (stack, seconds) in &stacks {
        let locations = stack.iter().rev().map(|frame| number_of(frame, &mut numbers, &mut texts)).collect();
        samples.push(PprofSample { locations, values: vec![(seconds * 1e9).round() as i64] });
    }
    let ids = || 1..=numbers.len() as u64;
    let read_at = || signals.iter().flat_map(|series| &series.points).map(|point| point.at);
    let profile = PprofProfile {
        sample_types: vec![PprofValueType { kind: 1, unit: 2 }],
        samples,
        locations: ids().map(|id| PprofLocation { id, lines: vec![PprofLine { function: id }] }).collect(),
        functions: ids().map(|id| PprofFunction { id, name: id as i64 + FIRST_NAME - 1, file: 0 }).collect(),
        strings: texts,
        duration_ns: read_at().max().unwrap_or(0).saturating_sub(read_at().min().unwrap_or(0)) as i64,
    };
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&profile.encode_to_vec())?;
    packed.finish().map(Some)
}

/// Index of the first function's name in the string table.
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
        assert_eq!(profile.strings[0], "");
        let name = |id: &u64| {
            let location = profile.locations.iter().find(|location| location.id == *id).unwrap();
            let function = profile.functions.iter().find(|function| function.id == location.lines[0].function).unwrap();
            profile.strings[function.name as usize].clone()
        };
        let samples: Vec<(Vec<String>, i64)> =
            profile.samples.iter().map(|sample| (sample.locations.iter().map(name).collect(), sample.values[0])).collect();
        let stack = |frames: &[&str]| frames.iter().map(|frame| (*frame).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            samples,
            [
                (stack(&["hash; a.mjs:3", "login a.mjs:9", "handle a.mjs:20", "node"]), 750_000_000),
                (stack(&["parse a.mjs:7", "handle a.mjs:20", "node"]), 200_000_000),
            ]
        );
        assert_eq!(profile.duration_ns, 1_000_000_000);
        assert!(pprof(&[]).unwrap().is_none());
    }
}
