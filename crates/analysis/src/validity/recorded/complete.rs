//! Was the record read completely, and did the tool end as it should?

use loadstone_metrics::CommandEnd;

use super::super::check::{CheckInfo, CheckInput, RunStage, grade_of};
use crate::{Grade, ValidityCheck};

const INFO: CheckInfo = CheckInfo {
    id: "record",
    title: "Record of the tool",
    limits: "suspect when lines could not be read, requests were recorded too late for their second, or the tool was killed; invalid when more than 5 % of \
     the lines could not be read",
};

pub(in super::super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let tool = super::tool(input);
    let Some(record) = input.tally.record() else { return INFO.nothing("nothing was read") };
    let entries = format!("{} entries", loadstone_units::count(record.entries));
    let ended = match record.command_end {
        Some(CommandEnd::Exited(0)) => "; the command succeeded".to_owned(),
        Some(CommandEnd::Exited(code)) => format!("; the command ended with exit code {code}"),
        Some(CommandEnd::Killed(signal)) => format!("; the command was killed by signal {signal}"),
        Some(CommandEnd::Stopped) => "; Loadstone stopped the command".to_owned(),
        None => String::new(),
    };
    let rotated = match record.rotated {
        0 => String::new(),
        times => format!("; the file was rotated or truncated {}", if times == 1 { "once".to_owned() } else { format!("{times} times") }),
    };
    if record.entries + record.outside + record.unreadable == 0 && input.stage != RunStage::Running {
        return INFO.graded(Grade::Invalid, format!("nothing was recorded{ended}"), absence(input));
    }
    let lines = record.entries + record.unreadable;
    let share = record.unreadable as f64 / lines.max(1) as f64;
    if record.unreadable > 0 {
        let shown = record.unreadable_line.as_deref().unwrap_or_default();
        if super::proxy::is_record(input) {
            let connections = loadstone_units::counted(record.unreadable, "connection");
            let evidence = format!("the requests of {connections} are not in the record: {shown}{ended}");
            let advice = "All numbers are without these requests. Let the tool use HTTP/1.1 on such connections, or follow its own record or an access log.";
            return INFO.graded(grade_of(share, 0.0, 0.05), evidence, advice);
        }
        let at = record.unreadable_at.as_ref().map_or(String::new(), |at| format!("{at}: "));
        let evidence = format!(
            "{} could not be read as {tool}'s record, such as {at}\"{shown}\"{rotated}{ended}",
            loadstone_units::counted(record.unreadable, "line")
        );
        let advice = "Check that --record and --log-format match the file, and that nothing else writes to it.";
        return INFO.graded(grade_of(share, 0.0, 0.05), evidence, advice);
    }
    if let Some(CommandEnd::Killed(_)) = record.command_end {
        let advice = "Requests that were in flight when the tool was killed are missing. The numbers describe the run up to that time.";
        return INFO.graded(Grade::Suspect, format!("{entries} were read{ended}"), advice);
    }
    let late = record.ended_early;
    if late > 0 && input.stage != RunStage::Running {
        let evidence = format!(
            "{} of {entries} arrived over 10 s after their request had ended, and are counted in a later second{ended}",
            loadstone_units::count(late)
        );
        let advice = "The tool buffers its record. Make it write each entry at once: its documentation calls this flushing.";
        return INFO.graded(grade_of(late as f64 / record.entries.max(1) as f64, 0.01, 1.0), evidence, advice);
    }
    let failed = matches!(record.command_end, Some(CommandEnd::Exited(code)) if code != 0);
    let advice = if failed { "Its output says why. Many tools end like this when their own thresholds fail." } else { "" };
    INFO.with(Some(Grade::Valid), format!("{entries} were read without a gap{rotated}{ended}"), advice)
}

/// How the record of hey and oha describes what it lacks.
const WITHOUT_RESPONSE: &str = "requests without a response";

/// What to do if there is no entry.
fn absence(input: &CheckInput<'_>) -> &'static str {
    if input.plan.recorded.as_ref().is_some_and(|recorded| recorded.format == "otlp") {
        "No server span arrived. Start the services with OTEL_EXPORTER_OTLP_ENDPOINT set to the address that `loadstone watch` prints and \
         OTEL_TRACES_EXPORTER=otlp, or let your Collector export there, too. Spans of other kinds are no requests."
    } else if super::proxy::is_record(input) {
        "No request reached the proxy. Send the load to its address, which `loadstone watch` prints, in place of the system's own."
    } else if input.plan.recorded.as_ref().is_some_and(|recorded| recorded.lacks.iter().any(|lack| lack.starts_with(WITHOUT_RESPONSE))) {
        "The tool leaves requests without a response, such as refused connections, out of its record. Check that the address in its command answers."
    } else {
        "Check that the tool writes the record that --record and --follow name, and that it sent requests."
    }
}
