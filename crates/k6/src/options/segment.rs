//! `executionSegment` and `executionSegmentSequence`: the part of the load that one of several instances generates.
//!
//! k6 deals VUs and iterations to the segments in turn, so that the instances together generate the load of one. Read [`Segment`]. Source: the
//! documentation of `lib.ExecutionTuple` of k6 1.4.

use serde_json::{Map, Value};

use super::{OptionError, wrong};

/// Bound of the cycle after which the distribution repeats. A longer one comes from decimals such as 0.3333333.
const CYCLE_MAX: u64 = 1_000_000;

/// The numbers that belong to a segment, of those from 0: the same positions of each cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stripe {
    pub(crate) cycle: u64,
    /// Ascending, not empty.
    pub(crate) positions: Vec<u64>,
}

impl Stripe {
    /// How many of the first `whole` numbers belong to the segment.
    pub(crate) fn count(&self, whole: u64) -> u64 {
        let rest = whole % self.cycle;
        whole / self.cycle * self.positions.len() as u64 + self.positions.partition_point(|position| *position < rest) as u64
    }

    /// The number of the segment's element `index` among all.
    pub(crate) fn number(&self, index: u64) -> u64 {
        let here = self.positions.len() as u64;
        index / here * self.cycle + self.positions[(index % here) as usize]
    }

    /// The share of all elements.
    pub(crate) fn share(&self) -> f64 {
        self.positions.len() as f64 / self.cycle as f64
    }
}

/// A segment of a sequence without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Of each segment of the sequence.
    stripes: Vec<Stripe>,
    index: usize,
}

impl Segment {
    /// Reads both options. `None`: the whole load.
    pub(crate) fn of(options: &Map<String, Value>) -> Result<Option<Self>, OptionError> {
        let text = |option: &str| match options.get(option) {
            None => Ok(""),
            Some(value) => value.as_str().ok_or_else(|| refused(option, format!("{value} is not a string"))),
        };
        let (written, sequence) = (text("executionSegment")?, text("executionSegmentSequence")?);
        let (from, to) = match written.split_once(':') {
            Some((from, to)) => (fraction("executionSegment", from)?, fraction("executionSegment", to)?),
            None if written.is_empty() => (Fraction::ZERO, Fraction::ONE),
            None => (Fraction::ZERO, fraction("executionSegment", written)?),
        };
        let mut points = match sequence {
            "" => vec![from, to],
            listed => listed.split(',').map(|point| fraction("executionSegmentSequence", point)).collect::<Result<_, _>>()?,
        };
        let option = if sequence.is_empty() { "executionSegment" } else { "executionSegmentSequence" };
        if points.len() < 2
            || points.windows(2).any(|pair| !pair[0].is_below(pair[1]))
            || points.iter().any(|point| Fraction::ONE.is_below(*point))
        {
            return Err(refused(option, "each point must be above the one before it, from 0 to 1"));
        }
        if !points.windows(2).any(|pair| pair == [from, to]) {
            return Err(refused("executionSegment", format!("\"{written}\" is not a segment of the sequence \"{sequence}\"")));
        }
        // k6 fills the gaps at both ends.
        if points[0] != Fraction::ZERO {
            points.insert(0, Fraction::ZERO);
        }
        if points.last() != Some(&Fraction::ONE) {
            points.push(Fraction::ONE);
        }
        let Some(index) = points.windows(2).position(|pair| pair == [from, to]).filter(|_| points.len() > 2) else { return Ok(None) };
        let lengths: Vec<Fraction> = points.windows(2).map(|pair| pair[1].minus(pair[0])).collect();
        Ok(Some(Self { stripes: stripes(&lengths).ok_or_else(too_fine)?, index }))
    }

    pub(crate) fn stripe(&self) -> &Stripe {
        &self.stripes[self.index]
    }

    /// The stripe where the segments' lengths are their parts of `value` VUs, as in k6 for executors that share out iterations. `None`: no VU is
    /// left for this segment.
    pub(crate) fn stripe_for(&self, value: u64) -> Result<Option<Stripe>, OptionError> {
        if value == 0 || self.stripe().count(value) == 0 {
            return Ok(None);
        }
        if value.is_multiple_of(self.stripe().cycle) {
            return Ok(Some(self.stripe().clone()));
        }
        let counts: Vec<u64> = self.stripes.iter().map(|stripe| stripe.count(value)).collect();
        let index = counts[..self.index].iter().filter(|count| **count > 0).count();
        let lengths: Vec<Fraction> = counts.iter().filter(|count| **count > 0).map(|count| Fraction::new(*count, value)).collect();
        stripes(&lengths).map(|mut stripes| Some(stripes.swap_remove(index))).ok_or_else(too_fine)
    }
}

fn refused(option: &str, problem: impl AsRef<str>) -> OptionError {
    let help = "write executionSegment: \"1/4:1/2\", and the same executionSegmentSequence on all instances, such as \"0,1/4,1/2,3/4,1\"";
    wrong(option, format!("{option}: {}", problem.as_ref()), help)
}

fn too_fine() -> OptionError {
    refused("executionSegment", format!("the segments have a common denominator above {CYCLE_MAX}"))
}

/// Deals the positions of a cycle to segments of these lengths, which add up to 1. `None`: the cycle is too long.
fn stripes(lengths: &[Fraction]) -> Option<Vec<Stripe>> {
    let cycle = lengths.iter().try_fold(1u64, |cycle, length| cycle.checked_mul(length.below / gcd(cycle, length.below)))?;
    if cycle > CYCLE_MAX {
        return None;
    }
    let counts: Vec<u64> = lengths.iter().map(|length| length.above * (cycle / length.below)).collect();
    let mut longest_first: Vec<usize> = (0..lengths.len()).collect();
    longest_first.sort_by_key(|segment| std::cmp::Reverse(counts[*segment]));
    let mut stripes: Vec<Stripe> = lengths.iter().map(|_| Stripe { cycle, positions: Vec::new() }).collect();
    for position in 0..cycle {
        // The longest segment whose next element is due: its elements are `cycle / count` apart.
        let is_due = |segment: &&usize| stripes[**segment].positions.len() as u64 * cycle <= position * counts[**segment];
        if let Some(segment) = longest_first.iter().find(is_due) {
            stripes[*segment].positions.push(position);
        }
    }
    Some(stripes)
}

/// A reduced fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fraction {
    above: u64,
    below: u64,
}

impl Fraction {
    const ZERO: Self = Self { above: 0, below: 1 };
    const ONE: Self = Self { above: 1, below: 1 };

    fn new(above: u64, below: u64) -> Self {
        let common = gcd(above, below);
        Self { above: above / common, below: below / common }
    }

    fn is_below(self, other: Self) -> bool {
        u128::from(self.above) * u128::from(other.below) < u128::from(other.above) * u128::from(self.below)
    }

    /// Both are at most 1, with denominators of at most [`CYCLE_MAX`].
    fn minus(self, other: Self) -> Self {
        Self::new(self.above * other.below - other.above * self.below, self.below * other.below)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// `1/3`, `0.25` or `20%`.
fn fraction(option: &str, text: &str) -> Result<Fraction, OptionError> {
    let number = |digits: &str| digits.parse::<u64>().ok().filter(|_| !digits.starts_with('+'));
    let read = || {
        let text = text.trim();
        if let Some(percent) = text.strip_suffix('%') {
            return Some((number(percent)?, 100));
        }
        if let Some((above, below)) = text.split_once('/') {
            return Some((number(above)?, number(below)?));
        }
        match text.split_once('.') {
            Some((whole, decimals)) => {
                let below = 10u64.checked_pow(u32::try_from(decimals.len()).ok()?)?;
                Some((number(&format!("{whole}{decimals}"))?, below))
            }
            None => Some((number(text)?, 1)),
        }
    };
    let fraction = read().filter(|(_, below)| *below > 0).map(|(above, below)| Fraction::new(above, below));
    let fraction = fraction.ok_or_else(|| refused(option, format!("\"{text}\" is no fraction, decimal or percentage")))?;
    if fraction.below > CYCLE_MAX { Err(too_fine()) } else { Ok(fraction) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn segment(segment: &str, sequence: &str) -> Result<Option<Segment>, OptionError> {
        Segment::of(json!({ "executionSegment": segment, "executionSegmentSequence": sequence }).as_object().unwrap())
    }

    /// The numbers of this many elements in all.
    fn numbers(stripe: &Stripe, whole: u64) -> Vec<u64> {
        (0..stripe.count(whole)).map(|index| stripe.number(index)).collect()
    }

    /// Printed by k6 1.4.2: `exec.scenario.iterationInTest` of shared-iterations with these iterations and VUs, and of per-vu-iterations with two
    /// iterations of each of the VUs.
    #[test]
    fn numbers_are_those_of_k6() {
        for (written, sequence, iterations, vus, shared, per_vu) in [
            ("1/4:1/2", "", 20, 8, vec![3, 7, 11, 15, 19], vec![3, 7, 11, 15]),
            ("0:1/3", "", 10, 4, vec![1, 5, 9], vec![1, 4]),
            ("1/3:1", "0,1/3,1", 11, 5, vec![0, 2, 4, 5, 7, 9, 10], vec![0, 2, 3, 5, 6, 8]),
            ("1/2:3/4", "0,1/2,3/4,1", 13, 7, vec![1, 5, 8, 12], vec![1, 5, 9, 13]),
            ("20%:70%", "", 17, 9, vec![0, 2, 4, 6, 8, 9, 11, 13, 15], vec![0, 2, 4, 6, 8, 10, 12, 14, 16, 18]),
            ("0:1/2", "0,1/2,3/4,1", 13, 6, vec![0, 2, 4, 6, 8, 10, 12], vec![0, 2, 4, 6, 8, 10]),
        ] {
            let segment = segment(written, sequence).unwrap().unwrap();
            assert_eq!(numbers(&segment.stripe_for(vus).unwrap().unwrap(), iterations), shared, "{written}");
            let users = segment.stripe().count(vus);
            assert_eq!((0..users * 2).map(|index| segment.stripe().number(index)).collect::<Vec<_>>(), per_vu, "{written}");
        }
    }

    #[test]
    fn the_segments_of_a_sequence_add_up_to_the_whole() {
        let points = ["0", "1/7", "0.25", "60%", "1"];
        let all: Vec<Segment> =
            points.windows(2).map(|pair| segment(&format!("{}:{}", pair[0], pair[1]), &points.join(",")).unwrap().unwrap()).collect();
        for whole in [1, 2, 3, 10, 139, 140, 141, 1_000] {
            let mut numbered: Vec<u64> = all.iter().flat_map(|segment| numbers(segment.stripe(), whole)).collect();
            numbered.sort_unstable();
            assert_eq!(numbered, (0..whole).collect::<Vec<_>>());
            let stripes = all.iter().filter_map(|segment| segment.stripe_for(whole).unwrap());
            let mut numbered: Vec<u64> = stripes.flat_map(|stripe| numbers(&stripe, 500)).collect();
            numbered.sort_unstable();
            assert_eq!(numbered, (0..500).collect::<Vec<_>>(), "{whole} VUs");
        }
    }

    #[test]
    fn the_whole_is_no_segment_and_wrong_segments_are_refused() {
        for whole in [("", ""), ("1", ""), ("0:100%", "0,1")] {
            assert_eq!(segment(whole.0, whole.1), Ok(None), "{whole:?}");
        }
        for wrong in [
            ("1/2:1/4", ""),
            ("a", ""),
            ("1/0", ""),
            ("1/2:2", ""),
            ("0:1/2", "0,1/3,1"),
            ("", "0,1/2,1"),
            ("0:1/2", "1/2"),
            ("0.12345678", ""),
            ("-1/2", ""),
        ] {
            assert!(segment(wrong.0, wrong.1).is_err(), "{wrong:?}");
        }
    }
}
