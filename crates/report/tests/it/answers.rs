//! The pages of a trend, a capacity and an experiment: positions on axes, and the same words as in other outputs.

use loadstone_analysis::{
    BlockNumber, BlockRecord, Capacity, CapacityInterval, CapacityProbe, CapacityVerdict, ComparedMetric, ComparisonVerdict, Experiment,
    ExperimentRow, ExperimentStop, ExperimentSubject, Grade, KnobContrast, LoadUnit, ObjectiveReading, ProbeLean, ProbeReading,
    RampEstimate, RampPoint, ResourceCeiling, RowVerdict, RunTrend, ScalabilityLaw, SubjectKind, TrendMetric, TrendRun, TrendSeries,
    TrendStep, UnknownCeiling, WhatIf,
};
use loadstone_report::Tone;
use loadstone_report::capacity::{CapacityView, RampView};
use loadstone_report::experiment::ExperimentView;
use loadstone_report::terminal::Style;
use loadstone_report::trend::TrendView;

use crate::fixtures;

fn trend() -> RunTrend {
    let run = |number: usize| TrendRun {
        id: format!("run-{number}"),
        commit: (number == 2).then(|| "39dbcdc0123456789".to_owned()),
        ..TrendRun::default()
    };
    let step = TrendStep {
        at: 2,
        before_at: 1,
        at_error: 0,
        before: 0.040,
        after: 0.050,
        change: 1.25,
        low: 1.2,
        high: 1.3,
        p: 0.001,
        runs_before: 2,
        runs_after: 2,
    };
    let series = TrendSeries {
        request: Some("Buy".to_owned()),
        metric: TrendMetric::P95,
        values: vec![Some(0.040), None, Some(0.050), Some(0.050)],
        noise: Some(0.05),
        steps: vec![step],
        level: Some(0.050),
    };
    RunTrend {
        schema: 1,
        test: "shop".to_owned(),
        runs: (0..4).map(run).collect(),
        series: vec![series],
        false_chance: 0.05,
        headline: "up".to_owned(),
    }
}

#[test]
fn a_trend_has_its_levels_between_its_steps() {
    let view = TrendView::of(&trend());
    let series = &view.series[0];
    assert_eq!(series.points.iter().map(|point| point.run).collect::<Vec<_>>(), [0, 2, 3], "one run did not measure it");
    assert!(series.points[0].y < series.points[1].y && series.points[1].text.starts_with("run-2, commit 39dbcdc: 50.0 ms"), "{series:?}");
    // From the edge to the step, and from there to the other edge.
    assert_eq!(series.levels.iter().map(|level| (level.from, level.to)).collect::<Vec<_>>(), [(0.0, 0.5), (0.5, 1.0)]);
    for level in &series.levels {
        assert!(level.band.low < level.band.at && level.band.at < level.band.high, "{level:?}");
    }
    let step = &series.steps[0];
    assert_eq!((step.x, step.tone, step.before.as_str(), step.run.as_str()), (0.5, Tone::Bad, "run-1", "run-2"));
    assert_eq!((view.changes[0].before.as_str(), view.changes[0].steps.len()), ("run-1", 1));
    assert!(loadstone_report::trend::html(&trend()).contains(r#"{"feed":"trend","answer":{"test":"shop""#));
}

fn probe(load: f64, lean: ProbeLean, (measured, low, high): (f64, Option<f64>, Option<f64>)) -> CapacityProbe {
    let objective = ObjectiveReading {
        objective: "p99 < 300ms".to_owned(),
        bound: 0.3,
        measured: Some(measured),
        low,
        high,
        holds: lean == ProbeLean::Holds,
        is_time: true,
    };
    let reading = ProbeReading {
        objectives: vec![objective],
        backlog_grows: false,
        backlog: 0.0,
        throughput: load,
        arrivals: load,
        grade: Grade::Valid,
        is_unusable: false,
        disturbances: Vec::new(),
    };
    let run = format!("run-{load}");
    CapacityProbe { load, seconds: 60.0, cost_seconds: 65.0, run, lean, findings: Vec::new(), next_limit: None, reading }
}

/// A highest throughput of 200 per second; two resources with a ceiling and one without.
fn ramp_estimate() -> RampEstimate {
    let at = |value: f64| CapacityInterval { value, low: 0.97 * value, high: 1.03 * value };
    let ceiling = |resource: &str, what: &str, value: f64| ResourceCeiling {
        resource: resource.to_owned(),
        what: what.to_owned(),
        places: 2.0,
        each: 2.0 / value,
        throughput_max: at(value),
    };
    let law = ScalabilityLaw { gamma: 100.0, alpha: 0.5, beta: 0.0 };
    let stretch = |index: u32| {
        let in_system = 0.5 * 1.2_f64.powi(index as i32);
        let (from_seconds, to_seconds) = (f64::from(3 * index), f64::from(3 * index + 3));
        RampPoint { from_seconds, to_seconds, in_system, throughput: law.throughput(in_system) }
    };
    RampEstimate {
        throughput_max: Some(at(200.0)),
        retrograde_from: None,
        law: Some(law),
        stretches: (0..40).map(stretch).collect(),
        seen: 212.0,
        unknown_because: None,
        remark: "at most about 200/s (194/s to 206/s)".to_owned(),
        grade: Grade::Valid,
        ceilings: vec![ceiling("shop/cpu", "the 2 cores of \"shop\"", 200.0), ceiling("host/disk", "the disk sda", 300.0)],
        unknown_ceilings: vec![UnknownCeiling {
            resource: "shop/pool".to_owned(),
            what: "the 8 members of the pool \"db\"".to_owned(),
            why: "it was read in 3 of 40 segments".to_owned(),
        }],
        what_if: Some(WhatIf {
            without: Some("the 2 cores of \"shop\"".to_owned()),
            resource: Some("host/disk".to_owned()),
            throughput_max: Some(at(300.0)),
            sure: 1.0,
            remark: "without the 2 cores of \"shop\": at most about 300/s".to_owned(),
        }),
    }
}

#[test]
fn a_ramp_shows_each_ceiling_the_next_limit_and_the_unknown() {
    let estimate = ramp_estimate();
    let text = loadstone_report::capacity::ramp(&estimate, &fixtures::summary(), &Style::plain(110));
    let lines: Vec<&str> = text.lines().collect();
    for line in [
        "full first   the 2 cores of \"shop\" at about 200/s (194/s to 206/s)",
        "next         the disk sda at about 300/s (291/s to 309/s)",
        "what if      without the 2 cores of \"shop\": at most about 300/s",
        "unknown      the 8 members of the pool \"db\": it was read in 3 of 40 segments",
    ] {
        assert!(lines.contains(&line), "{line} in {text}");
    }
    let json = loadstone_report::capacity::ramp_json(&estimate);
    assert!(json.contains("\"what_if\"") && json.contains("\"unknown_ceilings\"") && json.contains("\"alpha\": 0.5"), "{json}");

    let markdown = loadstone_report::capacity::ramp_markdown(&estimate, &fixtures::summary());
    for line in [
        "- sustained: 212/s, for a fifth of the load",
        "- what if: without the 2 cores of \"shop\": at most about 300/s",
        "| the disk sda | 300/s (291/s to 309/s) |",
        "| the 8 members of the pool \"db\" | unknown: it was read in 3 of 40 segments |",
    ] {
        assert!(markdown.lines().any(|of| of == line), "{line} in {markdown}");
    }

    let view = RampView::of(&estimate, &fixtures::summary());
    assert_eq!((view.word.as_str(), view.tone, view.stretches.len()), ("At most 200/s", Tone::None, 40));
    // The curve goes through the stretches that follow it, and ends below the ceiling.
    let ceiling = view.ceiling.unwrap();
    let near = |x: f64| view.curve.iter().min_by(|a, b| (a.0 - x).abs().total_cmp(&(b.0 - x).abs())).unwrap().1;
    assert!(view.stretches.iter().all(|of| (near(of.x) - of.y).abs() < 0.02 && of.y < ceiling.high), "{view:?}");
    let resources = view.resources.unwrap();
    let bars: Vec<f64> = resources.rows.iter().map(|row| row.bar.at).collect();
    assert!(resources.rows[0].bar.low < bars[0] && bars[0] < resources.seen && resources.seen < bars[1], "{bars:?} {}", resources.seen);
    assert!(loadstone_report::capacity::ramp_html(&estimate, &fixtures::summary()).contains(r#"{"feed":"ramp","answer":{"test":"#));

    let unidentified = RampEstimate {
        throughput_max: None,
        law: None,
        remark: "not identified: the load varied by less than a factor of two".to_owned(),
        unknown_because: Some("the load varied by less than a factor of two".to_owned()),
        ceilings: Vec::new(),
        unknown_ceilings: Vec::new(),
        ..estimate
    };
    let view = RampView::of(&unidentified, &fixtures::summary());
    assert_eq!((view.word.as_str(), view.headline.as_str()), ("Not identified", "the load varied by less than a factor of two"));
    assert!(view.ceiling.is_none() && view.curve.is_empty() && view.resources.is_none() && view.stretches.len() == 40);
}

fn capacity() -> Capacity {
    Capacity {
        schema: 1,
        test: "shop".to_owned(),
        unit: LoadUnit::Arrivals,
        objectives: vec!["p99 < 300ms".to_owned()],
        verdict: CapacityVerdict::Found,
        headline: "the capacity is 113/s".to_owned(),
        capacity: Some(CapacityInterval { value: 113.0, low: 111.0, high: 117.0 }),
        highest_held: Some(110.0),
        lowest_failed: Some(120.0),
        binding: Some("p99 < 300ms".to_owned()),
        limited_by: None,
        next_limit: None,
        limit_run: Some("run-120".to_owned()),
        disturbed_by: None,
        cost_seconds: 195.0,
        probes: vec![
            probe(120.0, ProbeLean::Fails, (0.9, Some(0.5), None)),
            probe(30.0, ProbeLean::Holds, (0.05, Some(0.04), Some(0.06))),
            probe(110.0, ProbeLean::Holds, (0.25, Some(0.2), Some(0.29))),
            probe(100.0, ProbeLean::Holds, (0.2, None, None)),
        ],
    }
}

/// The loads were cut to `37…s`, and the objectives were wider than the screen.
#[test]
fn a_narrow_terminal_shows_each_load_of_a_capacity_in_full() {
    let mut capacity = capacity();
    for probe in &mut capacity.probes {
        let [first] = &probe.reading.objectives[..] else { panic!("one objective") };
        let second =
            ObjectiveReading { objective: "response time p95 of \"Check out with a voucher\" below 250ms".to_owned(), ..first.clone() };
        probe.reading.objectives.push(second);
    }
    for width in [50, 80, 200] {
        let text = loadstone_report::capacity::terminal(&capacity, "runs/capacity-shop", &Style::plain(width));
        let loads: Vec<&str> =
            text.lines().filter(|line| line.contains('✓') || line.contains('✗')).filter_map(|line| line.split(' ').next()).collect();
        assert!(loads.ends_with(&["30/s", "100/s", "110/s", "120/s"]), "{text}");
        assert!(width < 80 || text.contains("50.0 ms (40.0 ms to 60.0 ms)"), "{text}");
        assert!(text.lines().all(|line| line.contains("runs are in") || line.chars().count() <= width), "{text}");
    }
}

#[test]
fn a_capacity_has_its_probes_in_their_order_and_the_bound_between_them() {
    let capacity = capacity();
    let view = CapacityView::of(&capacity);
    assert_eq!(view.probes.iter().map(|probe| probe.load.as_str()).collect::<Vec<_>>(), ["120/s", "30/s", "110/s", "100/s"]);
    let answer = view.answer.unwrap();
    let x = |which: usize| view.probes[which].x;
    assert!(x(1) < x(2) && x(2) < answer.at && answer.at < x(0) && answer.low < answer.at && answer.at < answer.high);
    let objective = &view.objectives[0];
    let marks = &objective.marks;
    assert!(marks[1].interval.at < objective.bound && objective.bound < marks[0].interval.low, "{objective:?}");
    assert_eq!((marks[0].interval.high, marks[0].tone, marks[1].tone), (1.0, Tone::Bad, Tone::Good), "an open end reaches the edge");
    assert!(marks[3].interval.low == marks[3].interval.at && marks[3].interval.at == marks[3].interval.high, "no interval is no interval");
    assert_eq!(view.facts[0], ("must hold".to_owned(), "p99 < 300ms".to_owned()));
    // The heading is the answer's number.
    let found = capacity.unit.words(capacity.capacity.expect("it was found").value);
    let opening = format!(r#"{{"feed":"capacity","answer":{{"test":"shop","word":"{found}","tone":"good""#);
    assert!(loadstone_report::capacity::html(&capacity).contains(&opening));
}

fn row(metric: ComparedMetric, change: Option<(f64, f64, f64)>, decides: bool) -> ExperimentRow {
    ExperimentRow {
        metric,
        from: Some(0.121),
        to: Some(0.0633),
        change: change.map(|of| of.0),
        low: change.map(|of| of.1),
        high: change.map(|of| of.2),
        ln_e: Some(9.0),
        verdict: RowVerdict::Better,
        decides,
        rounds_needed: None,
        why: String::new(),
    }
}

fn block(round: usize, value: &str, p95: Option<f64>) -> BlockRecord {
    let number = BlockNumber {
        kind: SubjectKind::Request,
        name: "Check out".to_owned(),
        group: String::new(),
        metric: ComparedMetric::P95,
        value: p95,
    };
    BlockRecord {
        round,
        value: value.to_owned(),
        run: format!("block-{round}-{value}"),
        grade: Grade::Valid,
        invalid_because: None,
        numbers: vec![number],
    }
}

#[test]
fn an_experiment_has_its_blocks_in_time_and_its_ratios_on_one_axis() {
    let rows = vec![row(ComparedMetric::P95, Some((0.52, 0.49, 0.56)), true), row(ComparedMetric::P99, None, false)];
    let subject =
        ExperimentSubject { kind: SubjectKind::Request, name: "Check out".to_owned(), scenario: String::new(), group: String::new(), rows };
    let contrast = KnobContrast {
        from: "4".to_owned(),
        to: "8".to_owned(),
        verdict: ComparisonVerdict::Better,
        headline: "p95 halves".to_owned(),
        subjects: vec![subject],
    };
    let experiment = Experiment {
        schema: 1,
        test: "shop".to_owned(),
        knob: "pool".to_owned(),
        values: vec!["4".to_owned(), "8".to_owned()],
        rounds: 2,
        left_out: 0,
        block_seconds: 10,
        warm_up_seconds: 1,
        effect: 0.1,
        stop: ExperimentStop::Decided,
        contrasts: vec![contrast],
        sensitivities: Vec::new(),
        proof: None,
        remarks: Vec::new(),
        blocks: vec![block(0, "4", Some(0.120)), block(0, "8", Some(0.064)), block(1, "8", None), block(1, "4", Some(0.122))],
    };
    let view = ExperimentView::of(&experiment);
    assert_eq!((view.word.as_str(), view.tone, view.headline.as_str()), ("BETTER", Tone::Good, "p95 halves"));
    assert_eq!(view.blocks.iter().map(|block| (block.value, block.round)).collect::<Vec<_>>(), [(0, 1), (1, 1), (1, 2), (0, 2)]);
    assert!(view.blocks.windows(2).all(|pair| pair[0].x < pair[1].x));
    let course = &view.courses[0];
    assert_eq!(course.points.iter().map(|point| point.block).collect::<Vec<_>>(), [0, 1, 3], "one block had too few samples");
    assert!(course.points[1].y < course.points[0].y && course.points[0].y < course.points[2].y);
    let rows = &view.contrasts[0].subjects[0].rows;
    assert_eq!(rows.len(), 1, "what was not measured in every block is not shown");
    let bar = rows[0].bar.unwrap();
    assert!(bar.low < bar.at && bar.at < bar.high && bar.high < view.same.low && view.same.at == 0.5, "{bar:?}");
    assert!(loadstone_report::experiment::html(&experiment).contains(r#"{"feed":"experiment","answer":{"test":"shop","knob":"pool""#));
}
