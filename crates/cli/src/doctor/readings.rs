//! What was read from the machine. Plain data, so tests can describe any machine.

/// `None`: it could not be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct MachineReadings {
    /// Maximum number of open files after this process has raised its limit.
    pub(crate) descriptors: u64,
    /// First and last ephemeral port.
    pub(crate) ports: Option<(u16, u16)>,
    /// How long the kernel keeps the port of a closed connection, if that can be read.
    pub(crate) time_wait_seconds: Option<f64>,
    /// `net.ipv4.tcp_tw_reuse`: 1 everywhere, 2 on loopback, 0 never.
    pub(crate) port_reuse: Option<u8>,
    /// Connection tracking entries: current, maximum.
    pub(crate) tracked: Option<(u64, u64)>,
    /// Cores online in the machine, and cores available to this process.
    pub(crate) cores: (u32, u32),
    /// Whether the limits of the control group could be read.
    pub(crate) reads_limits: bool,
    /// CPU limit of the control group. Cores. `None`: no limit, if the limits could be read.
    pub(crate) cpu_limit: Option<f64>,
    /// Available memory, estimated by the kernel. Bytes.
    pub(crate) memory: Option<u64>,
    /// Memory left in the control group. Bytes.
    pub(crate) memory_limit: Option<u64>,
    pub(crate) clock_source: Option<String>,
    /// CPU models of all cores, without duplicates.
    pub(crate) governors: Vec<String>,
    /// Shares of CPU time over a short interval: stolen by the hypervisor, used by other processes.
    pub(crate) stolen: Option<f64>,
    pub(crate) busy: Option<f64>,
    pub(crate) name_servers: Vec<String>,
    pub(crate) lookup: Option<Lookup>,
    /// The folder of run directories, and its free space in bytes.
    pub(crate) disk: Option<(String, u64)>,
    /// Whether this process may read `/proc` entries of other users' processes: root, or CAP_SYS_PTRACE.
    pub(crate) reads_others: Option<bool>,
    /// `kernel.perf_event_paranoid`.
    pub(crate) perf_paranoid: Option<i64>,
}

/// The result of resolving the target's name.
#[derive(Debug, Clone)]
pub(crate) struct Lookup {
    pub(crate) host: String,
    /// Addresses, or the error.
    pub(crate) found: Result<usize, String>,
    pub(crate) seconds: f64,
}
