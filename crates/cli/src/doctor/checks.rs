//! What the readings mean for the intended load. Pure: no I/O.

use loadstone_report::{DoctorGrade, DoctorLine};
use loadstone_units::{count, memory, rate, share};

use super::readings::MachineReadings;

/// The intended load: `--rate`, `--users` and `--workers`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct IntendedLoad {
    /// Arrivals per second.
    pub(crate) rate: Option<f64>,
    /// Concurrent users.
    pub(crate) users: Option<u64>,
}

/// Descriptors per table that are not connections, counted as in a run.
const OTHER_DESCRIPTORS: u64 = 100;
/// Simple requests per second that a current core can start. Scripts reach about half (bench/README.md).
const CORE_RATE_MAX: f64 = 100_000.0;
/// Requests per second that a core can start on time while it also does other work.
const CORE_RATE_COMFORTABLE: f64 = 20_000.0;
/// Memory of a run without users, and of an idle user with its connection (bench/README.md, with margin for larger bodies). Bytes.
const MEMORY_BASE_BYTES: u64 = 100 << 20;
const MEMORY_PER_USER_BYTES: u64 = 32 << 10;
/// How long Linux keeps the port of a closed connection (TCP_TIMEWAIT_LEN). Seconds.
const TIME_WAIT_S: f64 = 60.0;
/// The same limit as in the validity check: CPU steal above this share is reported.
const STOLEN_SHARE_MAX: f64 = 0.05;
/// Below this share of idle CPU, the generator has to wait for a core.
const BUSY_SHARE_MAX: f64 = 0.5;
/// Clocks that the kernel reads without a system call or device access (vDSO).
const FAST_CLOCKS: [&str; 6] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "timebase", "riscv_clocksource"];
/// Remedies differ.
const IS_MACOS: bool = cfg!(target_os = "macos");
/// The line about what observers may read.
const PROCESSES: &str = if IS_MACOS { "processes" } else { "/proc" };
/// Free disk space that a run of several hours may need. Bytes.
const DISK_BYTES_MIN: u64 = 1 << 30;

/// All lines, in display order.
pub(crate) fn examine(readings: &MachineReadings, asked: IntendedLoad) -> Vec<DoctorLine> {
    let lines = [
        Some(descriptors(readings, asked)),
        ports(readings, asked),
        tracked(readings, asked),
        Some(cores(readings, asked)),
        Some(cpu_limit(readings, asked)),
        Some(memory_left(readings, asked)),
        clock(readings),
        Some(governor(readings)),
        steal(readings),
        busy(readings),
        Some(names(readings)),
        disk(readings),
        Some(processes(readings)),
        perf(readings),
    ];
    lines.into_iter().flatten().collect()
}

fn line(name: &'static str, grade: DoctorGrade, found: impl Into<String>, means: impl Into<String>) -> DoctorLine {
    DoctorLine { name, grade, found: found.into(), means: means.into(), raise: None }
}

/// A value that could not be read. Nothing is concluded from it.
fn unknown(name: &'static str, means: &str) -> DoctorLine {
    line(name, DoctorGrade::Note, "unknown", means).raised_by("mount -t proc proc /proc; mount -t cgroup2 none /sys/fs/cgroup")
}

/// Concurrent users: the requested number. For open load, the number in flight if each response takes one second (Little 1961).
fn users(asked: IntendedLoad) -> Option<u64> {
    asked.users.or(asked.rate.map(|rate| rate.ceil() as u64))
}

fn of_users(asked: IntendedLoad, users: u64) -> String {
    match asked.rate.filter(|_| asked.users.is_none()) {
        Some(at) => format!("{} keep {} users busy if each response takes a second", rate(at), count(users)),
        None => format!("{} users need as many", count(users)),
    }
}

fn descriptors(readings: &MachineReadings, asked: IntendedLoad) -> DoctorLine {
    let limit = readings.descriptors;
    // On Linux, each worker may have a separate descriptor table.
    let tables = if loadstone_platform::descriptors::CAN_SPLIT { u64::from(readings.cores.1.max(1)) } else { 1 };
    let room = limit.saturating_sub(OTHER_DESCRIPTORS).saturating_mul(tables);
    let found = format!("{} open files", count(limit));
    let has = format!(
        "enough for {} connections{}",
        count(room),
        if loadstone_platform::descriptors::CAN_SPLIT { " with one worker per core" } else { "" }
    );
    let Some(needed) = users(asked) else { return line("descriptors", DoctorGrade::Good, found, has) };
    let means = format!("{has}; {}", of_users(asked, needed));
    if needed <= room {
        return line("descriptors", DoctorGrade::Good, found, means);
    }
    let each = needed.div_ceil(tables) + OTHER_DESCRIPTORS;
    // Only root can raise the limit. A service has a separate limit.
    let raise = if IS_MACOS {
        format!("sudo sysctl kern.maxfilesperproc={each}; ulimit -n {each}")
    } else {
        format!("ulimit -n {each}  (beyond the hard limit: LimitNOFILE={each} of the service, or /etc/security/limits.conf)")
    };
    line("descriptors", DoctorGrade::TooLittle, found, means).raised_by(raise)
}

fn ports(readings: &MachineReadings, asked: IntendedLoad) -> Option<DoctorLine> {
    let (first, last) = readings.ports?;
    let room = u64::from(last.saturating_sub(first)) + 1;
    let found = format!("{} ({first} to {last})", count(room));
    let renewed = room as f64 / readings.time_wait_seconds.unwrap_or(TIME_WAIT_S);
    let has = format!("as many connections at once to one address; {} where every iteration opens its own", rate(renewed));
    let raise = if IS_MACOS {
        "sudo sysctl net.inet.ip.portrange.first=16384; or spread the load over `options: { sources }`"
    } else {
        "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"; or spread the load over `options: { sources }`"
    };
    let many = asked.users.is_some_and(|users| users > room);
    // Returning users reuse their connection: only new users cost a port for the TIME_WAIT period.
    let fast = asked.rate.is_some_and(|rate| rate > renewed) && readings.port_reuse != Some(1);
    Some(match (many, fast) {
        (true, _) => {
            let users = asked.users.unwrap_or(0);
            line("ports", DoctorGrade::TooLittle, found, format!("{has}; {} users need as many", count(users))).raised_by(raise)
        }
        (_, true) => line("ports", DoctorGrade::Note, found, format!("{has}: enough only while connections are kept"))
            .raised_by(if IS_MACOS { raise.to_owned() } else { format!("sysctl -w net.ipv4.tcp_tw_reuse=1; {raise}") }),
        _ => line("ports", DoctorGrade::Good, found, has),
    })
}

fn tracked(readings: &MachineReadings, asked: IntendedLoad) -> Option<DoctorLine> {
    let (now, most) = readings.tracked?;
    let left = most.saturating_sub(now);
    let found = format!("{} of {} connections tracked", count(now), count(most));
    let needed = users(asked).unwrap_or(0);
    if needed <= left {
        return Some(line("conntrack", DoctorGrade::Good, found, format!("the firewall can track {} more", count(left))));
    }
    let means = format!("the firewall drops what is beyond; {}", of_users(asked, needed));
    let raise = format!("sysctl -w net.netfilter.nf_conntrack_max={}", (now + needed).next_power_of_two());
    Some(line("conntrack", DoctorGrade::TooLittle, found, means).raised_by(raise))
}

fn cores(readings: &MachineReadings, asked: IntendedLoad) -> DoctorLine {
    let (machine, usable) = readings.cores;
    let held = machine > usable;
    let found = if held { format!("{usable} of {machine}") } else { usable.to_string() };
    let (easy, most) = (CORE_RATE_COMFORTABLE * f64::from(usable), CORE_RATE_MAX * f64::from(usable));
    let means = format!("about {} comfortably, at most {} of plain requests", rate(easy), rate(most));
    let line = |grade, means: String| line("cores", grade, found.clone(), means);
    let more = if held { "taskset -p or the service's cpuset holds this process back" } else { "use a larger machine" };
    match asked.rate {
        Some(asked) if asked > most => line(DoctorGrade::TooLittle, format!("{means}; {} are requested", rate(asked))).raised_by(more),
        Some(asked) if asked > easy => {
            line(DoctorGrade::Note, format!("{means}; {} are requested: check the run's validity", rate(asked))).raised_by(more)
        }
        _ if held => line(DoctorGrade::Note, format!("{means}; the affinity mask or a cpuset holds this process to them"))
            .raised_by("taskset -pc 0- $$"),
        _ => line(DoctorGrade::Good, means),
    }
}

fn cpu_limit(readings: &MachineReadings, asked: IntendedLoad) -> DoctorLine {
    if !readings.reads_limits {
        return unknown("CPU limit", "the control group of this process cannot be read");
    }
    let Some(limit) = readings.cpu_limit else {
        let means = if IS_MACOS { "macOS has no control groups" } else { "no control group throttles the generator" };
        return line("CPU limit", DoctorGrade::Good, "none", means);
    };
    let found = format!("{} cores", loadstone_units::number(limit));
    let raise = "raise cpu.max (docker run --cpus, resources.limits.cpu), or remove it";
    match asked.rate {
        Some(asked) if asked > limit * CORE_RATE_MAX => {
            line("CPU limit", DoctorGrade::TooLittle, found, format!("{} are more than this many cores can generate", rate(asked)))
                .raised_by(raise)
        }
        _ if limit < f64::from(readings.cores.1) => line(
            "CPU limit",
            DoctorGrade::Note,
            found,
            format!("with one worker on each of {} cores, the control group is throttled repeatedly", readings.cores.1),
        )
        .raised_by(format!("--workers {}; or {raise}", (limit.floor() as u64).max(1))),
        _ => line("CPU limit", DoctorGrade::Good, found, "not below the cores that may be used"),
    }
}

/// Rounds to two digits: the estimate is not more precise.
fn rough(count: u64) -> u64 {
    let unit = 10_u64.pow(count.checked_ilog10().unwrap_or(0).saturating_sub(1));
    count / unit * unit
}

fn memory_left(readings: &MachineReadings, asked: IntendedLoad) -> DoctorLine {
    let Some(left) = [readings.memory, readings.memory_limit].into_iter().flatten().min() else {
        return unknown("memory", "neither /proc/meminfo nor a limit of the control group can be read");
    };
    let of_group = readings.memory_limit.is_some_and(|limit| readings.memory.is_none_or(|machine| limit < machine));
    let found = format!("{} free{}", memory(left), if of_group { " in the control group" } else { "" });
    let room = left.saturating_sub(MEMORY_BASE_BYTES) / MEMORY_PER_USER_BYTES;
    let means = format!("enough for about {} users with their connections", count(rough(room)));
    let needed = users(asked).unwrap_or(0);
    if needed <= room {
        return line("memory", DoctorGrade::Good, found, means);
    }
    let raise = if of_group { "raise memory.max (docker run --memory, resources.limits.memory)" } else { "use a larger machine" };
    line("memory", DoctorGrade::TooLittle, found, format!("{means}; {}", of_users(asked, needed))).raised_by(raise)
}

fn clock(readings: &MachineReadings) -> Option<DoctorLine> {
    let source = readings.clock_source.clone()?;
    if FAST_CLOCKS.contains(&&*source) {
        return Some(line("clock", DoctorGrade::Good, source, "read without a system call"));
    }
    let means = "every read is a system call or a device access: each request costs more, and its times are coarser";
    let raise = "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource";
    Some(line("clock", DoctorGrade::Note, source, means).raised_by(raise))
}

fn governor(readings: &MachineReadings) -> DoctorLine {
    let found = readings.governors.join(", ");
    if readings.governors.is_empty() {
        if IS_MACOS {
            let means = "not examined: macOS chooses the cores and their clock rate, and Low Power Mode lowers it";
            return line("governor", DoctorGrade::Note, "unknown", means).raised_by("switch off Low Power Mode, and connect the charger");
        }
        return line("governor", DoctorGrade::Good, "none", "this system cannot change the clock rate");
    }
    if readings.governors.iter().all(|governor| governor == "performance") {
        return line("governor", DoctorGrade::Good, found, "the clock rate does not follow the load");
    }
    let means = "the clock rate follows the load: at a low rate the generator, and a target on this machine, are slower than at a high one";
    line("governor", DoctorGrade::Note, found, means).raised_by("cpupower frequency-set -g performance")
}

fn steal(readings: &MachineReadings) -> Option<DoctorLine> {
    let stolen = readings.stolen?;
    let found = share(stolen);
    if stolen <= STOLEN_SHARE_MAX {
        return Some(line("steal", DoctorGrade::Good, found, "the hypervisor leaves the cores to this machine"));
    }
    let means = "the hypervisor takes cores away: measured times are too long, and the run may be SUSPECT or INVALID";
    Some(line("steal", DoctorGrade::Note, found, means).raised_by("use a dedicated machine, or run at another time"))
}

fn busy(readings: &MachineReadings) -> Option<DoctorLine> {
    let busy = readings.busy?;
    let found = format!("{} of all cores", share(busy));
    if busy <= BUSY_SHARE_MAX {
        return Some(line("other load", DoctorGrade::Good, found, "the generator has idle cores"));
    }
    let means = "the generator has to wait for CPU, and so does a target on this machine";
    Some(line("other load", DoctorGrade::Note, found, means).raised_by("top -o %CPU  shows the processes"))
}

fn names(readings: &MachineReadings) -> DoctorLine {
    let servers = readings.name_servers.join(", ");
    let found = if servers.is_empty() { "no name server".to_owned() } else { servers };
    match &readings.lookup {
        Some(lookup) => match &lookup.found {
            Ok(addresses) => {
                let took = loadstone_units::seconds(lookup.seconds);
                let plural = if *addresses == 1 { "address" } else { "addresses" };
                let means = format!("{} has {addresses} {plural} (found in {took})", lookup.host);
                line("names", DoctorGrade::Good, found, means)
            }
            Err(problem) => line("names", DoctorGrade::TooLittle, found, format!("{} has no address: {problem}", lookup.host))
                .raised_by("correct /etc/resolv.conf or /etc/hosts, or give `options: { nameServers }`"),
        },
        None if readings.name_servers.is_empty() => {
            line("names", DoctorGrade::Note, found, "only addresses and names of /etc/hosts can be reached")
                .raised_by("add one to /etc/resolv.conf")
        }
        None => line("names", DoctorGrade::Good, found, "resolves the target's name; pass a URL to test it"),
    }
}

fn disk(readings: &MachineReadings) -> Option<DoctorLine> {
    let (folder, free) = readings.disk.as_ref()?;
    let found = format!("{} free for {folder}", memory(*free));
    if *free >= DISK_BYTES_MIN {
        return Some(line("disk", DoctorGrade::Good, found, "enough for runs of several hours"));
    }
    let means = "a run fails when it cannot write a second to disk";
    Some(line("disk", DoctorGrade::Note, found, means).raised_by("loadstone runs prune --keep 20; or --runs FOLDER elsewhere"))
}

fn processes(readings: &MachineReadings) -> DoctorLine {
    let Some(reads_others) = readings.reads_others else {
        return unknown(PROCESSES, "observe.process and observe.host see nothing");
    };
    if reads_others {
        return line(PROCESSES, DoctorGrade::Good, "all processes", "observe.process sees descriptors, sockets and I/O of any of them");
    }
    if IS_MACOS {
        let means = "observe.process sees only your own processes";
        return line(PROCESSES, DoctorGrade::Note, "own processes", means).raised_by("run as the target's user, or with sudo");
    }
    let means = "observe.process sees CPU and memory of all processes, descriptors, sockets and I/O only of your own";
    line(PROCESSES, DoctorGrade::Note, "own processes", means)
        .raised_by("run as the target's user or as root, or setcap cap_sys_ptrace+ep $(command -v loadstone)")
}

fn perf(readings: &MachineReadings) -> Option<DoctorLine> {
    let level = readings.perf_paranoid?;
    let found = format!("perf_event_paranoid {level}");
    // Documentation/admin-guide/sysctl/kernel.rst: above 2 (Debian), and at 2 for the kernel, only with CAP_PERFMON.
    if level <= 1 || readings.reads_others == Some(true) {
        return Some(line("profilers", DoctorGrade::Good, found, "perf can profile the system during a run"));
    }
    let means = "Loadstone does not need it; a profiler sees no kernel functions, or nothing at all";
    Some(line("profilers", DoctorGrade::Good, found, means).raised_by("sysctl -w kernel.perf_event_paranoid=1"))
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
