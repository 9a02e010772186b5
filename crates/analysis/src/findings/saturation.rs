//! A resource of the machine or of a process is used up while work waits: CPU, heap, disk, network link, descriptors or local ports.
//!
//! A single thread that runs a full event loop is evidence of [`event-loop`](event-loop.md) instead.
//!
//! A resource must be at its limit for {search::LENGTH_MIN_S} s and {search::READINGS_MIN} readings while work waits or {strain::TIMEOUT_SHARE_MIN:%} of the
//! requests time out (descriptors, ports, heaps: fail).
//!
//! | resource (observer) | at its limit |
//! |---|---|
//! | busiest thread (`process`) | {search::FULL_PART_MIN} of a core |
//! | busiest thread (`process`) | {process_cpu::CROWDED_THREAD_USED_MIN} of a core, and threads wait for the rest of it |
//! | busiest thread (`process`) | {process_cpu::WAITING_THREAD_USED_MIN} of a core, and it waits for the rest of the time itself |
//! | busiest thread (`process`) | {process_cpu::FLAT_THREAD_MEAN_MIN} of a core on average, while its use no longer grows with the load |
//! | cores (`process`), machine (`host`) | {search::FULL_PART_MIN:%} |
//! | runtime limit (`process`) | a whole number of cores, within {process_cpu::WHOLE_CORES_WITHIN:%}, at a constant level |
//! | single thread (`process`) | {process_cpu::ONE_CORE_USED_MIN} to {process_cpu::ONE_CORE_USED_MAX} cores in nearly all readings |
//! | crowded cores (`process`) | most of the cores that its mask or quota allows, while as many threads as cores wait for one |
//! | taken cores (`process`) | from the instant of a step, {process_cpu::TAKEN_FACTOR_MIN} times as many threads wait for a core, for the same work |
//! | one at a time (`process`) | about one core in all, of several processes of which no thread uses half, and none waits for a core |
//! | core queue (`process`) | {core_queue::BUSY_PART_MIN:%} of the cores; requests slow down as such a queue predicts (Sakasegawa 1977) |
//! | control group (`cgroup`, `process`) | throttled for {exhausted::THROTTLED_SHARE_MIN:%} of the time, summed over the cores |
//! | heap (runtime metrics) | {exhausted::COLLECTING_SHARE_MIN:%} of the time in garbage collection; or full, then silent, and one thread busy |
//! | disk (`host`) | {exhausted::DISK_BUSY_SHARE_MIN:%} busy, with {exhausted::DISK_QUEUE_MIN} requests queued |
//! | link (`host`) | {exhausted::LINK_USED_PART_MIN:%} of its speed |
//! | descriptors (`process`) | {exhausted::DESCRIPTORS_PART_MIN:%} of the limit |
//! | local ports for an endpoint (`process`) | {exhausted::PORTS_PART_MIN:%} of those that the kernel gives to connections |
//!
//! The finding names the request and the function that take most CPU time. Confidence is lower if a limit is inferred, or if other programs use the cores.
//!
//! If requests of an equal load take longer from an instant on while the process uses as much CPU time as before, other programs took the cores that it may use
//! (its mask). The claim has the instant. A limit of its control group is not meant.
//!
//! If the busiest thread of a process is a garbage collector's by its name, the finding reports that, and the confidence is medium at most.
//!
//! A core of the machine that runs a program of low priority counts as free, unless observed processes have a low priority themselves.
//!
//! A machine that other programs fill throughout the load is ignored if hardly any request that the waiting added is at a core: the threads of the observed
//! processes that compute or wait for one grow by less than {exhausted::THREADS_PER_REQUEST_MIN:%} of these requests, and those that wait are as many as
//! before. The same holds from an instant on at which requests began to take longer, 10 s or more after the machine was full. It is also ignored if fewer
//! threads wait for a core, database sessions on a CPU included, than {exhausted::WAITING_PER_REQUEST_MIN:%} of the requests in the system, and than cores are
//! in use: free cores would shorten the times by less than that.
//!
//! The rule ignores a resource that was as busy before the waiting began. It cannot distinguish a leak from a heap that is too small.

use loadstone_metrics::Role;
use loadstone_metrics::function_labels::COLLECTOR;

use crate::Confidence;
use crate::Evidence;
use crate::evidence::cpu_demand::{self, LargeResponses};
use crate::evidence::next_limit;
use crate::facts::Facts;
use crate::facts::busiest_function::BusiestFunction;
use crate::facts::exhausted::{COLLECTING_NAMED_SHARE_MIN, Exhausted, ExhaustedResource, MachineCpu};
use crate::facts::next_limits::NextLimit;
use crate::facts::process_cpu::{CpuLimit, ProcessCpu, busiest_thread};
use crate::facts::profiles;
use crate::facts::readings::SignalReadings;
use crate::facts::search::FULL_PART_MIN;
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, QuantityUnit, Subject};
use crate::instant::clock;

/// Part of the stretch in which another resource must have been at its limit to explain the waiting as well.
const SHARED_PART_MIN: f64 = 0.5;
/// Cores in a profile over cores that a process used, and over those that it used or waited for: within them, the profile belongs to the process. Samples count
/// threads that wait for a core, too.
const SAME_PROCESS_CORES_RATIO: (f64, f64) = (0.5, 1.6);
/// Part of a second that a thread may neither use nor wait for a core where it always does one of both.
const READING_ERROR_MAX: f64 = 0.05;
/// Share of a profile from which a function is named, and the minimum of CPU seconds in its samples.
const FUNCTION_SHARE_MIN: f64 = 0.25;
const FUNCTION_CPU_MIN_S: f64 = 1.0;

/// Part of the machine's cores that the generator uses, from which it matters where it runs.
const GENERATOR_PART_MIN: f64 = 0.05;

pub(super) const RULE: Rule = Rule {
    ids: &["cpu", "heap", "disk", "bandwidth", "descriptors", "ports"],
    page: "cpu",
    title: "A resource is used up",
    says: "CPU, memory, a disk or another resource is used up while work waits",
    example: Example {
        run: "examples/saturation",
        claim: "\"process:8080\" uses one core fully while work waits: a single thread does the work; each \"Register\" takes 39.8 ms of CPU time",
    },
    needs: &["process"],
    settings: &["cpu", "core", "heap", "memory", "disk", "descriptor", "worker"],
    precedence: 290,
    find: FindingSearch::One(find),
};

#[expect(clippy::too_many_lines, reason = "one arm for each resource, with its claim, evidence and advice")]
fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let exhausted = facts.exhausted.first()?;
    // The rule of the event loop states that this thread is busy, and with what.
    if facts.full_loop.as_ref().is_some_and(|full| full.as_thread(&facts.signals, exhausted).is_some()) {
        return None;
    }
    // Nor the cores that its process uses one at a time, where the rule of the interpreter's lock states why.
    let interpreter = facts.full_interpreter.as_ref().and_then(|full| full.process.as_ref());
    if interpreter.is_some_and(|(used, _)| exhausted.resource.is_one_core_of(&used.signal.observer)) {
        return None;
    }
    let found = match &exhausted.resource {
        ExhaustedResource::Descriptors { process, limit } => all_in_use(
            exhausted,
            ("descriptors", *limit),
            format!("\"{process}\" has all of its {limit:.0} file descriptors open: it cannot accept or open more connections"),
            "",
            "Raise the limit (LimitNOFILE= of the service, ulimit -n), or look for connections that are never closed.",
        ),
        ExhaustedResource::Ports { process, peer, limit } => all_in_use(
            exhausted,
            ("ports", *limit),
            format!(
                "All {} local ports for connections to {peer} are in use: \"{process}\" cannot open another connection to it",
                loadstone_units::count(*limit as u64)
            ),
            "; a closed connection holds its port for a minute",
            "Keep connections open and use them again (a pool, keep-alive), instead of one for each call.",
        ),
        ExhaustedResource::GroupCpu { group, cores_max, throttled } => {
            let top = busiest_function(facts, exhausted, (*cores_max, *cores_max));
            let claim = format!(
                "The control group \"{group}\" is throttled by its limit of {} cores{}",
                loadstone_units::number(*cores_max),
                most_of_it(top.as_ref())
            );
            let text = format!(
                "its threads were held back for {} in each second while work waited, summed over the cores",
                loadstone_units::seconds(*throttled)
            );
            let found = begun(exhausted, "cpu", Confidence::High, claim, text)
                .with(Quantity::new("cores_max", *cores_max, QuantityUnit::Cores))
                .with(Quantity::seconds("throttled_per_second", *throttled));
            let collects = top.as_ref().is_some_and(|top| top.owner == COLLECTOR);
            sampled(found, top, exhausted).try_next(if collects {
                "Let it collect less often: a larger heap (GOGC and GOMEMLIMIT in Go), or fewer allocations. Otherwise raise the limit of its cores."
            } else {
                "Raise the limit, and run again: throughput should rise in proportion."
            })
        }
        ExhaustedResource::Heap { process, collecting, heap, filled, .. } => {
            heap_too_small(exhausted, &whose_heap(facts, process), *collecting, (*heap, *filled))
        }
        ExhaustedResource::SilentHeap { observer, process, heap, at, thread, .. } => {
            let claim = format!(
                "The heap of \"{process}\" was {} full at {}, then its metrics stopped while one thread remained busy: it collects garbage and frees nothing",
                loadstone_units::share(*heap),
                clock(*at)
            );
            let text = format!(
                "\"{observer}\" has no reading after {}, and the busiest thread of \"{process}\" used {} cores since",
                clock(*at),
                loadstone_units::number(*thread)
            );
            begun(exhausted, "heap", Confidence::Medium, claim, text)
                .with(Quantity::share("heap_share", *heap))
                .weigh(Alternative::not_ruled_out("Other work of that thread", "its collections were not read after the metrics stopped"))
                .try_next(
                    "Increase the heap, or find what fills it (a heap dump). A leak or an unbounded cache would fill a larger heap, too.",
                )
        }
        ExhaustedResource::MachineCpu(machine) => machine_cpu(facts, exhausted, machine),
        ExhaustedResource::ProcessCpu(process) => process_cpu(facts, exhausted, process),
        ExhaustedResource::Network { device, is_sending, used, speed } => {
            let verb = if *is_sending { "sends" } else { "receives" };
            let (rate, most) = (loadstone_units::bytes(*used as u64), loadstone_units::bytes(*speed as u64));
            let claim = format!("The network link {device} is saturated: it {verb} {rate}/s of {most}/s while work waits");
            let text = format!("{} of the link's bandwidth on average", loadstone_units::share(used / speed));
            begun(exhausted, "bandwidth", Confidence::High, claim, text)
                .with(Quantity::new("used", *used, QuantityUnit::BytesPerSecond))
                .with(Quantity::new("bandwidth", *speed, QuantityUnit::BytesPerSecond))
                .try_next("Send fewer bytes (compression, smaller pages, a cache near the client), or use a faster link.")
        }
        ExhaustedResource::Disk { device, busy, queue } => {
            let claim = format!("The disk {device} is saturated: {queue:.0} disk requests are queued on average while work waits");
            let text = format!("busy for {} of the time", loadstone_units::share(*busy));
            begun(exhausted, "disk", Confidence::Medium, claim, text)
                .with(Quantity::count("queue", *queue))
                .with(Quantity::share("busy_share", *busy))
                .try_next(format!(
                    "Find the process that reads or writes ({}), and reduce it: commits, logs, a cache that is too small.",
                    facts.terms().named(&["process"])
                ))
        }
    };
    let span = (exhausted.from, exhausted.to);
    let found = next_limit::add_evidence(facts, found, span, &|limit| is_of(&exhausted.resource, limit));
    // A saturated machine may have made the generator late; the observed system's own resources cannot.
    let is_own = !matches!(exhausted.resource, ExhaustedResource::MachineCpu(_));
    let found = if is_own { found.beyond_the_generator(facts, span) } else { found };
    let found =
        if facts.began_with_retry_storm(exhausted.from) { RankedFinding { standing: Standing::Consequence, ..found } } else { found };
    let others = facts.exhausted[1..].iter().filter(|other| !is_same_cpu(&exhausted.resource, &other.resource));
    Some(others.fold(found, |found, other| found.weigh(at_its_limit_too(exhausted, other))))
}

/// The cores of a machine or a control group are those that its processes use.
fn is_same_cpu(a: &ExhaustedResource<'_>, b: &ExhaustedResource<'_>) -> bool {
    let is_whole = |resource: &_| matches!(resource, ExhaustedResource::MachineCpu(_) | ExhaustedResource::GroupCpu { .. });
    let is_cpu = |resource: &_| is_whole(resource) || matches!(resource, ExhaustedResource::ProcessCpu(_));
    is_cpu(a) && is_cpu(b) && (is_whole(a) || is_whole(b))
}

/// Another resource explains the waiting as well as this one if it was at its limit for as much of the time.
fn at_its_limit_too(exhausted: &Exhausted<'_>, other: &Exhausted<'_>) -> Alternative {
    let shared = exhausted.to.min(other.to) - exhausted.from.max(other.from);
    let when = format!("it was at its limit from {} to {}", clock(other.from), clock(other.to));
    if shared >= SHARED_PART_MIN * (exhausted.to - exhausted.from) {
        Alternative::not_ruled_out(other.resource.name(), format!("{when}, too"))
    } else {
        Alternative::ruled_out(
            other.resource.name(),
            format!("{when}, while work waited from {} to {}", clock(exhausted.from), clock(exhausted.to)),
        )
    }
}

/// Whether a limit belongs to the resource that was used up.
fn is_of(resource: &ExhaustedResource<'_>, limit: &NextLimit<'_>) -> bool {
    let is_process = |name: &str| limit.part.observer == name && matches!(limit.role, Role::ProcessCpu | Role::ProcessThreadCpuMax);
    let is_cpu = matches!(limit.role, Role::ProcessCpu | Role::ProcessThreadCpuMax | Role::GroupCpu | Role::MachineIdle);
    match resource {
        ExhaustedResource::GroupCpu { .. } | ExhaustedResource::MachineCpu(_) => is_cpu,
        ExhaustedResource::ProcessCpu(cpu) => match cpu.limit {
            CpuLimit::OneThread(_) => limit.role == Role::ProcessThreadCpuMax && limit.part.observer == cpu.process,
            CpuLimit::Cores(_) | CpuLimit::OneAtATime { .. } => is_process(cpu.process),
            CpuLimit::All(_)
            | CpuLimit::Left(_)
            | CpuLimit::Starved
            | CpuLimit::Taken { .. }
            | CpuLimit::Served { .. }
            | CpuLimit::Queue { .. } => is_cpu,
        },
        ExhaustedResource::Heap { process, .. } | ExhaustedResource::SilentHeap { process, .. } => is_process(process),
        ExhaustedResource::Disk { device, .. } => limit.role == Role::DiskBusy && limit.part.part == *device,
        ExhaustedResource::Network { device, .. } => {
            matches!(limit.role, Role::NetworkReceived | Role::NetworkSent) && limit.part.part == *device
        }
        ExhaustedResource::Descriptors { .. } | ExhaustedResource::Ports { .. } => false,
    }
}

fn subject(resource: &ExhaustedResource<'_>) -> Subject {
    match resource {
        ExhaustedResource::Descriptors { process, .. }
        | ExhaustedResource::Heap { process, .. }
        | ExhaustedResource::SilentHeap { process, .. } => Subject::observed(process),
        ExhaustedResource::Ports { process, peer, .. } => Subject::part(process, peer),
        ExhaustedResource::GroupCpu { group, .. } => Subject::observed(group),
        ExhaustedResource::ProcessCpu(cpu) => Subject::observed(cpu.process),
        ExhaustedResource::MachineCpu(_) => Subject::observed("host"),
        ExhaustedResource::Disk { device, .. } | ExhaustedResource::Network { device, .. } => Subject::part("host", device),
    }
}

/// All of a number of things that the system may have: descriptors or ports. `after`: continues the evidence.
fn all_in_use(exhausted: &Exhausted<'_>, (of, limit): (&'static str, f64), claim: String, after: &str, next: &str) -> RankedFinding {
    let text = format!(
        "all {} were in use for {} while {}{after}",
        loadstone_units::count(limit as u64),
        loadstone_units::seconds(exhausted.to - exhausted.from),
        meanwhile(exhausted)
    );
    begun(exhausted, of, Confidence::High, claim, text).with(Quantity::count(of, limit)).try_next(next)
}

/// The finding with its evidence: in closed load where waiting began, then `text`.
fn begun(exhausted: &Exhausted<'_>, rule: &'static str, confidence: Confidence, claim: String, text: String) -> RankedFinding {
    let standing = exhausted.waiting.as_ref().map_or(Standing::Cause, Standing::during);
    let mut found = RankedFinding::new(standing, rule, subject(&exhausted.resource), confidence, claim);
    let span = (exhausted.from, exhausted.to);
    if let Some(waiting) = &exhausted.waiting
        && let Some(closed) = waiting.closed
    {
        let began = format!(
            "from {} on, when {} users were active, requests took {} on average instead of {}",
            loadstone_units::seconds(waiting.from),
            loadstone_units::count(closed.users),
            loadstone_units::seconds(closed.during_s),
            loadstone_units::seconds(closed.before_s)
        );
        found = found.rests_on(began, waiting.columns(), (waiting.from, waiting.to));
    }
    let evidence = Evidence::new(text, exhausted.series.clone(), span);
    found = found.rests_on_drawn(levels(exhausted).into_iter().fold(evidence, |evidence, (index, label, value)| {
        match exhausted.series.get(index) {
            Some(series) => evidence.level(series, label, value, span),
            None => evidence,
        }
    }));
    match &exhausted.demand {
        Some(demand) => cpu_demand::add_to(found, demand, span),
        None => found,
    }
}

/// Numbers of the sentence in the unit of the series: the index of the series, a label, and the value.
fn levels(exhausted: &Exhausted<'_>) -> Vec<(usize, &'static str, f64)> {
    match &exhausted.resource {
        ExhaustedResource::Descriptors { limit, .. } | ExhaustedResource::Ports { limit, .. } => vec![(0, "limit", *limit)],
        ExhaustedResource::MachineCpu(machine) => vec![(0, "idle cores", machine.cores * (1.0 - machine.used))],
        ExhaustedResource::Network { used, speed, .. } => vec![(0, "on average", *used), (0, "bandwidth", *speed)],
        ExhaustedResource::Disk { busy, queue, .. } => vec![(0, "busy", *busy), (1, "queue", *queue)],
        ExhaustedResource::GroupCpu { cores_max, throttled, .. } => {
            // The limit applies to the sum of several series.
            let limit = (exhausted.series.len() == 2).then_some((1, "limit", *cores_max));
            std::iter::once((0, "throttled", *throttled)).chain(limit).collect()
        }
        ExhaustedResource::Heap { heap_max: Some((index, bytes)), .. } | ExhaustedResource::SilentHeap { heap_max: (index, bytes), .. } => {
            vec![(*index, "limit", *bytes)]
        }
        ExhaustedResource::ProcessCpu(ProcessCpu { limit: CpuLimit::OneThread(Some(_)), .. }) => {
            // A process in several parts has one for each.
            let mut threads = exhausted.series.iter().enumerate().filter(|(_, series)| series.ends_with("/busiest_thread"));
            match (threads.next(), threads.next()) {
                (Some((index, _)), None) => vec![(index, "limit", 1.0)],
                _ => Vec::new(),
            }
        }
        // Their series are in parts or have another unit.
        ExhaustedResource::Heap { .. } | ExhaustedResource::ProcessCpu(_) => Vec::new(),
    }
}

/// What happened to the work in that time.
fn meanwhile(exhausted: &Exhausted<'_>) -> String {
    exhausted.failed.map_or_else(|| "work waited".to_owned(), |failed| format!("{} of the requests failed", loadstone_units::share(failed)))
}

/// An observer of metrics without a name has the name of its kind, which is no process. If exactly one other process was observed, it is that one.
fn whose_heap(facts: &Facts<'_>, observer: &str) -> String {
    if !matches!(observer, "prometheus" | "json") {
        return format!("\"{observer}\"");
    }
    let mut processes = facts.signals.parts_with(Role::ProcessCpu).map(|part| part.observer).filter(|name| *name != observer);
    match (processes.next(), processes.next()) {
        (Some(process), None) => format!("\"{process}\""),
        _ => format!("The process whose metrics \"{observer}\" reads"),
    }
}

fn heap_too_small(
    exhausted: &Exhausted<'_>,
    process: &str,
    collecting: f64,
    (heap, filled): (Option<f64>, Option<(f64, f64)>),
) -> RankedFinding {
    let why = match filled {
        Some((first, last)) => format!(
            "its memory grew from {} to {} until the heap was full, and collections free nothing: a leak, or a heap that is too small",
            loadstone_units::bytes(first as u64),
            loadstone_units::bytes(last as u64)
        ),
        None => "its heap is too small".to_owned(),
    };
    let claim = format!("{process} spends {} of its time collecting garbage: {why}", loadstone_units::share(collecting));
    let text = match heap {
        Some(heap) => format!(
            "it collected garbage for {} of the time, with {} of the heap in use",
            loadstone_units::share(collecting),
            loadstone_units::share(heap)
        ),
        None => format!("it collected garbage for {} of the time while {}", loadstone_units::share(collecting), meanwhile(exhausted)),
    };
    begun(exhausted, "heap", Confidence::High, claim, text)
        .with(Quantity::share("collecting_share", collecting))
        .try_next("Increase the heap, or find what fills it (a heap dump). A leak or an unbounded cache would fill a larger heap, too.")
}

fn machine_cpu(facts: &Facts<'_>, exhausted: &Exhausted<'_>, machine: &MachineCpu) -> RankedFinding {
    let MachineCpu { cores, used, by_generator, by_observed, at_cores } = *machine;
    let known = by_observed.map_or_else(String::new, |share| format!(", the observed processes {}", loadstone_units::share(share)));
    let computing = facts.session_wait.as_ref().and_then(|wait| wait.computing).filter(|sessions| *sessions >= 0.5);
    let others = match computing {
        Some(sessions) => format!("; {} sessions of the observed database computed in that time", loadstone_units::number(sessions)),
        None if machine.is_filled_by_others() => "; processes that are not observed used most of it".to_owned(),
        None => String::new(),
    };
    let text = format!(
        "it was {} busy on average; the load generator used {} of the machine{known}{others}",
        loadstone_units::share(used),
        loadstone_units::share(by_generator)
    );
    let top = busiest_function(facts, exhausted, (used * cores, used * cores));
    let most = top.as_ref().map_or_else(String::new, |top| {
        format!("; {} of them in {}", loadstone_units::share_to(top.cores / (used * cores), top.digits), top.place())
    });
    let claim = format!(
        "The machine's CPU is saturated: {} of its {cores:.0} cores were busy while work waited{most}",
        loadstone_units::share(used)
    );
    let waiting = "Waiting for something else, such as a pool or a lock";
    let at_cores = at_cores
        .map(|threads| format!("{} threads of the observed system ran or waited for a core, on average", loadstone_units::number(threads)));
    let (confidence, alternative) = match at_cores {
        Some(threads) if exhausted.resource.is_wanted() => (Confidence::Medium, Alternative::ruled_out(waiting, threads)),
        Some(threads) => {
            (Confidence::Low, Alternative::not_ruled_out(waiting, format!("only {threads}, and other programs filled the machine")))
        }
        None if machine.is_filled_by_others() => {
            (Confidence::Medium, Alternative::not_ruled_out(waiting, "nothing shows whether requests waited for a core"))
        }
        None => {
            let busy = format!("it would leave cores idle, and {} of them were busy", loadstone_units::share(used));
            (Confidence::Medium, Alternative::ruled_out(waiting, busy))
        }
    };
    let found = begun(exhausted, "cpu", confidence, claim, text).with(Quantity::share("busy_share", used)).with(Quantity::new(
        "cores",
        cores,
        QuantityUnit::Cores,
    ));
    sampled(found, top, exhausted).weigh(alternative).try_next(machine_advice(facts, machine))
}

fn machine_advice(facts: &Facts<'_>, machine: &MachineCpu) -> String {
    let generator = if machine.by_generator >= GENERATOR_PART_MIN { ", and run the load generator on another machine" } else { "" };
    if machine.is_filled_by_others() {
        return format!("Programs that are not observed use most of it: find them (`top`), and run again without them{generator}.");
    }
    format!(
        "Find the process that uses it ({}){generator}. More cores, or less work per request, should raise throughput in proportion.",
        facts.terms().named(&["process"])
    )
}

/// The function that takes most of a process's CPU time, if its runtime was observed. Observers do not name each other's process, so the profile is that
/// of the process that uses as many cores, or uses or waits for as many.
fn busiest_function<'a>(facts: &Facts<'a>, exhausted: &Exhausted<'_>, cores: (f64, f64)) -> Option<BusiestFunction<'a>> {
    let takes_much = |top: &BusiestFunction<'_>| {
        top.cores >= FUNCTION_SHARE_MIN * top.all && top.cores * (exhausted.to - exhausted.from) >= FUNCTION_CPU_MIN_S
    };
    profiled(facts, exhausted, cores).find(takes_much)
}

/// The first function of each profile that may be of the process.
fn profiled<'f, 'a>(
    facts: &'f Facts<'a>,
    exhausted: &Exhausted<'_>,
    (used, wanted): (f64, f64),
) -> impl Iterator<Item = BusiestFunction<'a>> + use<'f, 'a> {
    let span = (exhausted.from, exhausted.to);
    let of = facts.signals.parts_with(Role::FunctionCpu).filter_map(move |part| {
        let top = BusiestFunction::of(&facts.signals, part, span)?;
        profiles::is_work_for_cores(&facts.signals, part.observer, top.all, span).then_some(top)
    });
    let (least, most) = SAME_PROCESS_CORES_RATIO;
    of.filter(move |top| top.all >= least * used && top.all <= most * wanted)
}

fn most_of_it(top: Option<&BusiestFunction<'_>>) -> String {
    top.map_or_else(String::new, |top| {
        format!("; {} of its CPU time is in {}", loadstone_units::share_to(top.cores / top.all, top.digits), top.place())
    })
}

/// Cores with no more significant digits than the samples justify, and to a thousandth at most.
fn to_digits(cores: f64, digits: usize) -> String {
    const DECIMALS_MAX: i32 = 3;
    let before_point = cores.max(1e-9).log10().floor() as i32 + 1;
    format!("{cores:.*}", (digits as i32 - before_point).clamp(0, DECIMALS_MAX) as usize)
}

/// The finding with the evidence of stack samples.
fn sampled(found: RankedFinding, top: Option<BusiestFunction<'_>>, exhausted: &Exhausted<'_>) -> RankedFinding {
    let Some(top) = top else { return found };
    let text =
        format!("stack samples: {} of {} cores in {}", to_digits(top.cores, top.digits), to_digits(top.all, top.digits), top.place());
    found.rests_on(text, vec![top.series], (exhausted.from, exhausted.to))
}

#[expect(clippy::too_many_lines, reason = "one claim for each limit, and the evidence that they share")]
fn process_cpu(facts: &Facts<'_>, exhausted: &Exhausted<'_>, cpu: &ProcessCpu<'_>) -> RankedFinding {
    let process = cpu.process;
    let wanted = (cpu.cores_used, profiles::work_for_cores(cpu.cores_used, cpu.run_delay.unwrap_or(0.0)));
    let top = busiest_function(facts, exhausted, wanted);
    let busiest_thread = busiest_thread(&facts.signals, process, (exhausted.from, exhausted.to));
    let collector = busiest_thread.filter(|name| is_collector(name));
    let (demand, span) = (exhausted.demand.as_ref(), (exhausted.from, exhausted.to));
    let large = LargeResponses::of(facts, demand);
    let each = cpu_demand::each(demand) + &most_of_it(top.as_ref());
    let claim = match cpu.limit {
        CpuLimit::All(cores) if cores < 1.5 => format!("\"{process}\" uses the machine's only core while work waits{each}"),
        CpuLimit::All(cores) => format!("\"{process}\" uses all {cores:.0} cores of the machine while work waits{each}"),
        CpuLimit::Left(cores) => format!(
            "\"{process}\" uses {} of the {cores:.0} cores, all that other programs leave it, while its threads and work wait for more{each}",
            loadstone_units::number(cpu.cores_used)
        ),
        CpuLimit::Starved => format!(
            "\"{process}\" gets {} cores while {} of its threads wait for one, and work waits: other programs use the cores",
            loadstone_units::number(cpu.cores_used),
            loadstone_units::number(cpu.run_delay.unwrap_or(0.0))
        ),
        CpuLimit::Taken { at, allowed, is_all, before } => {
            let which = match (is_all, allowed < 1.5) {
                (true, true) => "the machine's only core".to_owned(),
                (true, false) => format!("the {allowed:.0} cores of the machine"),
                (false, true) => "the only core that it may use".to_owned(),
                (false, false) => format!("the {allowed:.0} cores that it may use"),
            };
            format!(
                "From {} on other programs use {which}: {} threads of \"{process}\" wait for a core instead of {}, for the same work",
                clock(at),
                loadstone_units::number(cpu.run_delay.unwrap_or(0.0)),
                loadstone_units::number(before)
            )
        }
        CpuLimit::OneAtATime { processes, thread } => format!(
            "The {processes:.0} processes of \"{process}\" together use about one core while work waits, and no thread more than {}: they compute one at a \
             time, as behind a lock{each}",
            loadstone_units::number(thread)
        ),
        CpuLimit::OneThread(_) if collector.is_some() => format!(
            "\"{process}\" uses one core fully while work waits: its thread `{}`, which collects garbage",
            collector.unwrap_or_default()
        ),
        CpuLimit::OneThread(used) => {
            let name = busiest_thread.map_or_else(String::new, |name| format!(" (`{name}`)"));
            let core = match used.filter(|used| *used < FULL_PART_MIN) {
                Some(used) => {
                    let waited = cpu.thread_wait.filter(|waited| used + waited >= FULL_PART_MIN);
                    let waited = waited.map_or_else(String::new, |waited| {
                        format!(" and waits for it for another {} (other programs use it)", loadstone_units::share(waited))
                    });
                    format!("uses {} of one core{waited}", loadstone_units::share(used))
                }
                None => "uses one core fully".to_owned(),
            };
            format!("\"{process}\" {core} while work waits: a single thread does the work{name}{each}")
        }
        CpuLimit::Cores(cores) if cores < 1.5 => {
            format!("\"{process}\" uses one core fully while work waits: it is limited to one{each}")
        }
        CpuLimit::Cores(cores) => {
            format!("\"{process}\" uses {cores:.0} cores fully while work waits: it is limited to that number{each}")
        }
        CpuLimit::Queue { cores } if cores < 1.5 => format!(
            "\"{process}\" computes for {} of the time on a single thread, and work waits longer for it as the load rises{each}",
            loadstone_units::share(cpu.cores_used.min(1.0))
        ),
        CpuLimit::Queue { cores } => format!(
            "\"{process}\" uses {} of its {cores:.0} cores on average, and work waits longer for them as the load rises{each}",
            loadstone_units::number(cpu.cores_used)
        ),
        CpuLimit::Served { cores, .. } => format!(
            "\"{process}\" computes for most of the service time, uses {} of its {cores:.0} cores on average, and work waits for them{each}",
            loadstone_units::number(cpu.cores_used)
        ),
    };
    let waited = cpu
        .run_delay
        .map_or_else(String::new, |delay| format!("; {} threads waited for a core on average", loadstone_units::number(delay)));
    let thread = match cpu.limit {
        CpuLimit::OneThread(Some(thread)) => {
            let name = busiest_thread.map_or_else(String::new, |name| format!(" `{name}`"));
            format!(", the busiest thread{name} {thread:.2}")
        }
        _ => String::new(),
    };
    let text = format!("{:.0} threads used {:.2} cores on average{thread}{waited}", cpu.threads, cpu.cores_used);
    let less = match (&top, &large) {
        (Some(top), _) => format!("Make {} cheaper or call it less often", top.place()),
        (None, Some(large)) => large.advice(),
        (None, None) => profiled(facts, exhausted, wanted)
            .next()
            .map_or_else(|| "Profile the process under this load".to_owned(), |top| top.reading_advice()),
    };
    let found = begun(exhausted, "cpu", cpu.confidence, claim, text)
        .with(Quantity::new("cores_used", cpu.cores_used, QuantityUnit::Cores))
        .with(Quantity::new("cores", cpu.limit.places(), QuantityUnit::Cores));
    let found = large.iter().fold(sampled(found, top, exhausted), |found, large| large.add_to(found, span));
    let found = collecting(facts, found, exhausted);
    let found = match cpu.limit {
        CpuLimit::OneThread(_) if collector.is_some() => found.weigh(Alternative::not_ruled_out(
            "A heap that is full or too small, so that the collector runs all the time",
            "the busiest thread is a garbage collector's",
        )),
        CpuLimit::OneAtATime { .. } => found.weigh(Alternative::not_ruled_out(
            "Processes of which only one has work at a time, such as a job that runs alone",
            "the lock itself was not observed",
        )),
        _ => found,
    };
    const ELSE: &str = "Waiting for something else, such as a pool, a lock or a dependency";
    let other = match cpu.limit {
        CpuLimit::OneThread(Some(used))
            if used < FULL_PART_MIN && cpu.thread_wait.or(cpu.run_delay).unwrap_or(0.0) < 1.0 - used - READING_ERROR_MAX =>
        {
            Alternative::not_ruled_out(ELSE, format!("the thread was idle for {} of the time", loadstone_units::share(1.0 - used)))
        }
        _ => Alternative::ruled_out(ELSE, not_only_waiting(cpu)),
    };
    found.weigh(other).try_next(less_or_more(facts, cpu.limit, &less))
}

/// Whether a thread of this name collects garbage: of the JVM (`GC Thread#0`, `G1 Conc#0`, `ZDriver`, `Shenandoah GC`), of .NET (`.NET Server GC`), of Ruby or
/// Erlang. The kernel cuts names at 15 characters.
fn is_collector(name: &str) -> bool {
    name.starts_with("G1 ")
        || name.starts_with("ZDriver")
        || name.starts_with("ZWorker")
        || name.starts_with("Shenandoah")
        || name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "GC")
}

/// The finding with the time for garbage collection, if that is much: it is part of the CPU time, or work waits for it.
fn collecting(facts: &Facts<'_>, found: RankedFinding, exhausted: &Exhausted<'_>) -> RankedFinding {
    let (from, to) = (exhausted.from, exhausted.to);
    facts.signals.parts_with(Role::GarbageCollection).fold(found, |found, part| {
        let collectors = facts.signals.read_each(part, Role::GarbageCollection);
        let share: f64 = collectors.iter().filter_map(|readings| readings.mean(from, to)).sum();
        if share < COLLECTING_NAMED_SHARE_MIN {
            return found;
        }
        let text = format!("garbage collection took {} of the time, as \"{}\" reports", loadstone_units::share(share), part.observer);
        found.rests_on(text, collectors.iter().map(SignalReadings::name).collect(), (from, to))
    })
}

/// The advice: less CPU time, or more cores.
fn less_or_more(facts: &Facts<'_>, limit: CpuLimit, less: &str) -> String {
    match limit {
        CpuLimit::OneThread(_) => format!("{less}, or run more instances: throughput should rise in proportion."),
        CpuLimit::OneAtATime { .. } => {
            "Find the lock that a process holds while it computes: a file lock (sessions in files, a cache), a lock in the database, or a \
                                        mutex in shared memory. Hold it for less time, or use one per session or key."
                .to_owned()
        }
        CpuLimit::Cores(_) => format!(
            "{less}, let it use more cores (its runtime's setting such as GOMAXPROCS, its CPU mask or limit), or run more instances: throughput should rise \
             in proportion."
        ),
        CpuLimit::Left(_) => format!(
            "{less}, or give it more cores: find out what else uses the machine ({}), including the load generator. Throughput should rise in \
             proportion.",
            facts.terms().named(&["host"])
        ),
        CpuLimit::Starved | CpuLimit::Taken { .. } => {
            format!(
                "Find out what else uses the machine ({}), including the load generator. Reserve cores for the service.",
                facts.terms().named(&["host"])
            )
        }
        CpuLimit::Queue { cores } if cores < 1.5 => format!("{less}, or run more instances: throughput should rise in proportion."),
        CpuLimit::All(_) | CpuLimit::Served { .. } | CpuLimit::Queue { .. } => {
            format!("{less}, or give it more cores: throughput should rise in proportion.")
        }
    }
}

/// The reason why requests do not wait for something else.
fn not_only_waiting(cpu: &ProcessCpu<'_>) -> String {
    match (cpu.limit, cpu.run_delay) {
        (CpuLimit::Left(_) | CpuLimit::Starved | CpuLimit::Taken { .. }, Some(delay)) => {
            format!(
                "threads that wait for something else do not wait for a core, and {} threads did on average",
                loadstone_units::number(delay)
            )
        }
        (CpuLimit::Served { served, .. }, _) => format!(
            "throughput × the time under low load gives {} requests in service at a time, and {:.2} of them computed",
            loadstone_units::number(served),
            cpu.cores_used
        ),
        (CpuLimit::Queue { .. }, _) => {
            "requests took longer by about the time that a queue for equally busy cores adds (Sakasegawa)".to_owned()
        }
        // Other threads of the process may use more cores.
        (CpuLimit::OneThread(Some(used)), _) => format!("it would leave the thread idle, and the thread used {used:.2} of one core"),
        _ => format!("it would leave the CPU idle, and {:.2} of {:.0} cores were busy", cpu.cores_used, cpu.limit.places()),
    }
}
