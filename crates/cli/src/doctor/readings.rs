//! What is read of the machine. Plain data, so that the checks can be tried with any machine.

/// `None` wherever it could not be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct MachineReadings {
    /// Files that this process may open once it has raised its limit as far as it goes.
    pub(crate) descriptors: u64,
    /// First and last port that the kernel gives out.
    pub(crate) ports: Option<(u16, u16)>,
    /// `net.ipv4.tcp_tw_reuse`: 1 everywhere, 2 on loopback, 0 never.
    pub(crate) port_reuse: Option<u8>,
    /// Entries of connection tracking: now, and at most.
    pub(crate) tracked: Option<(u64, u64)>,
    /// Cores that the machine has online, and that this process may use.
    pub(crate) cores: (u32, u32),
    /// Whether the limits of the control group could be read.
    pub(crate) reads_limits: bool,
    /// Of the control group. Cores. `None`: no limit, if the limits could be read.
    pub(crate) cpu_limit: Option<f64>,
    /// Bytes that processes can still have, by the kernel's estimate.
    pub(crate) memory: Option<u64>,
    /// What the control group has left. Bytes.
    pub(crate) memory_limit: Option<u64>,
    pub(crate) clock_source: Option<String>,
    /// Of all cores, each once.
    pub(crate) governors: Vec<String>,
    /// Shares of the machine's time over a moment: taken by the hypervisor, used by others.
    pub(crate) stolen: Option<f64>,
    pub(crate) busy: Option<f64>,
    pub(crate) name_servers: Vec<String>,
    pub(crate) lookup: Option<Lookup>,
    /// The folder of run directories, and the bytes free there.
    pub(crate) disk: Option<(String, u64)>,
    /// May read what `/proc` tells of other users' processes: root, or CAP_SYS_PTRACE.
    pub(crate) reads_others: Option<bool>,
    /// `kernel.perf_event_paranoid`.
    pub(crate) perf_paranoid: Option<i64>,
}

/// How the target's name was looked up.
#[derive(Debug, Clone)]
pub(crate) struct Lookup {
    pub(crate) host: String,
    /// Addresses, or why there are none.
    pub(crate) found: Result<usize, String>,
    pub(crate) seconds: f64,
}
