//! CPU time of a tool's processes, and how late they read responses. macOS counts CPU time only.
//!
//! A thread that has to run may wait for a core: other programs use it. The kernel counts that wait for each thread (`schedstat`). Responses that arrive
//! meanwhile are read late, and the tool counts the delay as the target's. A process with one busy thread, such as an event loop, reads late for a second
//! reason: a response waits until the thread has handled those before it.

use std::collections::{BTreeMap, HashMap, HashSet};

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
use macos as system;
mod schedule;

use schedule::{ProcessPlace, ThreadSchedule};

/// Threads whose waits are sampled. Of more, each stands for its neighbours.
const SAMPLED_THREADS_MAX: usize = 32;
/// Factor between the CPU time of a process and of its busiest thread, up to which that thread does the work alone.
const ONE_THREAD_FACTOR_MAX: f64 = 1.3;
/// Values of one second that are kept, because some tools write their record at their end.
const LAGS_MAX: usize = 16;

/// CPU time since the last reading. Nanoseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CpuUse {
    pub(crate) all_ns: u64,
    pub(crate) busiest_thread_ns: u64,
    /// Time that the thread with the most work waited for a core.
    pub(crate) core_wait_ns: u64,
    /// How late responses were read, in short windows.
    pub(crate) read_lags: Vec<ReadLag>,
}

/// How late responses were read in one window by one thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ReadLag {
    pub(crate) late_ns: f64,
    /// Its part of the work. Nanoseconds of CPU time.
    pub(crate) weight: f64,
}

/// Which processes belong to the tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolProcesses {
    pub(crate) root: i32,
    /// The processes of the root's group belong to it, too, with any parent.
    pub(crate) has_group: bool,
}

#[derive(Default)]
pub(crate) struct CpuMeter {
    /// By process and thread, at the last reading.
    second: HashMap<(i32, u64), ThreadSchedule>,
    /// The times at the last sample.
    sampled: BTreeMap<(i32, u64), Option<ThreadSchedule>>,
    read_lags: Vec<ReadLag>,
}

impl CpuMeter {
    /// Reads all threads.
    pub(crate) fn read(&mut self, processes: ToolProcesses) -> CpuUse {
        let mut found: HashMap<(i32, u64), ThreadSchedule> = HashMap::new();
        for pid in processes.pids() {
            found.extend(system::threads(pid).map(|(task, times)| ((pid, task), times)));
        }
        let since = |(thread, now): (&(i32, u64), &ThreadSchedule)| now.since(self.second.get(thread).copied().unwrap_or_default());
        let used: Vec<ThreadSchedule> = found.iter().map(since).collect();
        let mut threads: Vec<(i32, u64)> = found.keys().copied().collect();
        self.second = found;
        threads.sort_unstable();
        let step = threads.len().div_ceil(SAMPLED_THREADS_MAX).max(1);
        let mut before = std::mem::take(&mut self.sampled);
        self.sampled = threads.into_iter().step_by(step).map(|thread| (thread, before.remove(&thread).flatten())).collect();
        CpuUse {
            all_ns: used.iter().map(|thread| thread.run_ns).sum(),
            busiest_thread_ns: used.iter().map(|thread| thread.run_ns).max().unwrap_or(0),
            core_wait_ns: used.iter().max_by_key(|thread| thread.run_ns + thread.wait_ns).map_or(0, |thread| thread.wait_ns),
            read_lags: bounded(std::mem::take(&mut self.read_lags)),
        }
    }

    /// Samples the waits of the threads in the window since the last sample. Nanoseconds.
    pub(crate) fn sample(&mut self, window_ns: u64) {
        let mut grown: BTreeMap<i32, Vec<ThreadSchedule>> = BTreeMap::new();
        for ((pid, task), before) in &mut self.sampled {
            let now = system::waits(*pid, *task);
            if let (Some(now), Some(before)) = (now, *before) {
                grown.entry(*pid).or_default().push(now.since(before));
            }
            *before = now;
        }
        grown.values().for_each(|threads| of_process(threads, window_ns as f64, &mut self.read_lags));
    }
}

/// Replaces neighbours in size by their mean, so that a bounded number remains.
fn bounded(mut lags: Vec<ReadLag>) -> Vec<ReadLag> {
    if lags.len() <= LAGS_MAX {
        return lags;
    }
    lags.sort_by(|a, b| a.late_ns.total_cmp(&b.late_ns));
    let mean = |lags: &[ReadLag]| {
        let weight = lags.iter().map(|lag| lag.weight).sum::<f64>();
        ReadLag { late_ns: lags.iter().map(|lag| lag.late_ns * lag.weight).sum::<f64>() / weight, weight }
    };
    lags.chunks(lags.len().div_ceil(LAGS_MAX)).map(mean).collect()
}

/// How late the threads of one process read.
fn of_process(threads: &[ThreadSchedule], window_ns: f64, lags: &mut Vec<ReadLag>) {
    let run_ns: u64 = threads.iter().map(|thread| thread.run_ns).sum();
    let Some(busiest) = threads.iter().max_by_key(|thread| thread.run_ns) else { return };
    if run_ns == 0 {
        return;
    }
    if run_ns as f64 <= ONE_THREAD_FACTOR_MAX * busiest.run_ns as f64 {
        lags.push(ReadLag { late_ns: late_of_loop(*busiest, window_ns), weight: run_ns as f64 });
        return;
    }
    // A thread that computes all the time, such as a compiler's, seldom waits for a response.
    let woken: u64 = threads.iter().map(|thread| thread.blocked).sum();
    for thread in threads.iter().filter(|thread| thread.blocked > 0) {
        lags.push(ReadLag { late_ns: thread.wait_of_each(), weight: run_ns as f64 * thread.blocked as f64 / woken as f64 });
    }
}

/// How late a thread that handles all responses one after another reads one that arrives at any instant.
///
/// If the thread is idle, it waits for a core. If it is busy, or waits, the response also waits for the rest of that period: with exponentially distributed
/// periods, for one mean period. The thread may read a response before the period ends, so this is an upper estimate. Nanoseconds.
fn late_of_loop(thread: ThreadSchedule, window_ns: f64) -> f64 {
    let active_ns = (thread.run_ns + thread.wait_ns) as f64;
    let active_share = (active_ns / window_ns.max(1.0)).min(1.0);
    let period_ns = active_ns / thread.blocked.max(1) as f64;
    (1.0 - active_share) * thread.wait_of_each() + active_share * period_ns
}

impl ToolProcesses {
    /// The root, all that it started directly or indirectly, and its group.
    fn pids(self) -> Vec<i32> {
        let all = system::processes();
        let is_root = |place: &&ProcessPlace| place.pid == self.root || (self.has_group && place.group == self.root);
        let mut mine: HashSet<i32> = all.iter().filter(is_root).map(|place| place.pid).collect();
        loop {
            let is_child = |place: &&ProcessPlace| !mine.contains(&place.pid) && mine.contains(&place.parent);
            let children: Vec<i32> = all.iter().filter(is_child).map(|place| place.pid).collect();
            if children.is_empty() {
                return mine.into_iter().collect();
            }
            mine.extend(children);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn lags(threads: &[ThreadSchedule]) -> Vec<ReadLag> {
        let mut lags = Vec::new();
        of_process(threads, 100.0 * MS as f64, &mut lags);
        lags
    }

    /// An M/M/1 queue with utilization 0.5 and service of 2 ms: the mean busy period is 2 / (1 − 0.5) = 4 ms, and an arrival waits for
    /// 0.5 · 2 / (1 − 0.5) = 2 ms on average.
    #[test]
    fn a_busy_event_loop_reads_late_by_the_wait_of_its_queue() {
        let thread = ThreadSchedule { run_ns: 50 * MS, wait_ns: 0, slices: 13, blocked: 12 };
        let late = late_of_loop(thread, 100.0 * MS as f64) / MS as f64;
        assert!((1.9..2.2).contains(&late), "{late}");
        // The same loop, which gets a core only half of the time that it needs one, is never idle for long.
        let starved = ThreadSchedule { wait_ns: 45 * MS, ..thread };
        assert!(late_of_loop(starved, 100.0 * MS as f64) > 3.0 * late * MS as f64);
        let idle = ThreadSchedule { run_ns: MS / 10, wait_ns: 0, slices: 10, blocked: 10 };
        assert!(late_of_loop(idle, 100.0 * MS as f64) < 1_000.0);
    }

    /// Forty threads that wait 1 ms for each core, and a compiler thread that waits 10 ms each time: responses are read by the forty.
    #[test]
    fn threads_that_share_the_work_read_late_by_their_wait_for_a_core() {
        let user = ThreadSchedule { run_ns: MS, wait_ns: 5 * MS, slices: 5, blocked: 5 };
        let compiler = ThreadSchedule { run_ns: 40 * MS, wait_ns: 40 * MS, slices: 4, blocked: 1 };
        let found = lags(&[[user; 40].as_slice(), &[compiler]].concat());
        let weight: f64 = found.iter().map(|lag| lag.weight).sum();
        let mean = found.iter().map(|lag| lag.late_ns * lag.weight).sum::<f64>() / weight / MS as f64;
        assert!((1.0..1.1).contains(&mean), "{mean}");
        assert_eq!(lags(&[]), []);
        assert_eq!(lags(&[ThreadSchedule::default()]), []);
    }

    #[test]
    fn a_second_keeps_the_sum_of_its_waits_in_few_values() {
        let lags: Vec<ReadLag> = (0..333).map(|number| ReadLag { late_ns: f64::from(number * 7_919 % 333), weight: 2.0 }).collect();
        let kept = bounded(lags);
        let sum: f64 = kept.iter().map(|lag| lag.late_ns * lag.weight).sum();
        assert!(kept.len() <= LAGS_MAX && (sum - 2.0 * 332.0 * 333.0 / 2.0).abs() < 1e-6, "{} {sum}", kept.len());
    }

    /// A child in its own session belongs to the tool, and its CPU time is counted.
    #[test]
    fn the_cpu_time_of_all_descendants_is_counted() {
        let busy = "import os,time\nif os.fork()==0:\n os.setsid()\n end=time.process_time()+0.2\n while time.process_time()<end: pass\n \
                    print('done',flush=True)\n time.sleep(60)\ntime.sleep(60)";
        let mut child =
            std::process::Command::new("python3").args(["-c", busy]).stdout(std::process::Stdio::piped()).spawn().expect("python3 starts");
        let mut line = String::new();
        let mut output = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
        std::io::BufRead::read_line(&mut output, &mut line).expect("a line");
        let processes = ToolProcesses { root: child.id() as i32, has_group: false };
        let used = CpuMeter::default().read(processes);
        let pids = processes.pids();
        for pid in &pids {
            let _ = rustix::process::kill_process(rustix::process::Pid::from_raw(*pid).expect("a pid"), rustix::process::Signal::KILL);
        }
        let _ = child.wait();
        assert_eq!(pids.len(), 2);
        assert!(used.busiest_thread_ns >= 190 * MS && used.all_ns >= used.busiest_thread_ns, "{used:?}");
    }
}
