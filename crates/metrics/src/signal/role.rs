//! What a signal means, whoever observed it.
//!
//! Observers write roles; rules read roles and never names. An observer of another database or runtime makes the rules speak
//! by giving its signals these roles. A role without a reader is only a label, and a reader without a writer is silent.

use serde::{Deserialize, Serialize};

/// The meaning of a signal. Each says what one reading is; a counter's reading is its growth per second.
///
/// Signals with a [`Signal::part`](crate::Signal::part) tell of one part of what is observed: a pool, a device, a queue.
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
    /// Cores without work while a process waits for a disk.
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
    /// … that it sent.
    NetworkSent,
    /// … that its link can carry, either way.
    NetworkSpeed,
    /// TCP segments sent again, per second.
    Retransmissions,
    /// Connection requests (SYN) sent again, per second.
    SynRetransmissions,

    // A process, or all processes that serve one port.
    /// Cores in use.
    ProcessCpu,
    /// Cores that it may use.
    ProcessCpuMax,
    /// Cores in use by its busiest thread.
    ProcessThreadCpuMax,
    /// Seconds per second that threads were ready to run and waited for a core.
    ProcessRunDelay,
    ProcessThreads,
    /// Resident memory in bytes.
    ProcessMemory,
    ProcessDescriptors,
    ProcessDescriptorsMax,

    // A control group.
    /// Share of the time in which the group was held back by its processor limit.
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
    /// Members that nobody uses.
    PoolIdle,
    /// Those who wait for a member.
    PoolWaiting,
    /// Members there are, used or not.
    PoolSize,
    /// Members there may be.
    PoolSizeMax,
    /// Seconds per second spent waiting for a member.
    PoolWaitTime,
    /// Seconds per second that members were in use.
    PoolUseTime,
    /// Members handed out per second.
    PoolAcquisitions,

    // A database's sessions, each in one state at a time.
    /// Sessions with a statement running or waiting.
    SessionsActive,
    /// Sessions with a transaction open and no statement.
    SessionsIdleInTransaction,
    /// Sessions there may be.
    SessionsMax,
    /// Active sessions that compute.
    SessionsOnCpu,
    /// Active sessions by what they wait for: for a lock on rows or tables. Label `wait` names the event, as do the following.
    SessionsWaitingForLock,
    /// … until a commit's log is on disk, in the binary log, or at a replica.
    SessionsWaitingForCommit,
    /// … for data to be read from disk.
    SessionsWaitingForRead,
    /// … for the client, a timer or work: not held up by the database.
    SessionsWaitingIdle,
    /// … for anything else inside the database.
    SessionsWaitingForOther,
    /// Active sessions by statement. Label `statement`.
    SessionsByStatement,
    /// Sessions that another session blocks.
    SessionsBlocked,
    /// The same by statement. Labels `statement` and `by`.
    SessionsBlockedBy,
    /// Statements or commands that clients sent per second, whatever they say, those of the observer included.
    Statements,
    /// Executions of a statement per second, as the database counts them. Label `statement`.
    StatementCalls,
    /// Seconds per second that they took. Label `statement`.
    StatementTime,
    /// Transactions committed per second.
    Commits,
    /// Of these, the observer's own.
    ObserverCommits,

    // A queue. Part: its name.
    /// Jobs or messages that wait.
    QueueLength,

    // A language runtime.
    /// Seconds that a task is late because the event loop is busy.
    EventLoopDelay,
    /// Share of the time in which the event loop had work.
    EventLoopBusy,
    /// Cores in use by the process of the event loop.
    EventLoopCpu,
    /// Work given to the runtime's own threads, waiting or served. Label `type`.
    RuntimeWork,
    /// How much of one type its threads do at a time. Label `type`.
    RuntimeWorkMax,
    /// Cores in use by function. Label `function` is what computes, `under` the system's own code that called it, innermost first.
    FunctionCpu,
    /// How many samples stand for a second of that: what its numbers can carry.
    FunctionSamples,
    /// Threads at work by what they do: compute. Labels, as with the following: `threads` is what they are called, `at` the call in which they are,
    /// `under` the system's own code that made it, innermost first.
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

    // What the system calls: a stub of the test file.
    /// Calls that arrived, per second.
    Calls,
    /// Calls in progress, mean over the second.
    CallsInFlight,
    /// Calls in progress, most at once.
    CallsInFlightMax,
    /// Mean time that a call took at the dependency. Seconds.
    CallHold,
    /// Calls answered as asked, per second.
    CallsAnswered,
    /// Calls turned away by a limit, per second.
    CallsRejected,
    /// Calls that met a fault, per second.
    CallsFaulted,
    /// Questions for a name at a name server of the test, per second. Label `name`.
    NameLookups,
    /// For how long an answer to a question for a name may be believed. Seconds. Label `name`.
    NameBelieved,
    /// Which of its addresses a name has, counted from 1. Label `name`.
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
        )
    }

    /// What its seconds per second are a number of, which may be more than one; `None` where they are a share of something.
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
