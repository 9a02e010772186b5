//! A time objective fails although nothing is limited: where the time goes.

use loadstone_analysis::{Findings, RemarkKind, conclude};
use loadstone_metrics::Role;
use loadstone_plan::{Aggregate, Comparison, Metric, Selector, Threshold};

use crate::simulation::{Service, Step, Target, UNLIMITED, simulate, step, users};
use crate::synthetic::{counter, gauge, threshold};

/// Twelve users of two pages, of which "Article" takes 45 ms. Nothing waits.
fn pages(bound_s: f64, slots: usize, observe: impl Fn(&mut loadstone_run_directory::Run)) -> Findings {
    let pause = Some(Service::LogUniform(0.05, 0.25));
    let page = |name, mean_s: f64| Step { pause, ..step(name, 0, Service::LogUniform(0.9 * mean_s, 1.1 * mean_s)) };
    let steps = vec![page("Article", 0.045), page("Feeds", 0.012)];
    let mut run = simulate(&Target { slots: vec![slots], steps }, users(12, 12, 40), 7);
    let selector = Selector { name: Some("Article".to_owned()), ..Selector::default() };
    let objective = threshold(Metric::ResponseTime, Aggregate::Quantile(0.95), Comparison::Below, bound_s);
    run.plan.thresholds = vec![Threshold { selector, label: "response time p95 of \"Article\" below".to_owned(), ..objective }];
    observe(&mut run);
    conclude(&run).verdict.findings
}

/// 70 requests per second; a statement without its index, a fast one, and the threads that wait for both.
fn database(run: &mut loadstone_run_directory::Run) {
    for (text, calls, seconds) in [("select * from entries where ref_id = ?", 40.0, 0.9), ("select * from feeds", 40.0, 0.02)] {
        let of = |metric: &str| counter("postgres", metric).label("statement", text);
        of("statement_calls").role(Role::StatementCalls).each_second(run, |_| calls);
        of("statement_seconds").role(Role::StatementTime).each_second(run, |_| seconds);
    }
    let threads = gauge("php", "threads").label("at", "PDO::execute").role(Role::ThreadsWaitingForIo);
    threads.each_second(run, |_| 1.1);
}

#[test]
fn the_statement_that_takes_most_of_the_time_answers_a_failed_objective() {
    let remark = pages(0.03, UNLIMITED, database).remark;
    assert!(remark.kind != RemarkKind::CannotTell, "{remark}");
    let answer = &remark.statements[1];
    assert!(answer.starts_with("But the objective \"response time p95 of \"Article\" below\" failed: \"Article\" takes 4"), "{answer}");
    assert!(answer.contains("is spent in the statement `select * from entries where ref_id = ?` of \"postgres\" (22.5 ms"), "{answer}");
    assert!(answer.contains("EXPLAIN") && remark.summary.ends_with(answer.as_str()), "{}", remark.summary);
}

#[test]
fn threads_answer_where_no_statement_is_observed_and_nothing_else_is_claimed() {
    let threads = |run: &mut loadstone_run_directory::Run| {
        database(run);
        run.signals.retain(|series| series.signal.observer == "php");
    };
    let answer = pages(0.03, UNLIMITED, threads).remark.statements[1].clone();
    assert!(answer.contains("is spent by threads of \"php\" in `PDO::execute`"), "{answer}");
    let answer = pages(0.03, UNLIMITED, |_| ()).remark.statements[1].clone();
    assert!(answer.contains("no observed part accounts for that time"), "{answer}");
    // More threads than requests are in progress.
    let background = |run: &mut loadstone_run_directory::Run| {
        gauge("php", "threads").label("at", "sleep").role(Role::ThreadsWaitingForOther).each_second(run, |_| 30.0);
    };
    let answer = pages(0.03, UNLIMITED, background).remark.statements[1].clone();
    assert!(answer.contains("no observed part accounts for that time"), "{answer}");
}

#[test]
fn an_objective_that_holds_and_a_limited_system_get_no_such_answer() {
    let remark = pages(0.2, UNLIMITED, database).remark;
    assert!(!remark.text.contains("objective"), "{remark}");
    let limited = pages(0.03, 1, database);
    assert!(!limited.findings.is_empty() && !limited.remark.text.contains("objective"), "{}", limited.remark);
}
