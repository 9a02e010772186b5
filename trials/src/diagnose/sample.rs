//! Which cells a benchmark of a limited time runs: a balanced random choice, so that it can end at any moment.
//!
//! Each choice is made from what was run so far: a third of the cells is healthy, and of those that are left each fault, then each stack, observation,
//! load and severity is taken as often as the others. Chance decides only between equals.

use std::collections::BTreeMap;

use super::judging::Cell;

/// One in so many cells is a healthy one.
const HEALTHY_EVERY: usize = 3;

/// What a cell is, in the order in which the choice is balanced.
const KEYS: [fn(&Cell) -> &str; 5] =
    [|cell| &cell.fault, |cell| &cell.stack, |cell| &cell.observe, |cell| &cell.load, |cell| &cell.severity];

/// The next cell, of those that were not run; `None` when all were.
pub(super) fn next<'a>(cells: &'a [Cell], done: &[Cell], seed: u64) -> Option<&'a Cell> {
    let healthy_done = done.iter().filter(|cell| cell.is_healthy()).count();
    let wants_healthy = healthy_done * HEALTHY_EVERY <= done.len();
    let open: Vec<&Cell> = cells.iter().filter(|cell| !done.contains(cell)).collect();
    let (wanted, others): (Vec<&Cell>, Vec<&Cell>) = open.into_iter().partition(|cell| cell.is_healthy() == wants_healthy);
    let of_kind = if wanted.is_empty() { others } else { wanted };
    let is_known = of_kind.first().is_some_and(|cell| cell.is_healthy());
    let done: Vec<&Cell> = done.iter().filter(|cell| cell.is_healthy() == is_known).collect();
    let left = KEYS.iter().fold(of_kind, |left, key| least_run(left, &done, *key));
    let at = usize::try_from(mixed(seed ^ mixed(done.len() as u64))).unwrap_or_default().checked_rem(left.len())?;
    left.get(at).copied()
}

/// Those whose value was run least often.
fn least_run<'a>(left: Vec<&'a Cell>, done: &[&Cell], key: fn(&Cell) -> &str) -> Vec<&'a Cell> {
    let mut times: BTreeMap<&str, usize> = left.iter().map(|cell| (key(cell), 0)).collect();
    for cell in done {
        times.entry(key(cell)).and_modify(|times| *times += 1);
    }
    let Some(least) = times.values().min().copied() else { return left };
    left.into_iter().filter(|cell| times[key(cell)] == least).collect()
}

/// SplitMix64 (Steele, Lea and Flood 2014): numbers that follow each other give ones that have nothing in common.
fn mixed(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::super::judging::{Catalogue, all};
    use super::*;
    use std::path::Path;

    fn sample(length: usize, seed: u64) -> Vec<Cell> {
        let catalogue = Catalogue::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))).unwrap();
        let cells = all(&catalogue, 1);
        let mut done = Vec::new();
        for _ in 0..length {
            done.push(next(&cells, &done, seed).unwrap().clone());
        }
        done
    }

    fn times(cells: &[Cell], key: fn(&Cell) -> &str) -> Vec<usize> {
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        cells.iter().for_each(|cell| *times.entry(key(cell)).or_default() += 1);
        times.into_values().collect()
    }

    #[test]
    fn faults_and_observations_are_spread_evenly_and_a_third_is_healthy() {
        let (healthy, faulty): (Vec<Cell>, Vec<Cell>) = sample(150, 1).into_iter().partition(|cell| cell.is_healthy());
        assert!((48..=52).contains(&healthy.len()), "{}", healthy.len());
        let faults = times(&faulty, |cell| &cell.fault);
        assert!(faults.iter().max().unwrap() - faults.iter().min().unwrap() <= 1, "{faults:?}");
        let stacks = times(&faulty, |cell| &cell.stack);
        assert!(stacks.len() == 7 && *stacks.iter().min().unwrap() >= 8, "{stacks:?}");
        let observed = times(&faulty, |cell| &cell.observe);
        assert!(observed.len() == 3 && *observed.iter().min().unwrap() >= 20, "{observed:?}");
    }

    #[test]
    fn a_seed_chooses_the_same_cells_again_and_another_others() {
        assert!(sample(30, 1) == sample(30, 1) && sample(30, 1) != sample(30, 2));
    }

    #[test]
    fn it_ends_when_all_were_run() {
        let cell = Cell::parse("node/healthy/plain/ramp/all/1").unwrap();
        assert_eq!(next(std::slice::from_ref(&cell), &[], 1), Some(&cell));
        assert_eq!(next(std::slice::from_ref(&cell), std::slice::from_ref(&cell), 1), None);
    }
}
