//! A resource of the machine or of a process is used up while work is held up: CPU, heap, disk, descriptors.
//!
//! *"process:8080" uses just one core, and all of it, while work waits: a single thread does the work; "Register" takes 38.0 ms of it each time.*
//!
//! By the utilisation law (Denning & Buzen 1978), a resource with k places of which each request needs D seconds is busy at U = X · D, and at most k / D
//! requests per second can pass. Each resource is looked at where it was at its limit, for 5 seconds and 5 readings or more:
//!
//! - **a process (`process`): its busiest thread**: 0.93 of a core
//! - **… its cores**: 93 % of the machine's, or of those in its mask
//! - **… without the threads read one by one**: one thread's core in 80 % of the readings: 0.80–1.06 of a core used, at least 0.90 with the time spent
//!   waiting for one added, and a median of at most 1.25
//! - **… limited by a runtime (GOMAXPROCS, a GIL)**: within 6 % of a whole number of cores, with a standard deviation of at most 4 % and, in the end, a
//!   growth of at most 2 %, or a third of the load's (5 % at most), while threads waited for more or CPU time makes up 60 % of the service times under
//!   low load; low confidence without either
//! - **… a queue before cores that are idle at times**: 65 % of the cores used (of one, where three quarters of that are a single thread's), 60 % of the
//!   service times under low load are CPU time, half of the requests take 1.5 times as long under high load, and no more wait than three times what a
//!   queue before so busy cores holds (Sakasegawa 1977); medium confidence
//! - **… its cores, not all busy at every instant**: [requests are served so many at a time](effective-concurrency.md) as it may have cores, and compute
//!   for 85 % of that; 60 % of the cores used; medium confidence
//! - **… one at a time**: requests are served one at a time, and it used 0.85 to 1.25 cores meanwhile: a single thread, or an interpreter's lock, beside
//!   which other threads use some more; medium confidence
//! - **… the cores that others have**: for five readings its threads waited three times as long for a core as they had one, half a second per second or
//!   more, and those are 30 % of what is in the system; medium confidence
//! - **… the cores that others leave it**: 75 % of them used on average (50 % where its threads waited three times as long for a core as they had one),
//!   and with the time its threads waited for one all of them or more; medium confidence
//! - **the machine's cores (`host`)**: 93 % busy; the finding says how much of it the generator took. Low confidence where fewer than 0.8 threads of the
//!   observed system ran or waited for a core: what holds work up always has some of it. Not made where programs that are not observed fill it all along,
//!   and that is less than a tenth of what is in the system, which (Little's law) spends its time elsewhere
//! - **a control group (`cgroup`, or the one that a `process` is in)**: throttled by its limit for 5 % of the time
//! - **a heap (a runtime's metrics)**: collecting garbage for 30 % of the time
//! - **a disk (`host`)**: busy for 90 % of the time, with 3 requests waiting at it
//! - **descriptors (`process`)**: 97 % of the limit
//!
//! It counts if work was held up meanwhile: during half of a [waiting](../findings.md#when-work-waits) stretch or a plateau; or in half of its own
//! seconds, when the time in the system (in flight over throughput) was 1.5 times that of the best tenth and 5 ms more; or 10 % of the requests timed
//! out; or, under closed load, twice as many requests were in the system as it has places. Descriptors and heaps turn work away: they count, too, if 10 %
//! of the requests failed meanwhile, and three times the share of the other seconds. A heap that had filled up without giving back a fifth, and of which
//! no collection freed 5 %, is told as a leak or too small. A resource does not count if it was as busy before, for 10 seconds, while less than two
//! thirds of that was done, or until some requests became slower while others kept their times: what is used up slows down all who need it.
//!
//! The finding gives U / X, the CPU time of each request, what collecting garbage takes where that is a tenth of the time, and names the request that
//! takes most of it where one does (70 % of the time under low load). Where a [runtime](../observers.md#runtimes) was looked into whose functions use
//! about as many cores (0.5 to 1.6 times), it names the function that most of them go to, from a quarter on.
//!
//! Not made if calls to a stub take nearly all of the callers' time.

use loadstone_metrics::Role;

use crate::finding::Alternative;
use crate::evidence::next_limit;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::busiest_function::BusiestFunction;
use crate::facts::exhausted::{COLLECTING_NAMED_SHARE_MIN, Exhausted, ExhaustedResource, MachineCpu};
use crate::facts::next_limits::NextLimit;
use crate::facts::process_cpu::{CpuLimit, ProcessCpu};
use crate::facts::readings::SignalReadings;
use crate::instant::clock;

/// Part of the stretch in which another resource must have been at its limit to be what held work up.
const SHARED_MIN: f64 = 0.5;
/// A profile is that of a process where its functions use about as many cores. Samples of a full machine see some more.
const SAME_CORES: std::ops::Range<f64> = 0.5..1.6;
/// Share of a profile from which one place of the code is named, and the CPU seconds that samples must have seen there.
const NAMED_MIN: f64 = 0.25;
const SEEN_MIN_S: f64 = 1.0;

pub(super) const RULE: Rule = Rule {
    ids: &["cpu", "heap", "disk", "bandwidth", "descriptors"],
    title: "A resource is used up",
    says: "a resource is used up while work waits",
    needs: &["process"],
    settings: &["cpu", "core", "heap", "memory", "disk", "descriptor", "worker"],
    precedence: 290,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let exhausted = facts.exhausted.first()?;
    let found = match &exhausted.resource {
        ExhaustedResource::Descriptors { process, limit } => {
            let claim =
                format!("\"{process}\" has all of its {limit:.0} file descriptors open: it cannot accept or open any more connections");
            let text =
                format!("at its limit for {} while {}", loadstone_units::seconds(exhausted.to - exhausted.from), meanwhile(exhausted));
            begun(exhausted, "descriptors", Confidence::High, claim, text)
                .try_next("Raise the limit (LimitNOFILE= of the service, ulimit -n), or look for connections that are never closed.")
        }
        ExhaustedResource::GroupCpu { group, cores_max, throttled } => {
            let top = busiest_function(facts, exhausted, *cores_max);
            let claim = format!(
                "The control group \"{group}\" is throttled by its limit of {} cores{}",
                loadstone_units::number(*cores_max),
                most_of_it(top.as_ref())
            );
            let text = format!("throttled for {} of the time while work waited", loadstone_units::share(*throttled));
            let found = begun(exhausted, "cpu", Confidence::High, claim, text);
            sampled(found, top, exhausted).try_next("Raise the limit, and run again: throughput should rise in proportion.")
        }
        ExhaustedResource::Heap { process, collecting, heap, filled } => {
            heap_too_small(exhausted, &whose_heap(facts, process), *collecting, (*heap, *filled))
        }
        ExhaustedResource::MachineCpu(machine) => machine_cpu(facts, exhausted, machine),
        ExhaustedResource::ProcessCpu(process) => process_cpu(facts, exhausted, process),
        ExhaustedResource::Network { device, is_sending, used, speed } => {
            let way = if *is_sending { "sends" } else { "receives" };
            let (rate, most) = (loadstone_units::bytes(*used as u64), loadstone_units::bytes(*speed as u64));
            let claim = format!("The link of {device} is full: it {way} {rate}/s of {most}/s while work waits");
            let text = format!("{} of what the link can carry, on average", loadstone_units::share(used / speed));
            begun(exhausted, "bandwidth", Confidence::High, claim, text)
                .try_next("Send fewer bytes (compression, smaller pages, a cache near the client), or use a wider link.")
        }
        ExhaustedResource::Disk { device, busy, queue } => {
            let claim = format!("The disk {device} is saturated: {queue:.0} requests are at it on average while work waits");
            let text = format!("busy for {} of the time", loadstone_units::share(*busy));
            begun(exhausted, "disk", Confidence::Medium, claim, text).try_next(
                "Find out what reads or writes (observe.process), and whether it has to: commits, logs, a cache that is too small.",
            )
        }
    };
    let span = (exhausted.from, exhausted.to);
    let found = next_limit::told(facts, found, span, &|limit| is_of(&exhausted.resource, limit));
    // A full machine may be what made the generator late; the observed system's own resources are not.
    let is_own = !matches!(exhausted.resource, ExhaustedResource::MachineCpu(_));
    let found = if is_own { found.beyond_the_generator(facts, span) } else { found };
    let others = facts.exhausted[1..].iter().filter(|other| !is_same_cpu(&exhausted.resource, &other.resource));
    Some(others.fold(found, |found, other| found.weigh(at_its_limit_too(exhausted, other))))
}

/// The cores of a machine or a control group are those that its processes use.
fn is_same_cpu(a: &ExhaustedResource<'_>, b: &ExhaustedResource<'_>) -> bool {
    let is_whole = |resource: &_| matches!(resource, ExhaustedResource::MachineCpu(_) | ExhaustedResource::GroupCpu { .. });
    let is_cpu = |resource: &_| is_whole(resource) || matches!(resource, ExhaustedResource::ProcessCpu(_));
    is_cpu(a) && is_cpu(b) && (is_whole(a) || is_whole(b))
}

/// Another resource is what held work up as well as this one, where it was at its limit for as much of the time.
fn at_its_limit_too(exhausted: &Exhausted<'_>, other: &Exhausted<'_>) -> Alternative {
    let shared = exhausted.to.min(other.to) - exhausted.from.max(other.from);
    let told = format!("it was at its limit from {} to {}", clock(other.from), clock(other.to));
    if shared >= SHARED_MIN * (exhausted.to - exhausted.from) {
        Alternative::not_ruled_out(other.resource.name(), format!("{told}, too"))
    } else {
        Alternative::ruled_out(
            other.resource.name(),
            format!("{told}, and work waited from {} to {}", clock(exhausted.from), clock(exhausted.to)),
        )
    }
}

/// Whether a resource is the one that was used up, or a part of it. Pools wait for whatever that is.
fn is_of(resource: &ExhaustedResource<'_>, limit: &NextLimit<'_>) -> bool {
    let is_process = |name: &str| limit.part.observer == name && matches!(limit.role, Role::ProcessCpu | Role::ProcessThreadCpuMax);
    let is_cpu = matches!(limit.role, Role::ProcessCpu | Role::ProcessThreadCpuMax | Role::GroupCpu | Role::MachineIdle);
    match resource {
        ExhaustedResource::GroupCpu { .. } | ExhaustedResource::MachineCpu(_) => is_cpu,
        ExhaustedResource::ProcessCpu(cpu) => match cpu.limit {
            CpuLimit::OneThread(_) => limit.role == Role::ProcessThreadCpuMax && limit.part.observer == cpu.process,
            CpuLimit::Cores(_) => is_process(cpu.process),
            CpuLimit::All(_) | CpuLimit::Left(_) | CpuLimit::Starved | CpuLimit::Served { .. } | CpuLimit::Queue { .. } => is_cpu,
        },
        ExhaustedResource::Heap { process, .. } => is_process(process),
        ExhaustedResource::Disk { device, .. } => limit.role == Role::DiskBusy && limit.part.part == *device,
        ExhaustedResource::Network { device, .. } => {
            matches!(limit.role, Role::NetworkReceived | Role::NetworkSent) && limit.part.part == *device
        }
        ExhaustedResource::Descriptors { .. } => false,
    }
}

fn subject(resource: &ExhaustedResource<'_>) -> Subject {
    match resource {
        ExhaustedResource::Descriptors { process, .. } | ExhaustedResource::Heap { process, .. } => Subject::observed(process),
        ExhaustedResource::GroupCpu { group, .. } => Subject::observed(group),
        ExhaustedResource::ProcessCpu(cpu) => Subject::observed(cpu.process),
        ExhaustedResource::MachineCpu(_) => Subject::observed("host"),
        ExhaustedResource::Disk { device, .. } | ExhaustedResource::Network { device, .. } => Subject::part("host", device),
    }
}

/// The finding with its evidence: under closed load where it began, then the sentence that shows it.
fn begun(exhausted: &Exhausted<'_>, rule: &'static str, confidence: Confidence, claim: String, text: String) -> RankedFinding {
    let standing = exhausted.waiting.as_ref().map_or(Standing::Cause, Standing::during);
    let mut found = RankedFinding::new(standing, rule, subject(&exhausted.resource), confidence, claim);
    let span = (exhausted.from, exhausted.to);
    if let Some(waiting) = &exhausted.waiting
        && let Some(closed) = waiting.closed
    {
        let began = format!(
            "requests took {} on average instead of {}, from {} on, when {} users were active",
            loadstone_units::seconds(closed.during_s),
            loadstone_units::seconds(closed.before_s),
            loadstone_units::seconds(waiting.from),
            loadstone_units::count(closed.users)
        );
        found = found.rests_on(began, waiting.columns(), (waiting.from, waiting.to));
    }
    found = found.rests_on(text, exhausted.series.clone(), span);
    match &exhausted.demand {
        Some(demand) => {
            let most = demand.most.as_ref().map_or_else(String::new, |(name, each)| {
                format!("; most of it goes to \"{name}\", {} each", loadstone_units::seconds(*each))
            });
            let text = format!(
                "requests ended at {} meanwhile: {} of CPU time for each (utilisation over throughput){most}",
                loadstone_units::rate(demand.throughput),
                loadstone_units::seconds(demand.each_s)
            );
            found.rests_on(text, vec!["rate/requests".to_owned()], span)
        }
        None => found,
    }
}

/// What became of the work.
fn meanwhile(exhausted: &Exhausted<'_>) -> String {
    exhausted.failed.map_or_else(|| "work waited".to_owned(), |failed| format!("{} of the requests failed", loadstone_units::share(failed)))
}

/// An observer of a page of metrics that was given no name is called by its kind, which is no process: it is the one that was observed besides, if that is
/// one alone.
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
            "its memory grew from {} to {}, until the heap was full, and nothing of it is given back: a leak, or a heap that is too small",
            loadstone_units::bytes(first as u64),
            loadstone_units::bytes(last as u64)
        ),
        None => "its heap is too small".to_owned(),
    };
    let claim = format!("{process} spends {} of its time collecting garbage: {why}", loadstone_units::share(collecting));
    let text = match heap {
        Some(heap) => format!(
            "collecting for {} of the time, with {} of the heap in use",
            loadstone_units::share(collecting),
            loadstone_units::share(heap)
        ),
        None => format!("collecting for {} of the time while {}", loadstone_units::share(collecting), meanwhile(exhausted)),
    };
    begun(exhausted, "heap", Confidence::High, claim, text).try_next(
        "Give it a larger heap, or find what fills it (a heap dump): a leak or a cache without a bound would fill a larger one, too.",
    )
}

fn machine_cpu(facts: &Facts<'_>, exhausted: &Exhausted<'_>, machine: &MachineCpu) -> RankedFinding {
    let MachineCpu { cores, used, by_generator, by_observed, at_cores } = *machine;
    let known = by_observed.map_or_else(String::new, |share| format!(", the observed processes {}", loadstone_units::share(share)));
    let computing = facts.session_wait.as_ref().and_then(|wait| wait.computing).filter(|sessions| *sessions >= 0.5);
    let others = match computing {
        Some(sessions) => format!("; {} sessions of the observed database computed meanwhile", loadstone_units::number(sessions)),
        None if machine.is_filled_by_others() => "; most of it went to processes that are not observed".to_owned(),
        None => String::new(),
    };
    let text = format!(
        "{} busy on average; the load generator took {} of the machine{known}{others}",
        loadstone_units::share(used),
        loadstone_units::share(by_generator)
    );
    let top = busiest_function(facts, exhausted, used * cores);
    let most = top.as_ref().map_or_else(String::new, |top| {
        format!("; {} of them in {}", loadstone_units::share_to(top.cores / (used * cores), top.digits), top.place())
    });
    let claim = format!(
        "The machine's CPU is saturated: {} of its {cores:.0} cores were busy while work waited{most}",
        loadstone_units::share(used)
    );
    let waiting = "Only waiting for something, such as a pool or a lock";
    let at_cores = at_cores
        .map(|threads| format!("{} threads of the observed system ran or waited for a core, on average", loadstone_units::number(threads)));
    let (confidence, alternative) = match at_cores {
        Some(told) if exhausted.resource.is_wanted() => (Confidence::Medium, Alternative::ruled_out(waiting, told)),
        Some(told) => (Confidence::Low, Alternative::not_ruled_out(waiting, format!("only {told}, and others filled the machine"))),
        None if machine.is_filled_by_others() => {
            (Confidence::Medium, Alternative::not_ruled_out(waiting, "nothing tells whether what was asked for waited for a core"))
        }
        None => {
            let told = format!("it would leave cores idle, and {} of them were busy", loadstone_units::share(used));
            (Confidence::Medium, Alternative::ruled_out(waiting, told))
        }
    };
    sampled(begun(exhausted, "cpu", confidence, claim, text), top, exhausted).weigh(alternative).try_next(
        "Find out which process uses it (observe.process), and run the load generator on another machine. More cores, or less work per \
         request, should raise throughput in proportion.",
    )
}

/// The function that most of a process's CPU time goes to, where its runtime was looked into. Which process that was, the observers do not say of each
/// other: it is the one that uses as much.
fn busiest_function<'a>(facts: &Facts<'a>, exhausted: &Exhausted<'_>, cores_used: f64) -> Option<BusiestFunction<'a>> {
    let span = (exhausted.from, exhausted.to);
    let of = facts.signals.parts_with(Role::FunctionCpu).filter_map(|part| BusiestFunction::of(&facts.signals, part, span));
    let mut same = of.filter(|top| SAME_CORES.contains(&(top.all / cores_used)));
    same.find(|top| top.cores >= NAMED_MIN * top.all && top.cores * (span.1 - span.0) >= SEEN_MIN_S)
}

fn most_of_it(top: Option<&BusiestFunction<'_>>) -> String {
    top.map_or_else(String::new, |top| {
        format!("; {} of its CPU time is in {}", loadstone_units::share_to(top.cores / top.all, top.digits), top.place())
    })
}

/// Cores with no more digits than samples carry.
fn to_digits(cores: f64, digits: usize) -> String {
    format!("{cores:.*}", digits.saturating_sub(1).min(2))
}

/// The finding with what samples of the stack say.
fn sampled(found: RankedFinding, top: Option<BusiestFunction<'_>>, exhausted: &Exhausted<'_>) -> RankedFinding {
    let Some(top) = top else { return found };
    let text = format!(
        "samples of the stack: {} of {} cores in {}",
        to_digits(top.cores, top.digits),
        to_digits(top.all, top.digits),
        top.place()
    );
    found.rests_on(text, vec![top.series], (exhausted.from, exhausted.to))
}

fn process_cpu(facts: &Facts<'_>, exhausted: &Exhausted<'_>, cpu: &ProcessCpu<'_>) -> RankedFinding {
    let process = cpu.process;
    let top = busiest_function(facts, exhausted, cpu.cores_used);
    let each = exhausted.demand.as_ref().and_then(|demand| demand.most.as_ref());
    let each =
        each.map_or_else(String::new, |(name, each)| format!("; \"{name}\" takes {} of it each time", loadstone_units::seconds(*each)));
    let each = each + &most_of_it(top.as_ref());
    let claim = match cpu.limit {
        CpuLimit::All(cores) if cores < 1.5 => format!("\"{process}\" uses the machine's only core while work waits{each}"),
        CpuLimit::All(cores) => format!("\"{process}\" uses all {cores:.0} cores of the machine while work waits{each}"),
        CpuLimit::Left(cores) => format!(
            "\"{process}\" uses {} of the {cores:.0} cores, all that others leave to it, while its threads wait for more and work waits{each}",
            loadstone_units::number(cpu.cores_used)
        ),
        CpuLimit::Starved => format!(
            "\"{process}\" gets {} cores while {} of its threads wait for one, and work waits: other programs have the cores",
            loadstone_units::number(cpu.cores_used),
            loadstone_units::number(cpu.run_delay.unwrap_or(0.0))
        ),
        CpuLimit::OneThread(_) => {
            format!("\"{process}\" uses just one core, and all of it, while work waits: a single thread does the work{each}")
        }
        CpuLimit::Cores(cores) if cores < 1.5 => {
            format!("\"{process}\" uses just one core, and all of it, while work waits: it is limited to one{each}")
        }
        CpuLimit::Cores(cores) => {
            format!("\"{process}\" uses {cores:.0} cores, and all of them, while work waits: it is limited to so many{each}")
        }
        CpuLimit::Queue { cores } if cores < 1.5 => format!(
            "\"{process}\" computes for {} of the time, on a single thread, and work waits for it ever longer as the load rises{each}",
            loadstone_units::share(cpu.cores_used.min(1.0))
        ),
        CpuLimit::Queue { cores } => format!(
            "\"{process}\" computes in {} of its {cores:.0} cores on average, and work waits for them ever longer as the load rises{each}",
            loadstone_units::number(cpu.cores_used)
        ),
        CpuLimit::Served { cores, .. } => format!(
            "\"{process}\" computes for most of what it serves, in {} of its {cores:.0} cores on average, and work waits for them{each}",
            loadstone_units::number(cpu.cores_used)
        ),
    };
    let waited = cpu
        .run_delay
        .map_or_else(String::new, |delay| format!("; {} of them waited for a core on average", loadstone_units::number(delay)));
    let thread = match cpu.limit {
        CpuLimit::OneThread(Some(thread)) => format!(", the busiest of them {thread:.2}"),
        _ => String::new(),
    };
    let text = format!("{:.0} threads used {:.2} cores on average{thread}{waited}", cpu.threads, cpu.cores_used);
    let less = top.as_ref().map_or_else(
        || "Profile the process under this load".to_owned(),
        |top| format!("Make {} cheaper or call it less often", top.place()),
    );
    collecting(facts, sampled(begun(exhausted, "cpu", cpu.confidence, claim, text), top, exhausted), exhausted)
        .weigh(Alternative::ruled_out("Only waiting for something, such as a pool, a lock or a dependency", not_only_waiting(cpu)))
        .try_next(less_or_more(cpu.limit, &less))
}

/// The finding with what collecting garbage takes meanwhile, where it takes much: part of that CPU time, or of what waits for it.
fn collecting(facts: &Facts<'_>, found: RankedFinding, exhausted: &Exhausted<'_>) -> RankedFinding {
    let (from, to) = (exhausted.from, exhausted.to);
    facts.signals.parts_with(Role::GarbageCollection).fold(found, |found, part| {
        let collectors = facts.signals.read_each(part, Role::GarbageCollection);
        let share: f64 = collectors.iter().filter_map(|readings| readings.mean(from, to)).sum();
        if share < COLLECTING_NAMED_SHARE_MIN {
            return found;
        }
        let told = format!("garbage was collected for {} of the time, as \"{}\" reads", loadstone_units::share(share), part.observer);
        found.rests_on(told, collectors.iter().map(SignalReadings::name).collect(), (from, to))
    })
}

/// What to do about it: less of that CPU time, or more cores.
fn less_or_more(limit: CpuLimit, less: &str) -> String {
    match limit {
        CpuLimit::OneThread(_) => format!("{less}, or run more of them: throughput should rise in proportion."),
        CpuLimit::Cores(_) => format!(
            "{less}, let it use more cores (its runtime's setting such as GOMAXPROCS, its CPU mask or limit), or run more of it: throughput should rise \
             in proportion."
        ),
        CpuLimit::Left(_) => format!(
            "{less}, or give it more cores: find out what else uses the machine (observe.host), the load generator among it. Throughput should rise in \
             proportion."
        ),
        CpuLimit::Starved => {
            "Find out what else uses the machine (observe.host), the load generator among it. Give the service cores of its own.".to_owned()
        }
        CpuLimit::Queue { cores } if cores < 1.5 => format!("{less}, or run more of them: throughput should rise in proportion."),
        CpuLimit::All(_) | CpuLimit::Served { .. } | CpuLimit::Queue { .. } => {
            format!("{less}, or give it more cores: throughput should rise in proportion.")
        }
    }
}

/// What rules out that requests only wait for something else.
fn not_only_waiting(cpu: &ProcessCpu<'_>) -> String {
    match (cpu.limit, cpu.run_delay) {
        (CpuLimit::Left(_) | CpuLimit::Starved, Some(delay)) => {
            format!("threads that wait for something else wait for no core, and {} of them did on average", loadstone_units::number(delay))
        }
        (CpuLimit::Served { served, .. }, _) => format!(
            "throughput × the time under low load is {}, which are served at a time, and {:.2} of them computed",
            loadstone_units::number(served),
            cpu.cores_used
        ),
        (CpuLimit::Queue { .. }, _) => {
            "requests took longer by about what a queue before cores that are as busy would add (Sakasegawa)".to_owned()
        }
        _ => format!("it would leave the CPU idle, and {:.2} of {:.0} cores were busy", cpu.cores_used, cpu.limit.places()),
    }
}
