//! Synthetic machines, on both sides of each limit.

use super::super::readings::Lookup;
use super::*;

/// A machine that can carry any typical load.
fn machine() -> MachineReadings {
    MachineReadings {
        descriptors: 524_288,
        ports: Some((32_768, 60_999)),
        time_wait_seconds: None,
        port_reuse: Some(2),
        tracked: None,
        cores: (4, 4),
        reads_limits: true,
        cpu_limit: None,
        memory: Some(8 << 30),
        memory_limit: None,
        clock_source: Some("tsc".to_owned()),
        governors: Vec::new(),
        stolen: Some(0.001),
        busy: Some(0.02),
        name_servers: vec!["10.0.0.53".to_owned()],
        lookup: None,
        disk: Some(("runs".to_owned(), 20 << 30)),
        reads_others: Some(true),
        perf_paranoid: Some(2),
    }
}

const NOTHING: IntendedLoad = IntendedLoad { rate: None, users: None };

fn users_of(count: u64) -> IntendedLoad {
    IntendedLoad { users: Some(count), ..NOTHING }
}

fn rate_of(rate: f64) -> IntendedLoad {
    IntendedLoad { rate: Some(rate), ..NOTHING }
}

/// The line of this name, and its grade.
#[track_caller]
fn found(readings: &MachineReadings, asked: IntendedLoad, name: &str) -> (DoctorGrade, String) {
    let lines = examine(readings, asked);
    let line = lines.iter().find(|line| line.name == name).unwrap_or_else(|| panic!("{name} among {lines:?}"));
    let raise = line.raise.as_ref().map(|raise| format!(" -> {raise}")).unwrap_or_default();
    assert!(line.grade == DoctorGrade::Good || line.raise.is_some(), "what is in the way says how it goes away: {line:?}");
    (line.grade, format!("{}; {}{raise}", line.found, line.means))
}

#[track_caller]
fn check(readings: &MachineReadings, asked: IntendedLoad, name: &str, grade: DoctorGrade, expected: &str) {
    let (got, text) = found(readings, asked, name);
    assert_eq!(got, grade, "{text}");
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_good_machine_has_no_warnings_for_a_small_load() {
    for asked in [NOTHING, users_of(1_000), rate_of(400.0)] {
        let lines = examine(&machine(), asked);
        assert!(lines.iter().all(|line| line.grade == DoctorGrade::Good), "{lines:?}");
    }
}

#[test]
fn connections_need_descriptors_and_ports() {
    use DoctorGrade::{Good, Note, TooLittle};
    let small = MachineReadings { descriptors: 1_024, cores: (2, 2), ..machine() };
    check(&small, users_of(1_848), "descriptors", Good, "enough for 1,848 connections");
    check(&small, users_of(2_000), "descriptors", TooLittle, "ulimit -n 1100");
    check(&small, rate_of(5_000.0), "descriptors", TooLittle, "keep 5,000 users busy if each response takes a second");
    check(&machine(), users_of(28_232), "ports", Good, "28,232");
    check(&machine(), users_of(28_233), "ports", TooLittle, "ip_local_port_range");
    // 28,232 ports, each held for a minute.
    check(&machine(), rate_of(470.0), "ports", Good, "");
    check(&machine(), rate_of(471.0), "ports", Note, "tcp_tw_reuse");
    check(&MachineReadings { port_reuse: Some(1), ..machine() }, rate_of(471.0), "ports", Good, "");
    let tracking = MachineReadings { tracked: Some((200, 65_536)), ..machine() };
    check(&tracking, users_of(65_336), "conntrack", Good, "65,336 more");
    check(&tracking, users_of(70_000), "conntrack", TooLittle, "nf_conntrack_max=131072");
}

#[test]
fn a_rate_needs_available_cores() {
    use DoctorGrade::{Good, Note, TooLittle};
    check(&machine(), rate_of(80_000.0), "cores", Good, "");
    check(&machine(), rate_of(80_001.0), "cores", Note, "check the run's validity");
    check(&machine(), rate_of(400_001.0), "cores", TooLittle, "larger machine");
    check(&MachineReadings { cores: (8, 2), ..machine() }, NOTHING, "cores", Note, "taskset");
    let half = MachineReadings { cpu_limit: Some(1.5), ..machine() };
    check(&half, NOTHING, "CPU limit", Note, "--workers 1;");
    check(&half, rate_of(150_001.0), "CPU limit", TooLittle, "cpu.max");
    check(&MachineReadings { cpu_limit: Some(4.0), ..machine() }, NOTHING, "CPU limit", Good, "");
}

#[test]
fn users_need_memory_and_the_tighter_limit_applies() {
    use DoctorGrade::{Good, TooLittle};
    let group = MachineReadings { memory_limit: Some(400 << 20), ..machine() };
    check(&group, users_of(9_600), "memory", Good, "in the control group; enough for about 9,600 users");
    check(&group, users_of(9_601), "memory", TooLittle, "memory.max");
    let roomy = MachineReadings { memory_limit: Some(16 << 30), memory: Some(400 << 20), ..machine() };
    check(&roomy, users_of(9_601), "memory", TooLittle, "larger machine");
}

#[test]
fn conditions_that_distort_times_are_listed_with_a_remedy() {
    use DoctorGrade::{Good, Note};
    check(&MachineReadings { clock_source: Some("hpet".to_owned()), ..machine() }, NOTHING, "clock", Note, "clocksource0");
    check(&MachineReadings { governors: vec!["performance".to_owned()], ..machine() }, NOTHING, "governor", Good, "");
    let mixed = vec!["performance".to_owned(), "powersave".to_owned()];
    check(&MachineReadings { governors: mixed, ..machine() }, NOTHING, "governor", Note, "cpupower");
    check(&MachineReadings { stolen: Some(0.06), ..machine() }, NOTHING, "steal", Note, "dedicated machine");
    check(&MachineReadings { busy: Some(0.51), ..machine() }, NOTHING, "other load", Note, "top");
    check(&MachineReadings { disk: Some(("runs".to_owned(), 1 << 20)), ..machine() }, NOTHING, "disk", Note, "prune");
    check(&MachineReadings { reads_others: Some(false), ..machine() }, NOTHING, "/proc", Note, "cap_sys_ptrace");
}

#[test]
fn a_target_without_an_address_is_a_problem() {
    let looked = |found| MachineReadings { lookup: Some(Lookup { host: "shop".to_owned(), found, seconds: 0.002 }), ..machine() };
    check(&looked(Ok(2)), NOTHING, "names", DoctorGrade::Good, "shop has 2 addresses (found in 2.00 ms)");
    check(&looked(Err("unknown".to_owned())), NOTHING, "names", DoctorGrade::TooLittle, "shop has no address: unknown");
    check(&MachineReadings { name_servers: Vec::new(), ..machine() }, NOTHING, "names", DoctorGrade::Note, "resolv.conf");
}

#[test]
fn unreadable_values_are_left_out_or_unknown() {
    let dark = MachineReadings { descriptors: 1_024, cores: (1, 1), ..MachineReadings::default() };
    let names: Vec<&str> = examine(&dark, NOTHING).iter().map(|line| line.name).collect();
    assert_eq!(names, ["descriptors", "cores", "CPU limit", "memory", "governor", "names", "/proc"]);
    for name in ["CPU limit", "memory", "/proc"] {
        check(&dark, NOTHING, name, DoctorGrade::Note, "");
        let line = examine(&dark, NOTHING).into_iter().find(|line| line.name == name).unwrap();
        assert_eq!(line.found, "unknown", "{line:?}");
    }
}
