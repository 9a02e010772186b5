//! From text files of /proc and /sys.

use std::collections::HashSet;

use loadstone_metrics::{Role, unit};

use super::metrics::{CORES, CPU, MEMORY_AVAILABLE, MEMORY_TOTAL};
use crate::collector::{MetricSpec, SignalCollector};
use crate::procfs::{FileError, pairs, pressure_seconds, read, table_value, ticks_per_second};
use crate::reader::{PendingRead, SignalReader, at_once};

const RUNNABLE: MetricSpec<'_> =
    MetricSpec::gauge("runnable", unit::COUNT, "Tasks running or waiting for a core").role(Role::MachineRunQueue);
const PRESSURE: MetricSpec<'_> = MetricSpec::counter("pressure", unit::SECONDS, "Time in which some or all tasks waited for the resource");

/// Columns of `/proc/stat`, with their roles.
const MODES: [(&str, Role); 8] = [
    ("user", Role::MachineCpu),
    ("nice", Role::MachineCpu),
    ("system", Role::MachineCpu),
    ("idle", Role::MachineIdle),
    ("iowait", Role::MachineIoWait),
    ("irq", Role::MachineCpu),
    ("softirq", Role::MachineCpu),
    ("steal", Role::MachineSteal),
];

/// Field of `/proc/meminfo`.
const MEMORY: [(&str, MetricSpec<'_>); 3] = [
    ("MemTotal", MEMORY_TOTAL),
    ("MemAvailable", MEMORY_AVAILABLE),
    ("Dirty", MetricSpec::gauge("memory_dirty", unit::BYTES, "Memory waiting to be written to disk")),
];

/// Field behind the device's name and its scale: sectors of 512 bytes, times in ms (Documentation/admin-guide/iostats.rst).
const DISK: [(usize, f64, MetricSpec<'_>); 6] = [
    (1, 1.0, MetricSpec::counter("disk_reads", unit::COUNT, "Reads completed")),
    (3, 512.0, MetricSpec::counter("disk_read_bytes", unit::BYTES, "Bytes read")),
    (5, 1.0, MetricSpec::counter("disk_writes", unit::COUNT, "Writes completed")),
    (7, 512.0, MetricSpec::counter("disk_written_bytes", unit::BYTES, "Bytes written")),
    (10, 1e-3, MetricSpec::counter("disk_busy", unit::SECONDS, "Time with at least one request at the device").role(Role::DiskBusy)),
    (11, 1e-3, MetricSpec::counter("disk_waiting", unit::SECONDS, "Sum of the times of all requests at the device").role(Role::DiskQueue)),
];

/// Column of `/proc/net/dev`.
const NETWORK: [(usize, MetricSpec<'_>); 4] = [
    (0, MetricSpec::counter("network_received_bytes", unit::BYTES, "Counter of the network device").role(Role::NetworkReceived)),
    (3, MetricSpec::counter("network_receive_drops", unit::COUNT, "Counter of the network device")),
    (8, MetricSpec::counter("network_sent_bytes", unit::BYTES, "Counter of the network device").role(Role::NetworkSent)),
    (11, MetricSpec::counter("network_send_drops", unit::COUNT, "Counter of the network device")),
];

const SPEED: MetricSpec<'_> =
    MetricSpec::gauge("network_speed_bytes", unit::BYTES, "Bytes per second that the device's link can carry").role(Role::NetworkSpeed);

/// File, group and field of the kernel's TCP counters.
const TCP: [(&str, &str, &str, MetricSpec<'_>); 3] = [
    (
        "/proc/net/snmp",
        "Tcp",
        "RetransSegs",
        MetricSpec::counter("tcp_retransmits", unit::COUNT, "TCP segments sent again").role(Role::Retransmissions),
    ),
    (
        "/proc/net/netstat",
        "TcpExt",
        "ListenOverflows",
        MetricSpec::counter("tcp_listen_overflows", unit::COUNT, "Connections refused because an accept queue was full")
            .role(Role::ListenOverflows),
    ),
    (
        "/proc/net/netstat",
        "TcpExt",
        "TCPSynRetrans",
        MetricSpec::counter("tcp_syn_retransmits", unit::COUNT, "Connection attempts sent again").role(Role::SynRetransmissions),
    ),
];

const SOCKETS: MetricSpec<'_> = MetricSpec::gauge("tcp_sockets", unit::COUNT, "TCP sockets: in use, in TIME_WAIT, orphaned");

#[derive(Debug, Default)]
pub(super) struct Host {
    /// Disks without partitions, as `/sys/block` names them; read once.
    disks: Option<HashSet<String>>,
}

impl SignalReader for Host {
    fn read<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a> {
        at_once(self.look(out))
    }
}

impl Host {
    /// # Errors
    /// When `/proc/stat` cannot be read. Other files that the kernel lacks are skipped.
    fn look(&mut self, out: &mut SignalCollector) -> Result<(), FileError> {
        cpu(&read("/proc/stat")?, out);
        for resource in ["cpu", "memory", "io"] {
            let Ok(text) = read(format!("/proc/pressure/{resource}")) else { continue };
            for share in ["some", "full"] {
                if let Some(seconds) = pressure_seconds(&text, share) {
                    out.put_labelled(PRESSURE, &[("resource", resource), ("share", share)], seconds);
                }
            }
        }
        if let Ok(text) = read("/proc/meminfo") {
            let kb = pairs(&text);
            for (name, metric) in MEMORY {
                if let Some(kb) = kb.get(name) {
                    out.put(metric, *kb as f64 * 1024.0);
                }
            }
        }
        if let Ok(text) = read("/proc/diskstats") {
            self.disks(&text, out);
        }
        network(out);
        Ok(())
    }

    fn disks(&mut self, text: &str, out: &mut SignalCollector) {
        let disks = self.disks.get_or_insert_with(|| {
            let entries = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            names.filter(|name| !name.starts_with("loop") && !name.starts_with("ram")).collect()
        });
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let Some(name) = words.get(2).filter(|name| disks.contains(**name)) else { continue };
            for (field, scale, metric) in DISK {
                if let Some(value) = words.get(field + 2).and_then(|word| word.parse::<f64>().ok()) {
                    out.put_labelled(metric.part(name), &[("device", name)], value * scale);
                }
            }
        }
    }
}

fn cpu(text: &str, out: &mut SignalCollector) {
    let mut cores = 0;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("cpu") => {
                for ((mode, role), ticks) in MODES.into_iter().zip(words) {
                    if let Ok(ticks) = ticks.parse::<f64>() {
                        out.put_labelled(CPU.role(role), &[("mode", mode)], ticks / ticks_per_second());
                    }
                }
            }
            Some("procs_running") => {
                if let Some(running) = words.next().and_then(|word| word.parse().ok()) {
                    out.put(RUNNABLE, running);
                }
            }
            Some(name) if name.starts_with("cpu") => cores += 1,
            _ => {}
        }
    }
    if cores > 0 {
        out.put(CORES, f64::from(cores));
    }
}

fn network(out: &mut SignalCollector) {
    for line in read("/proc/net/dev").unwrap_or_default().lines().skip(2) {
        let Some((name, numbers)) = line.split_once(':') else { continue };
        let numbers: Vec<f64> = numbers.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let name = name.trim();
        for (column, metric) in NETWORK {
            if let Some(value) = numbers.get(column) {
                out.put_labelled(metric.part(name), &[("device", name)], *value);
            }
        }
        // Mbit/s; the kernel has none, or −1, for a link that is virtual or down.
        let speed = read(format!("/sys/class/net/{name}/speed")).ok().and_then(|text| text.trim().parse::<f64>().ok());
        if let Some(speed) = speed.filter(|speed| *speed > 0.0) {
            out.put_labelled(SPEED.part(name), &[("device", name)], speed * 1e6 / 8.0);
        }
    }
    for (file, group, name, metric) in TCP {
        if let Some(value) = table_value(&read(file).unwrap_or_default(), group, name) {
            out.put(metric, value);
        }
    }
    let sockets = read("/proc/net/sockstat").unwrap_or_default();
    let tcp = sockets.lines().find_map(|line| line.strip_prefix("TCP: ")).unwrap_or_default();
    let words: Vec<&str> = tcp.split_whitespace().collect();
    for pair in words.chunks_exact(2) {
        if let ("inuse" | "tw" | "orphan", Ok(count)) = (pair[0], pair[1].parse()) {
            out.put_labelled(SOCKETS, &[("state", pair[0])], count);
        }
    }
}
