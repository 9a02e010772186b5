//! The meaning of a signal, independent of its observer.
//!
//! Observers write roles; rules read roles and never names. To apply the rules to another database or runtime, its observer gives its signals these
//! roles. A role without a reader is only a label. A rule whose roles no observer writes never applies.

use serde::{Deserialize, Serialize};

/// The meaning of a signal. Each variant describes one reading; a counter's reading is its growth per second.
///
/// Signals with a [`Signal::part`](crate::Signal::part) describe one part of the observed system: a pool, a device, a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    // The machine.
    /// Cores that the machine has.
    MachineCores,
    /// Cores in use in one mode, such as `user`.
    MachineCpu,
    /// Cores without work.
    MachineIdle,
    /// Cores that are idle while a process waits for a disk.
    MachineIoWait,
    /// Cores' worth of time taken by the hypervisor.
    MachineSteal,
    /// Threads that run or wait for a core.
    MachineRunQueue,
    /// Share of the time in which a disk had a request. Part: the device.
    DiskBusy,
    /// Requests at a disk, waiting or served. Part: the device.
    DiskQueue,
    /// Bytes per second that a network device received. Part: the device.
    NetworkReceived,
    /// … that the device sent.
    NetworkSent,
    /// … that its link can carry in either direction.
    NetworkSpeed,
    /// TCP segments retransmitted per second.
    Retransmissions,
    /// Connection requests (SYN) retransmitted per second.
    SynRetransmissions,
    /// Connections refused per second because the accept queue of a listening socket was full.
    ListenOverflows,

    // A process, or all processes that serve one port.
    /// Cores in use.
    ProcessCpu,
    /// Cores that it may use.
    ProcessCpuMax,
    /// Cores in use by its busiest thread.
    ProcessThreadCpuMax,
    /// Seconds per second that threads were ready to run but waited for a core.
    ProcessRunDelay,
    ProcessThreads,
    /// Processes that were observed together: a server and its workers.
    ProcessCount,
    /// Cores in use by the busiest thread, with its name. Label `thread`.
    ProcessBusiestThread,
    /// Seconds per second that the busiest thread was ready to run but waited for a core.
    ProcessBusiestThreadWait,
    /// Connections that wait to be accepted.
    AcceptQueue,
    /// Established TCP connections.
    ProcessConnections,
    /// Calls to another endpoint that it has not answered yet, mean; some are not seen. Part: the address of the endpoint.
    CallsAwaited,
    /// Local ports in use for connections to another endpoint, closed ones that still hold their port included. Part: the address of the endpoint.
    PortsInUse,
    /// Local ports that connections to it may use.
    PortsMax,
    /// Resident memory in bytes.
    ProcessMemory,
    ProcessDescriptors,
    ProcessDescriptorsMax,

    // A control group.
    /// Share of the time in which its CPU limit throttled the group.
    GroupThrottled,
    /// Cores in use.
    GroupCpu,
    /// Cores that it may use.
    GroupCpuMax,
    /// Bytes in use.
    GroupMemory,
    /// Bytes that it may use.
    GroupMemoryMax,

    // A pool whose members are handed out to one user at a time. Part: the pool. `Signal::members` states what they are: connections, threads.
    PoolInUse,
    /// Idle members.
    PoolIdle,
    /// Requests that wait for a member.
    PoolWaiting,
    /// Existing members, used or not.
    PoolSize,
    /// Maximum number of members.
    PoolSizeMax,
    /// Seconds per second spent waiting for a member.
    PoolWaitTime,
    /// Seconds per second that members were in use.
    PoolUseTime,
    /// Members acquired per second.
    PoolAcquisitions,
    /// Requests per second that had to wait for a member. Some exporters declare the total as a gauge.
    PoolWaits,

    // A database's sessions. Each session is in one state at a time.
    /// Sessions with a statement that runs or waits.
    SessionsActive,
    /// Sessions with an open transaction and no statement.
    SessionsIdleInTransaction,
    /// Maximum number of sessions.
    SessionsMax,
    /// Open connections of clients, in any state.
    ConnectionsOpen,
    /// Connections that the database refused because of that maximum.
    ConnectionsRefused,
    /// Attempts to connect to the database that failed, for any reason.
    ConnectionsFailed,
    /// Connections of a role or to a database that may have only a certain number, which the part names.
    LimitedConnections,
    /// That number.
    LimitedConnectionsMax,
    /// Active sessions that use the CPU.
    SessionsOnCpu,
    /// Active sessions by wait event: waiting for a lock on rows or tables. Label `wait` names the event, also for the following roles.
    SessionsWaitingForLock,
    /// … until a commit's log is written to disk, to the binary log, or to a replica.
    SessionsWaitingForCommit,
    /// … for data to be read from disk.
    SessionsWaitingForRead,
    /// … for the client, a timer or work. The database is not the cause of the wait.
    SessionsWaitingIdle,
    /// … for anything else inside the database.
    SessionsWaitingForOther,
    /// Active sessions by statement. Label `statement`.
    SessionsByStatement,
    /// Sessions that another session blocks.
    SessionsBlocked,
    /// Blocked sessions by statement. Labels `statement` and `by`.
    SessionsBlockedBy,
    /// Statements or commands per second that clients sent, of any kind, including those of the observer.
    Statements,
    /// Executions of a statement per second, as the database counts them. Label `statement`.
    StatementCalls,
    /// Seconds per second that these executions took. Label `statement`.
    StatementTime,
    /// Transactions committed per second.
    Commits,
    /// The observer's own share of these.
    ObserverCommits,

    // A queue. Part: its name.
    /// Jobs or messages that wait.
    QueueLength,
    /// Those that workers have taken and not finished. Without a part: from all queues of the observer.
    QueueTaken,
    /// Workers that take jobs from the queues of the observer.
    QueueWorkers,

    // A language runtime.
    /// Delay of a task in seconds because the event loop is busy.
    EventLoopDelay,
    /// Share of the time in which the event loop had work.
    EventLoopBusy,
    /// Cores in use by the process of the event loop.
    EventLoopCpu,
    /// Share of the processes at work in which a thread has the lock of the interpreter: the only one that executes code of its language.
    InterpreterLock,
    /// Work for the runtime's own threads, waiting or running. Label `type`.
    RuntimeWork,
    /// How much work of one type the threads do at a time. Label `type`.
    RuntimeWorkMax,
    /// Cores in use by function. Label `function` is the function that computes. Label `under` is the system's own code that called it, innermost
    /// first.
    FunctionCpu,
    /// Samples per second of that CPU time, which limit the precision of its numbers.
    FunctionSamples,
    /// Active threads by what they do: computing. Labels, also for the following roles: `threads` is their name, `at` the current call, `under` the
    /// system's own code that called it, innermost first.
    ThreadsOnCpu,
    /// … wait for a lock of the process.
    ThreadsWaitingForLock,
    /// … for a member of a pool, or a permit.
    ThreadsWaitingForMember,
    /// … for the network, a disk or another process.
    ThreadsWaitingForIo,
    /// … for time to pass.
    ThreadsWaitingForTimer,
    /// … for anything else: a condition, a channel, another thread.
    ThreadsWaitingForOther,
    /// Share of the time spent collecting garbage.
    GarbageCollection,
    /// Heap in use after a collection, in bytes.
    HeapUsed,
    HeapMax,

    /// Time of one question of the observer and its answer, over its own connection. Seconds.
    RoundTrip,

    // Dependencies that the system calls: a stub of the test file.
    /// Calls that arrived, per second.
    Calls,
    /// Calls in progress, mean over the second.
    CallsInFlight,
    /// The most calls in progress at one time.
    CallsInFlightMax,
    /// Mean duration of a call at the dependency. Seconds.
    CallHold,
    /// Calls per second that the dependency answered normally.
    CallsAnswered,
    /// Calls per second that a limit rejected.
    CallsRejected,
    /// Calls per second that met an injected fault.
    CallsFaulted,
    /// Queries for a name at a name server of the test, per second. Label `name`.
    NameLookups,
    /// The time to live of the answer to a query for a name. Seconds. Label `name`.
    NameBelieved,
    /// The current address of a name, as an index from 1. Label `name`.
    NameAddress,
}

impl Role {
    /// Whether it describes a pool, so that [`Signal::members`](crate::Signal::members) belongs to it.
    pub fn is_of_pool(self) -> bool {
        matches!(
            self,
            Role::PoolInUse
                | Role::PoolIdle
                | Role::PoolWaiting
                | Role::PoolSize
                | Role::PoolSizeMax
                | Role::PoolWaitTime
                | Role::PoolUseTime
                | Role::PoolAcquisitions
                | Role::PoolWaits
        )
    }

    /// The unit of its seconds per second, which may exceed one. `None` if they are a share of something.
    pub(crate) fn counted_in(self) -> Option<&'static str> {
        match self {
            Role::ProcessCpu
            | Role::EventLoopCpu
            | Role::GroupCpu
            | Role::MachineCpu
            | Role::MachineIdle
            | Role::MachineIoWait
            | Role::MachineSteal => Some("cores"),
            Role::ProcessRunDelay | Role::PoolWaitTime | Role::PoolUseTime | Role::DiskQueue => Some("1"),
            _ => None,
        }
    }
}
