//! This machine: CPU, steal, pressure, memory, disks, network.

use std::collections::HashSet;

use crate::procfs::{pairs, pressure_seconds, read, table_value, ticks_per_second};
use crate::readings::Readings;

#[derive(Debug, Default)]
pub(crate) struct Host {
    /// Whole disks, as `/sys/block` names them; looked up once.
    disks: Option<HashSet<String>>,
}

impl Host {
    /// # Errors
    /// When `/proc/stat` cannot be read; what else a kernel lacks is left out.
    pub(crate) fn read(&mut self, out: &mut Readings) -> Result<(), String> {
        cpu(&read("/proc/stat")?, out);
        for resource in ["cpu", "memory", "io"] {
            let Ok(text) = read(format!("/proc/pressure/{resource}")) else { continue };
            for share in ["some", "full"] {
                if let Some(seconds) = pressure_seconds(&text, share) {
                    let metric = format!("pressure{{resource={resource},share={share}}}");
                    out.counter(&metric, "seconds", "Time in which some or all tasks waited for the resource", seconds);
                }
            }
        }
        if let Ok(text) = read("/proc/meminfo") {
            let kb = pairs(&text);
            for (name, metric, help) in [
                ("MemTotal", "memory_total", "Memory of the machine"),
                ("MemAvailable", "memory_available", "Memory that programs could still take"),
                ("Dirty", "memory_dirty", "Memory waiting to be written to disk"),
            ] {
                if let Some(kb) = kb.get(name) {
                    out.gauge(metric, "bytes", help, *kb as f64 * 1024.0);
                }
            }
        }
        if let Ok(text) = read("/proc/diskstats") {
            self.disks(&text, out);
        }
        network(out);
        Ok(())
    }

    fn disks(&mut self, text: &str, out: &mut Readings) {
        let disks = self.disks.get_or_insert_with(|| {
            let entries = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            names.filter(|name| !name.starts_with("loop") && !name.starts_with("ram")).collect()
        });
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let Some(name) = words.get(2).filter(|name| disks.contains(**name)) else { continue };
            // Documentation/admin-guide/iostats.rst: fields after the name, sectors of 512 bytes, times in ms.
            let field = |index: usize| words.get(index + 2).and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0);
            let mut put = |metric: &str, unit: &str, help: &str, value: f64| {
                out.counter(&format!("{metric}{{device={name}}}"), unit, help, value);
            };
            put("disk_reads", "1", "Reads completed", field(1));
            put("disk_read_bytes", "bytes", "Bytes read", field(3) * 512.0);
            put("disk_writes", "1", "Writes completed", field(5));
            put("disk_written_bytes", "bytes", "Bytes written", field(7) * 512.0);
            put("disk_busy", "seconds", "Time with at least one request at the device", field(10) / 1e3);
            put("disk_waiting", "seconds", "Time of all requests at the device, added up", field(11) / 1e3);
        }
    }
}

fn cpu(text: &str, out: &mut Readings) {
    const MODES: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
    let mut cores = 0;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("cpu") => {
                for (mode, ticks) in MODES.iter().zip(words) {
                    let seconds = ticks.parse().unwrap_or(0.0) / ticks_per_second();
                    out.counter(&format!("cpu{{mode={mode}}}"), "seconds", "CPU time of all cores", seconds);
                }
            }
            Some("procs_running") => {
                let running = words.next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
                out.gauge("runnable", "1", "Tasks running or waiting for a core", running);
            }
            Some(name) if name.starts_with("cpu") => cores += 1,
            _ => {}
        }
    }
    out.gauge("cores", "1", "Cores of the machine", f64::from(cores));
}

fn network(out: &mut Readings) {
    for line in read("/proc/net/dev").unwrap_or_default().lines().skip(2) {
        let Some((name, numbers)) = line.split_once(':') else { continue };
        let numbers: Vec<f64> = numbers.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let name = name.trim();
        for (index, metric, unit) in [
            (0, "network_received_bytes", "bytes"),
            (3, "network_receive_drops", "1"),
            (8, "network_sent_bytes", "bytes"),
            (11, "network_send_drops", "1"),
        ] {
            if let Some(value) = numbers.get(index) {
                out.counter(&format!("{metric}{{device={name}}}"), unit, "Counter of the network device", *value);
            }
        }
    }
    let (snmp, netstat) = (read("/proc/net/snmp").unwrap_or_default(), read("/proc/net/netstat").unwrap_or_default());
    for (text, group, name, metric, help) in [
        (&snmp, "Tcp", "RetransSegs", "tcp_retransmits", "TCP segments sent again"),
        (&netstat, "TcpExt", "ListenOverflows", "tcp_listen_overflows", "Connections refused because an accept queue was full"),
        (&netstat, "TcpExt", "TCPSynRetrans", "tcp_syn_retransmits", "Connection attempts sent again"),
    ] {
        if let Some(value) = table_value(text, group, name) {
            out.counter(metric, "1", help, value);
        }
    }
    let sockets = read("/proc/net/sockstat").unwrap_or_default();
    let tcp = sockets.lines().find_map(|line| line.strip_prefix("TCP: ")).unwrap_or_default();
    let words: Vec<&str> = tcp.split_whitespace().collect();
    for pair in words.chunks_exact(2) {
        if let ("inuse" | "tw" | "orphan", Ok(count)) = (pair[0], pair[1].parse()) {
            out.gauge(&format!("tcp_sockets{{state={}}}", pair[0]), "1", "TCP sockets: in use, in TIME_WAIT, orphaned", count);
        }
    }
}
