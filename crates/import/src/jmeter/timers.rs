//! Timers: what a user waits before each sampler in scope.

use super::output::GroupOutput;
use super::tree::PlanNode;
use crate::text::{number, quoted};

/// The code of a timer.
pub(super) fn pause(timer: &PlanNode, output: &mut GroupOutput<'_>) -> String {
    let values = &mut *output.values;
    let delay = timer.text("ConstantTimer.delay");
    let range = timer.text("RandomTimer.range");
    let (delay_number, range_number) = (delay.trim().parse::<f64>().ok(), range.trim().parse::<f64>().ok());
    let milliseconds = |value: f64| format!("{}ms", number(value));
    let written = match (timer.kind(), delay_number, range_number) {
        ("ConstantTimer", Some(delay), _) => quoted(&crate::text::milliseconds(delay)),
        ("ConstantTimer", None, _) => {
            let delay = values.number(delay, 0.0).code();
            format!("`${{{delay}}}ms`")
        }
        ("UniformRandomTimer", Some(delay), Some(range)) => {
            quoted(&format!("uniform({}, {})", milliseconds(delay), milliseconds(delay + range)))
        }
        ("GaussianRandomTimer", Some(delay), Some(range)) => quoted(&format!("normal({}, {})", milliseconds(delay), milliseconds(range))),
        ("ConstantThroughputTimer", ..) => return throughput(timer, output),
        _ => {
            values.lost(format!("the timer \"{}\"", timer.name()));
            return format!("// Not translated: the timer \"{}\".\n", timer.name());
        }
    };
    format!("await user.pause({written});\n")
}

/// JMeter's formula (`ConstantThroughputTimer.calculateDelay`): one thread waits until its previous start plus the interval, which grows with the threads
/// that share the throughput.
fn throughput(timer: &PlanNode, output: &mut GroupOutput<'_>) -> String {
    let per_minute = timer.inner("throughput").map_or_else(|| timer.text("throughput").to_owned(), |inner| inner.text("value").to_owned());
    let per_minute = if per_minute.is_empty() { timer.text("throughput").to_owned() } else { per_minute };
    let per_minute = output.values.number(&per_minute, 60.0).code();
    let shared = !matches!(timer.text("calcMode").trim(), "0" | "");
    output.values.helpers.insert("paced");
    let interval = if shared { format!("{} * 60_000 / {per_minute}", output.threads) } else { format!("60_000 / {per_minute}") };
    format!("await paced(user, {interval});\n")
}
