//! Threads at work by wait and position, averaged over samples.

use std::collections::{BTreeMap, BTreeSet};

use loadstone_metrics::{Role, unit};

use super::position::{Frame, Position};
use crate::collector::{MetricSpec, SignalCollector, label};

/// Distinct groups of threads at one position in a run; later ones count as `(other)`.
const GROUPS_MAX: usize = 150;

const HELP: &str = "Threads at work by what they wait for and where, mean over the samples";
const SAMPLES: MetricSpec<'_> = MetricSpec::counter("samples", unit::COUNT, "Samples of all stacks that were taken");

/// The activity of a thread at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doing {
    Computes,
    /// Waits for a lock of the process.
    Lock,
    /// … for a member of a pool or a permit.
    Member,
    /// … for the network, a disk or another process.
    Io,
    /// … for time to pass.
    Timer,
    /// … for anything else: a condition, a channel, another thread.
    Other,
}

impl Doing {
    fn role(self) -> Role {
        match self {
            Doing::Computes => Role::ThreadsOnCpu,
            Doing::Lock => Role::ThreadsWaitingForLock,
            Doing::Member => Role::ThreadsWaitingForMember,
            Doing::Io => Role::ThreadsWaitingForIo,
            Doing::Timer => Role::ThreadsWaitingForTimer,
            Doing::Other => Role::ThreadsWaitingForOther,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Doing::Computes => "cpu",
            Doing::Lock => "lock",
            Doing::Member => "pool",
            Doing::Io => "io",
            Doing::Timer => "timer",
            Doing::Other => "other",
        }
    }
}

/// Threads of one name at one position.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ThreadGroup {
    doing: Doing,
    /// The threads' name without their numbers; empty if they have no names.
    threads: String,
    position: Position,
}

/// Sums over the samples since the last report.
#[derive(Debug)]
pub(crate) struct ThreadSamples {
    /// The runtime's term for threads.
    word: &'static str,
    samples: f64,
    taken: f64,
    sums: BTreeMap<ThreadGroup, f64>,
    /// Groups that were reported once are reported again, as 0, so that their line drops to 0.
    reported: BTreeSet<ThreadGroup>,
}

impl ThreadSamples {
    /// `word`: the runtime's term, `threads` or `goroutines`.
    pub(crate) fn of(word: &'static str) -> Self {
        Self { word, samples: 0.0, taken: 0.0, sums: BTreeMap::new(), reported: BTreeSet::new() }
    }

    /// Discards samples from before a gap, which are not valid for the time after it.
    pub(crate) fn reset(&mut self) {
        self.samples = 0.0;
        self.sums.clear();
    }

    /// Begins a sample; all later additions belong to it.
    pub(crate) fn begin_sample(&mut self) {
        self.samples += 1.0;
        self.taken += 1.0;
    }

    /// Adds threads with the same stack, innermost frame first. Threads without a frame of the system's own code are idle and not counted.
    pub(crate) fn add(&mut self, doing: Doing, name: &str, stack: &[Frame], count: f64) {
        let Some(position) = Position::of(stack) else { return };
        let group = self.known(ThreadGroup { doing, threads: family(name), position });
        *self.sums.entry(group).or_default() += count;
    }

    /// The group, or a coarser one if there are many. The threads' names are dropped first, because wait and position are more important.
    fn known(&mut self, group: ThreadGroup) -> ThreadGroup {
        if self.reported.contains(&group) {
            return group;
        }
        if self.reported.len() >= GROUPS_MAX / 2 && !group.threads.is_empty() {
            return self.known(ThreadGroup { threads: String::new(), ..group });
        }
        if self.reported.len() >= GROUPS_MAX {
            let position = Position { at: "(other)".to_owned(), under: String::new() };
            return ThreadGroup { position, threads: String::new(), ..group };
        }
        self.reported.insert(group.clone());
        group
    }

    /// Reports the means and resets. Reports nothing if there was no sample.
    pub(crate) fn report(&mut self, out: &mut SignalCollector) {
        if self.samples == 0.0 {
            return;
        }
        self.reported.extend(self.sums.keys().cloned());
        for group in &self.reported {
            let mean = self.sums.get(group).copied().unwrap_or(0.0) / self.samples;
            let Position { at, under } = &group.position;
            let labels = [("wait", group.doing.name()), ("threads", &group.threads), ("at", at), ("under", under)];
            let labels: Vec<(&str, &str)> = labels.into_iter().filter(|(_, value)| !value.is_empty()).collect();
            out.put_labelled(MetricSpec::gauge("threads", self.word, HELP).role(group.doing.role()), &labels, mean);
        }
        out.put(SAMPLES, self.taken);
        self.reset();
    }
}

/// `http-nio-8080-exec` of `http-nio-8080-exec-17`: threads of a pool differ by the number at their end. Python puts what a thread runs behind it:
/// `Thread-17 (handle)`.
pub(crate) fn family(name: &str) -> String {
    let (numbered, runs) = if name.ends_with(')') { name.split_once(" (").unwrap_or((name, "")) } else { (name, "") };
    let trimmed = numbered.trim_end_matches(|c: char| c.is_ascii_digit());
    let trimmed = if trimmed.len() < numbered.len() { trimmed.trim_end_matches(['-', '_', '#', ' ']) } else { numbered };
    let whole = if runs.is_empty() { trimmed.to_owned() } else { format!("{trimmed} ({runs}") };
    label(&whole).chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(at: &str) -> Vec<Frame> {
        let frame = |function: &str, is_own| Frame { function: function.to_owned(), is_own };
        vec![frame("park", false), frame(at, false), frame("Dao.insert", true)]
    }

    fn reported(samples: &mut ThreadSamples) -> Vec<(String, Option<Role>, f64)> {
        let mut out = SignalCollector::new("jvm");
        samples.report(&mut out);
        let points = out.finish(0).into_iter().filter(|(signal, _)| signal.metric() == "threads");
        points.map(|(signal, point)| (signal.name.clone(), signal.role, point.value)).collect()
    }

    #[test]
    fn threads_are_counted_by_where_they_wait_and_go_down_to_zero() {
        let mut samples = ThreadSamples::of("threads");
        for count in [3, 5] {
            samples.begin_sample();
            (0..count).for_each(|number| samples.add(Doing::Member, &format!("exec-{number}"), &stack("Pool.get"), 1.0));
        }
        let name = "jvm/threads{wait=pool,threads=exec,at=Pool.get,under=Dao.insert}".to_owned();
        assert_eq!(reported(&mut samples), [(name.clone(), Some(Role::ThreadsWaitingForMember), 4.0)]);
        assert_eq!(reported(&mut samples), []);
        samples.begin_sample();
        assert_eq!(reported(&mut samples), [(name, Some(Role::ThreadsWaitingForMember), 0.0)]);
    }

    #[test]
    fn positions_have_a_bound() {
        let mut samples = ThreadSamples::of("threads");
        samples.begin_sample();
        (0..GROUPS_MAX + 50).for_each(|number| samples.add(Doing::Lock, "", &stack(&format!("Lock.lock{number}")), 1.0));
        let lines = reported(&mut samples);
        assert_eq!(lines.len(), GROUPS_MAX + 1);
        assert!(lines.contains(&("jvm/threads{wait=lock,at=(other)}".to_owned(), Some(Role::ThreadsWaitingForLock), 50.0)));
    }

    #[test]
    fn names_go_before_positions() {
        let mut samples = ThreadSamples::of("threads");
        samples.begin_sample();
        (0..GROUPS_MAX).for_each(|number| samples.add(Doing::Lock, &format!("job-{number}-of-many-x"), &stack("Lock.lock"), 1.0));
        let lines = reported(&mut samples);
        let nameless = lines.iter().find(|(name, ..)| name == "jvm/threads{wait=lock,at=Lock.lock,under=Dao.insert}");
        assert_eq!(nameless.map(|(.., count)| *count), Some((GROUPS_MAX / 2) as f64));
    }

    #[test]
    fn trailing_numbers_in_thread_names_distinguish_threads_of_one_pool() {
        assert_eq!((family("http-exec-12"), family("pool-2-thread-1")), ("http-exec".to_owned(), "pool-2-thread".to_owned()));
        assert_eq!(family("Thread-1042 (process_request_thread)"), "Thread (process_request_thread)");
        assert_eq!((family("main"), family("ThreadPoolExecutor-0_3")), ("main".to_owned(), "ThreadPoolExecutor-0".to_owned()));
    }
}
