//! The summary at the end of a run, readable in ten seconds: whether the measurement is valid, whether the run passed, why, and the numbers.

use loadstone_analysis::{Confidence, Finding, Grade, Remark, Summary, ThresholdResult, ThresholdState, ValidityCheck};

use super::columns::TimeColumns;
use super::style::{Paint, Style, cut, hang, shorten, tame, width_of};
use super::{flows, metrics, resources, signals, spans, tables};
use crate::explanation;
use crate::failure_sample;
use crate::view::RunState;
use crate::words;

/// The content of the summary in addition to the numbers.
#[derive(Debug, Clone)]
pub struct Closing<'a> {
    pub state: RunState,
    /// Why it ended early; empty otherwise.
    pub state_detail: &'a str,
    /// The test as the run recorded it, which an experiment would run again. `None`: a run of a URL.
    pub file: Option<&'a str>,
    /// The written files in order: `("Report", "runs/…/report.html")`.
    pub places: &'a [(&'a str, String)],
    /// Columns of the table of times, in the terminal.
    pub columns: TimeColumns,
    /// Whether the table of times has every request, not only the most important ones. In the terminal.
    pub shows_all: bool,
}

const ERRORS_MAX: usize = 8;
const CHECKS_MAX: usize = 12;
const FINDINGS_MAX: usize = 5;

/// The complete summary, ending in a line break.
pub fn summary(summary: &Summary, closing: &Closing<'_>, style: &Style) -> String {
    let mut parts = vec![
        headline(summary, closing, style),
        validity(summary, style),
        thresholds(&summary.verdict.thresholds, style),
        findings(summary, closing, style),
        tables::times(summary, &closing.columns, closing.shows_all, style),
        flows::flows(summary, style),
        metrics::metrics(summary, style),
        resources::resources(summary, style),
        spans::spans(summary, style),
        signals::signals(summary, style),
        checks(summary, style),
        errors(summary, style),
        totals(summary, style),
        places(closing, style),
    ];
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn headline(summary: &Summary, closing: &Closing<'_>, style: &Style) -> String {
    let after = loadstone_units::seconds(summary.totals.duration_seconds);
    let (ended, paint) = match closing.state {
        RunState::Running => (format!("running for {after}"), Paint::Dim),
        RunState::Completed => (format!("ran for {after}"), Paint::Dim),
        RunState::Interrupted => (format!("interrupted after {after}"), Paint::Warning),
        RunState::Aborted => (format!("aborted after {after}"), Paint::Bad),
        RunState::Failed => (format!("failed after {after}"), Paint::Bad),
        RunState::Killed => (format!("killed after {after}"), Paint::Bad),
    };
    let name = shorten(&summary.test, style.width.saturating_sub(width_of(&ended) + 3));
    let mut out = format!("{} · {}\n", style.paint(Paint::Bold, &name), style.paint(paint, &ended));
    if !closing.state_detail.is_empty() {
        out.push_str(&hang("  ", 2, closing.state_detail, style.width));
    }
    out
}

/// The sign and the colour of a grade; its word follows the sign.
pub(crate) fn grade_sign(grade: Grade) -> (&'static str, &'static str, Paint) {
    match grade {
        Grade::Valid => ("✓", "VALID", Paint::Good),
        Grade::Suspect => ("!", "SUSPECT", Paint::Warning),
        Grade::Invalid => ("✗", "INVALID", Paint::Bad),
    }
}

fn validity(summary: &Summary, style: &Style) -> String {
    let validity = &summary.verdict.validity;
    let (sign, word, paint) = grade_sign(validity.grade);
    // A valid measurement may have percentiles that are mostly noise: its verdict excepts them.
    let unusable = words::unusable_percentiles(summary).join(", ");
    let (sign, word, paint) = match validity.grade {
        Grade::Valid if !unusable.is_empty() => ("!", format!("VALID EXCEPT {unusable}"), Paint::Warning),
        _ => (sign, word.to_owned(), paint),
    };
    let meaning = words::meaning(summary);
    let judged = validity.checks.iter().filter(|check| check.grade.is_some()).count();
    let lead = format!("{sign} {word} · ");
    let checked =
        if validity.grade == Grade::Valid { format!(" ({})", loadstone_units::counted(judged as u64, "check")) } else { String::new() };
    let mut out = hang(&style.paint(paint, &lead), width_of(&lead), &format!("{meaning}{checked}"), style.width);
    // A check without a grade may still have advice.
    let speaks = |check: &&ValidityCheck| check.grade.is_some_and(|grade| grade > Grade::Valid || !check.advice.is_empty());
    let mut reasons: Vec<_> = validity.checks.iter().filter(speaks).collect();
    reasons.sort_by_key(|check| std::cmp::Reverse(check.grade));
    for check in reasons {
        let (sign, paint) = match check.grade {
            Some(grade) if grade > Grade::Valid => (grade_sign(grade).0, grade_sign(grade).2),
            _ => ("·", Paint::Dim),
        };
        out.push_str(&hang(&format!("  {} ", style.paint(paint, sign)), 4, &format!("{}: {}", check.title, check.evidence), style.width));
        if !check.advice.is_empty() {
            out.push_str(&hang("    → ", 6, &check.advice, style.width));
        }
    }
    out
}

fn threshold_sign(state: ThresholdState) -> (&'static str, Paint) {
    match state {
        ThresholdState::Passed => ("✓", Paint::Good),
        ThresholdState::Failed => ("✗", Paint::Bad),
        ThresholdState::Undecided => ("?", Paint::Warning),
        ThresholdState::NoData => ("✗", Paint::Bad),
        ThresholdState::Pending => ("·", Paint::Dim),
    }
}

fn thresholds(results: &[ThresholdResult], style: &Style) -> String {
    if results.is_empty() {
        return String::new();
    }
    let passed = results.iter().filter(|result| result.state == ThresholdState::Passed).count();
    let failed = results.iter().any(|result| matches!(result.state, ThresholdState::Failed | ThresholdState::NoData));
    let undecided = results.iter().any(|result| result.state == ThresholdState::Undecided);
    let (word, paint) = match (passed == results.len(), undecided && !failed) {
        (true, _) => ("passed", Paint::Good),
        (false, true) => ("undecided", Paint::Warning),
        (false, false) => ("failed", Paint::Bad),
    };
    let mut out = format!("Thresholds {} · {passed} of {} met\n", style.paint(paint, word), results.len());
    for result in results {
        let (sign, paint) = threshold_sign(result.state);
        let label = tame(&result.threshold.label);
        let detail =
            if result.state == ThresholdState::NoData && result.detail.is_empty() { "nothing was measured" } else { &result.detail };
        let lead = format!("  {} ", style.paint(paint, sign));
        if 4 + width_of(&label) + 3 + width_of(detail) <= style.width {
            out.push_str(&format!("{lead}{label}{}\n", style.paint(Paint::Dim, &format!("   {}", tame(detail)))));
        } else {
            out.push_str(&hang(&lead, 4, &label, style.width));
            out.push_str(&hang("      ", 6, detail, style.width));
        }
    }
    out
}

fn findings(summary: &Summary, closing: &Closing<'_>, style: &Style) -> String {
    let findings = &summary.verdict.findings;
    if findings.findings.is_empty() {
        return statements("Findings: ", &findings.remark, style);
    }
    let mut out = String::from("Findings\n");
    for (index, finding) in findings.findings.iter().take(FINDINGS_MAX).enumerate() {
        let lead = format!("  {}. ", index + 1);
        out.push_str(&hang(&lead, width_of(&lead), &claim(finding), style.width));
        for evidence in &finding.evidence {
            out.push_str(&hang("     · ", 7, &evidence.text, style.width));
        }
        let mut is_proved = false;
        for proof in summary.proofs.iter().filter(|proof| proof.is_about(finding)) {
            is_proved = true;
            let line = format!("{} by changing \"{}\": {}", proof.state.word(), proof.knob, proof.because);
            out.push_str(&hang("     = ", 7, &line, style.width));
        }
        if !finding.next.is_empty() {
            out.push_str(&hang("     → ", 7, &finding.next, style.width));
        }
        let experiment = explanation::experiment(finding, index + 1, closing.file, explanation::run_argument(closing.places, &summary.id));
        if let Some(command) = experiment.filter(|_| index == 0 && !is_proved) {
            out.push_str(&hang("     ? ", 7, &format!("prove it: {command}"), style.width));
        }
    }
    let more = findings.findings.len().saturating_sub(FINDINGS_MAX);
    if more > 0 {
        out.push_str(&format!("  … and {more} more in the report\n"));
    }
    out.push_str(&statements("  Also: ", &findings.remark, style));
    let mut pages: Vec<&str> = findings.findings.iter().take(FINDINGS_MAX).map(explanation::explained_as).collect();
    pages.retain(|page| !page.is_empty());
    pages.dedup();
    if !pages.is_empty() {
        out.push_str(&hang("  More: ", 8, &format!("loadstone explain {}", pages.join(" ")), style.width));
    }
    out
}

/// A remark: its first statement after the lead, and the others below it.
fn statements(lead: &str, remark: &Remark, style: &Style) -> String {
    let Some((first, others)) = remark.statements.split_first() else { return String::new() };
    let others = others.iter().map(|other| hang("  · ", 4, other, style.width));
    [hang(lead, width_of(lead), first, style.width)].into_iter().chain(others).collect()
}

/// The claim of a finding, with its confidence.
pub(crate) fn claim(finding: &Finding) -> String {
    let confidence = match finding.confidence {
        Confidence::Low => "low",
        Confidence::Medium => "medium",
        Confidence::High => "high",
    };
    format!("{} ({confidence} confidence)", finding.claim)
}

fn checks(summary: &Summary, style: &Style) -> String {
    if summary.checks.is_empty() {
        return String::new();
    }
    let mut rows: Vec<_> = summary.checks.iter().collect();
    rows.sort_by_key(|row| row.failed == 0);
    let mut out = String::from("Checks\n");
    for row in rows.iter().take(CHECKS_MAX) {
        let total = row.passed + row.failed;
        let (sign, paint) = if row.failed == 0 { ("✓", Paint::Good) } else { ("✗", Paint::Bad) };
        let result = if row.failed == 0 {
            format!("{} passed", loadstone_units::count(row.passed))
        } else {
            let share = loadstone_units::share(row.failed as f64 / total as f64);
            format!("{} of {} failed ({share})", loadstone_units::count(row.failed), loadstone_units::count(total))
        };
        let name = shorten(&words::check(row, &summary.checks), style.width.saturating_sub(7 + width_of(&result)).max(8));
        out.push_str(&format!("  {} {name}   {result}\n", style.paint(paint, sign)));
    }
    if rows.len() > CHECKS_MAX {
        out.push_str(&format!("  … and {} more in the report\n", rows.len() - CHECKS_MAX));
    }
    out
}

fn errors(summary: &Summary, style: &Style) -> String {
    if summary.errors.is_empty() {
        return String::new();
    }
    let mut rows: Vec<_> = summary.errors.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    let mut out = String::from("Errors\n");
    for row in rows.iter().take(ERRORS_MAX) {
        let lead = format!("  {} × ", loadstone_units::count(row.count));
        let trace = row.trace.map(|id| format!(", trace {id}")).unwrap_or_default();
        let first = format!(" (first at {}{trace})", loadstone_units::seconds(row.first_at_seconds));
        let text = format!("{}: {}: {}", row.key.name, row.outcome.label(), row.message);
        // Three lines of a message suffice; the report has the rest.
        let columns = style.width.saturating_sub(width_of(&lead));
        let text = cut(&text, (columns * 3 - columns / 2).saturating_sub(first.len()));
        out.push_str(&hang(&lead, width_of(&lead), &(text + &first), style.width));
        for line in failure_sample::lines(row) {
            let line = if style.whole_names { tame(&line) } else { cut(&line, style.width.saturating_sub(6)) };
            out.push_str(&format!("      {}\n", style.paint(Paint::Dim, &line)));
        }
    }
    if rows.len() > ERRORS_MAX {
        out.push_str(&format!("  … and {} more in the report\n", rows.len() - ERRORS_MAX));
    }
    out
}

fn totals(summary: &Summary, style: &Style) -> String {
    let t = &summary.totals;
    let mut parts = vec![
        format!("{} ({})", loadstone_units::counted(t.requests, "request"), loadstone_units::rate(t.request_rate)),
        format!("{} failed ({})", loadstone_units::count(t.requests_failed), loadstone_units::share(t.failure_share)),
    ];
    // The record of a watched tool has neither iterations nor bytes. Zero of them were not counted.
    if t.iterations > 0 || t.requests == 0 {
        parts.push(loadstone_units::counted(t.iterations, "iteration"));
    }
    if let Some(retried) = words::retried(t) {
        parts.insert(2, retried);
    }
    if t.iterations_failed > 0 {
        parts.push(format!("{} failed", loadstone_units::counted(t.iterations_failed, "iteration")));
    }
    if t.iterations_interrupted > 0 {
        parts.push(format!("{} interrupted", loadstone_units::counted(t.iterations_interrupted, "iteration")));
    }
    if t.arrivals_due > 0 {
        parts.push(format!(
            "{} of {} arrivals started",
            loadstone_units::count(t.arrivals_started),
            loadstone_units::count(t.arrivals_due)
        ));
    }
    parts.push(format!("at most {}", loadstone_units::counted(t.users_max, "user")));
    if t.connections_opened > 0 || t.requests == 0 {
        parts.push(loadstone_units::counted(t.connections_opened, "connection"));
    }
    if t.tls_handshakes > 0 {
        let resumed = loadstone_units::count(t.tls_resumed);
        parts.push(format!("{} ({resumed} resumed)", loadstone_units::counted(t.tls_handshakes, "TLS handshake")));
    }
    if t.bytes_sent > 0 || t.bytes_received > 0 || t.requests == 0 {
        parts.push(format!("{} sent", loadstone_units::bytes(t.bytes_sent)));
        parts.push(format!("{} received", loadstone_units::bytes(t.bytes_received)));
    }
    // A number and its unit remain on one line.
    let glued: Vec<String> = parts.iter().map(|part| part.replace(' ', "\u{a0}")).collect();
    hang("Totals  ", 8, &glued.join("\u{a0}· "), style.width).replace('\u{a0}', " ")
}

fn places(closing: &Closing<'_>, style: &Style) -> String {
    // Paths are not wrapped, so that they can be clicked or copied.
    closing.places.iter().map(|(what, place)| format!("{}  {}\n", style.paint(Paint::Bold, what), tame(place))).collect()
}
