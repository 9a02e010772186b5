//! `cargo xtask trend-series FOLDER`: the steps that `loadstone trend` reports in series whose change points were labelled by people.
//!
//! The data set is the Turing Change Point Dataset, from a folder that the user names; nothing of it is part of this repository. Each series is passed to the
//! function that cuts each series of a trend, as if its values were those of runs. Read [`agreement`] (the scores) and [`shape`] (which series have levels)
//! first. Deliberately absent: any choice of the method's limits by these series.

mod agreement;
mod data;
mod shape;
mod table;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use loadstone_analysis::{RunTrend, TrendMetric, TrendSeries};

use self::agreement::{Labels, covering, f1, right};
use self::data::{LabelledFolder, LabelledSeries};
use self::shape::SeriesShape;
use self::table::{AgreementScore, SeriesResult};

/// Draws of random points, whose scores are averaged.
const DRAWS: u64 = 200;

#[derive(Args)]
pub(crate) struct TrendSeriesOptions {
    /// Folder of a checkout of alan-turing-institute/TCPD.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

pub(crate) fn trend_series(options: &TrendSeriesOptions) -> Result<()> {
    let folder = LabelledFolder::read(&options.folder)?;
    ensure!(!folder.series.is_empty(), "{} has no series of one value at a time", options.folder.display());
    let results: Vec<SeriesResult> = folder.series.iter().map(result).collect();
    println!("{}", table::tables(&results));
    println!("Absent: {}. Several values at a time: {}.", list(&folder.absent), list(&folder.multivariate));
    Ok(())
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn result(series: &LabelledSeries) -> SeriesResult {
    let count = series.values.len();
    let reported = reported(&series.values);
    let score =
        |points: &[usize]| AgreementScore { f1: f1(&series.annotators, points), covering: covering(&series.annotators, points, count) };
    let drawn: Vec<AgreementScore> = (1..=DRAWS).map(|seed| score(&random_points(seed, reported.len(), count))).collect();
    SeriesResult {
        name: series.name.clone(),
        points: count,
        labelled: series.annotators.iter().map(Vec::len).sum::<usize>() as f64 / series.annotators.len() as f64,
        reported: reported.len(),
        right: right(&series.annotators, &reported),
        trend: score(&reported),
        never: score(&[]),
        random: AgreementScore::mean(&drawn),
        shape: shape_of(series),
    }
}

/// The first value after each step that a trend of this one series reports. Positive values are compared by ratio, as times are, others by difference, as
/// shares are.
fn reported(values: &[Option<f64>]) -> Vec<usize> {
    let is_positive = values.iter().flatten().all(|value| *value > 0.0);
    let metric = if is_positive { TrendMetric::P50 } else { TrendMetric::Failures };
    let trend = TrendSeries::of(None, metric, values.to_vec(), RunTrend::FALSE_CHANCE);
    trend.steps.iter().map(|step| step.at).collect()
}

/// Values that are absent are left out, and labels are moved accordingly.
fn shape_of(series: &LabelledSeries) -> SeriesShape {
    let known: Vec<f64> = series.values.iter().flatten().copied().collect();
    let moved = |label: &usize| series.values[..*label].iter().flatten().count();
    let annotators: Vec<Labels> = series.annotators.iter().map(|labels| labels.iter().map(moved).collect()).collect();
    SeriesShape::of(&known, &annotators)
}

/// Different points from 1 on, each equally likely.
fn random_points(seed: u64, wanted: usize, count: usize) -> Vec<usize> {
    let mut state = seed;
    let mut points: Vec<usize> = (1..count).collect();
    for place in 0..wanted.min(points.len()) {
        let other = place + (next(&mut state) % (points.len() - place) as u64) as usize;
        points.swap(place, other);
    }
    points.truncate(wanted);
    points
}

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_of_two_levels_is_scored_as_right() {
        let value = |n: usize| 10.0 + ((n * n * 37 + n * 11) % 101) as f64 / 100.0 + if n < 40 { 0.0 } else { 3.0 };
        let values: Vec<Option<f64>> = (0..80).map(|n| (n != 10).then(|| value(n))).collect();
        let series = LabelledSeries { name: "two levels".to_owned(), values, annotators: vec![vec![40], vec![41]] };
        let result = result(&series);
        assert_eq!((result.reported, result.right, result.shape.is_level()), (1, 1, Some(true)));
        assert!(result.trend.f1 > 0.999 && result.trend.covering > 0.95, "{result:?}");
        assert!(result.random.f1 < 0.9 && result.never.f1 < 0.9, "{result:?}");
        assert_eq!(random_points(1, 3, 4).iter().sum::<usize>(), 6, "all of 1, 2 and 3");
    }

    #[test]
    fn series_are_read_and_others_are_named() {
        let folder = std::env::temp_dir().join(format!("loadstone-trend-series-{}", std::process::id()));
        let write = |name: &str, text: &str| {
            let file = folder.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write("annotations.json", r#"{"a": {"6": [2], "7": []}, "b": {"6": []}, "c": {"6": []}}"#);
        write("datasets/a/a.json", r#"{"name": "a", "n_obs": 3, "n_dim": 1, "series": [{"label": "V1", "raw": [1, null, 2.5]}]}"#);
        write("datasets/b/b.json", r#"{"name": "b", "n_obs": 1, "n_dim": 2, "series": [{"raw": [1]}, {"raw": [2]}]}"#);
        let read = LabelledFolder::read(&folder).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let expected = LabelledSeries { name: "a".to_owned(), values: vec![Some(1.0), None, Some(2.5)], annotators: vec![vec![2], vec![]] };
        assert_eq!(read.series, [expected]);
        assert_eq!((read.absent, read.multivariate), (vec!["c".to_owned()], vec!["b".to_owned()]));
        assert!(LabelledFolder::read(&folder).unwrap_err().to_string().contains("alan-turing-institute/TCPD"));
    }
}
