//! What a run shows about its system, computed once. Rules read these facts and say what follows from them.
//!
//! Read [`Facts`] first: each of its fields is a file of this folder. [`Facts::of`] is the only place where they meet, and its order is the order
//! in which they depend on each other: a fact is given those above it and looks up no other.
//!
//! To add one: its file, its field, its line in [`Facts::of`]. Deliberately absent: sentences, which the rules word, and what only one rule asks of
//! the run, which stands in that rule.

pub(crate) mod acquiring;
mod added_requests;
pub(crate) mod bandwidth;
pub(crate) mod busiest_function;
pub(crate) mod busy_sessions;
pub(crate) mod called;
pub(crate) mod calls_at_once;
pub(crate) mod changes;
mod changing_load;
pub(crate) mod commits;
mod core_queue;
pub(crate) mod cpu_growth;
mod demand;
pub(crate) mod exhausted;
pub(crate) mod failures;
pub(crate) mod faulted_calls;
pub(crate) mod generator;
pub(crate) mod growing;
pub(crate) mod growing_level;
pub(crate) mod growing_memory;
pub(crate) mod humps;
mod joint_response;
pub(crate) mod load_blocks;
pub(crate) mod load_response;
pub(crate) mod load_stretches;
pub(crate) mod next_limits;
pub(crate) mod outages;
pub(crate) mod pace;
pub(crate) mod path;
pub(crate) mod plateau;
pub(crate) mod pools;
pub(crate) mod preparation;
pub(crate) mod process_cpu;
pub(crate) mod profiles;
pub(crate) mod readings;
pub(crate) mod repeated_statements;
pub(crate) mod runtime_queues;
pub(crate) mod search;
pub(crate) mod session_waits;
pub(crate) mod sessions;
pub(crate) mod signal_moves;
pub(crate) mod signals;
pub(crate) mod slow_connects;
pub(crate) mod slow_part;
pub(crate) mod spans;
pub(crate) mod stalls;
mod strain;
pub(crate) mod thread_wait;
pub(crate) mod throughput;
pub(crate) mod timeline;
pub(crate) mod unanswered;
pub(crate) mod waiting;

use loadstone_run_directory::Run;

use crate::{RunTally, Validity};
use bandwidth::FullWay;
use busy_sessions::BusySessions;
use called::CalledEndpoint;
use calls_at_once::CallCeiling;
use changes::Changes;
use commits::Commits;
use cpu_growth::CpuGrowth;
use exhausted::Exhausted;
use failures::Failing;
use faulted_calls::FaultedCalls;
use generator::GeneratorFact;
use growing::GrowingBacklog;
use load_response::LoadResponse;
use outages::Outage;
use path::Path;
use plateau::Plateaus;
use pools::PoolShortage;
use preparation::Preparation;
use profiles::FunctionProfile;
use repeated_statements::RepeatedStatement;
use runtime_queues::RuntimeQueue;
use search::Search;
use session_waits::SessionWait;
use sessions::DatabaseSessions;
use signals::ObservedSignals;
use slow_connects::SlowConnects;
use slow_part::SlowPart;
use spans::{RepeatedCall, SpanGrowth};
use stalls::{SlowSeconds, Stalls};
use strain::Strain;
use thread_wait::ThreadWait;
use throughput::ThroughputDrop;
use unanswered::Unanswered;
use waiting::WaitingStretch;

/// Everything that rules read.
pub(crate) struct Facts<'a> {
    pub(crate) run: &'a Run,
    pub(crate) tally: &'a RunTally,
    pub(crate) validity: &'a Validity,
    /// What the load generator can have done to what is read here.
    pub(crate) generator: GeneratorFact<'a>,
    /// The system's own signals, by role.
    pub(crate) signals: ObservedSignals<'a>,
    /// The resources that the load meets.
    pub(crate) path: Path<'a>,
    /// How each request responds to the load.
    pub(crate) responses: Vec<LoadResponse>,
    /// Requests whose throughput stopped following the load.
    pub(crate) plateaus: Plateaus,
    /// A way of the bytes that was full.
    pub(crate) full_way: Option<FullWay>,
    /// When work waited; the longest first, flows before requests.
    pub(crate) waiting: Vec<WaitingStretch>,
    /// Requests that waited for a connection of their own.
    pub(crate) slow_connects: Option<SlowConnects>,
    /// What the system calls.
    pub(crate) called: Vec<CalledEndpoint<'a>>,
    /// The most calls that ever went out at once while work waited.
    pub(crate) call_ceiling: Option<CallCeiling<'a>>,
    /// What the database's sessions did while the calls were at their ceiling.
    pub(crate) sessions_at_ceiling: Option<DatabaseSessions<'a>>,
    /// Whether work was held up in any stretch.
    pub(crate) strain: Strain,
    /// What changed in time while the load stayed the same.
    pub(crate) changes: Changes,
    /// What was used up while work was held up, the most telling first.
    pub(crate) exhausted: Vec<Exhausted<'a>>,
    /// What most of a database's sessions did while work was held up.
    pub(crate) session_wait: Option<SessionWait<'a>>,
    /// Sessions of a database of which no more are in use while requests wait.
    pub(crate) busy_sessions: Option<BusySessions<'a>>,
    /// Pools whose members were all in use while somebody waited for one; the most wanted first.
    pub(crate) pools: Vec<PoolShortage<'a>>,
    /// Work that queued for the few threads that a runtime has for it.
    pub(crate) runtime_queue: Option<RuntimeQueue<'a>>,
    pub(crate) thread_wait: Option<ThreadWait<'a>>,
    /// Calls of the system that failed at the called side.
    pub(crate) faulted_calls: Vec<FaultedCalls<'a>>,
    /// When closed load got less done.
    pub(crate) throughput: Option<ThroughputDrop>,
    /// Pauses that come back.
    pub(crate) stalls: Option<Stalls>,
    /// Requests that only prepared the load.
    pub(crate) preparation: Preparation,
    /// Seconds in which single requests took far longer than usual.
    pub(crate) slow_seconds: Option<SlowSeconds>,
    /// What failed, how and when; most failures first.
    pub(crate) failing: Vec<Failing<'a>>,
    /// Requests that were no longer answered.
    pub(crate) unanswered: Vec<Unanswered>,
    /// Transactions of a database under load.
    pub(crate) commits: Option<Commits>,
    /// What went away in mid-run.
    pub(crate) outages: Vec<Outage<'a>>,
    /// Which span carries what requests take longer, where their traces were observed; the largest growth first.
    pub(crate) span_growths: Vec<SpanGrowth<'a>>,
    /// CPU time of requests by function, of each runtime whose functions were sampled.
    pub(crate) profiles: Vec<FunctionProfile<'a>>,
    /// What a request takes more of a runtime's CPU while work is held up.
    pub(crate) cpu_growth: Option<CpuGrowth<'a>>,
    /// Calls that requests make many times, one after another.
    pub(crate) repeated_calls: Vec<RepeatedCall<'a>>,
    /// Statements that come as iterations do.
    pub(crate) repeated_statements: Vec<RepeatedStatement<'a>>,
    /// A part of all requests that takes longer by the same time.
    pub(crate) slow_part: Option<SlowPart>,
    /// What fills up at the same load; the longest first.
    pub(crate) growing: Vec<GrowingBacklog<'a>>,
}

impl<'a> Facts<'a> {
    pub(crate) fn of(run: &'a Run, tally: &'a RunTally, validity: &'a Validity) -> Self {
        let generator = GeneratorFact::of(run, validity);
        let signals = ObservedSignals::of(&run.signals);
        let path = Path::of(&signals, run);
        let responses = LoadResponse::of(run, tally);
        let plateaus = Plateaus::of(&responses, run);
        let full_way = bandwidth::find(run, &responses, &plateaus);
        let waiting = waiting::find(run, tally);
        let slow_connects = slow_connects::find(run, &waiting);
        let called = called::find(&signals);
        let call_ceiling = calls_at_once::find(&called, &waiting);
        let sessions_at_ceiling = call_ceiling.as_ref().and_then(|ceiling| sessions::between(&signals, ceiling.from, ceiling.to));
        let strain = Strain::of(run, &waiting, &plateaus);
        let (timelines, steady) = (timeline::of(run, tally), load_stretches::find(run));
        let changes = changes::find(run, &timelines, &steady).with(changing_load::find(run, &timelines, &steady));
        let search = Search { run, tally, signals: &signals, path: &path, strain: &strain };
        let exhausted = exhausted::find(&search, (&responses, &plateaus), &waiting, call_ceiling.as_ref(), &changes);
        let pools = pools::find(&path, &signals, &strain);
        let (runtime_queue, thread_wait) = (runtime_queues::find(&signals, &strain), thread_wait::find(&signals, &strain));
        let added = added_requests::find(&responses, &plateaus);
        let session_wait = session_waits::find(&search, &waiting, &pools, (call_ceiling.as_ref(), &added));
        let outages = outages::find(run, tally, &signals, &strain);
        let (faulted_calls, throughput) = (faulted_calls::find(&signals), throughput::find(run, &steady));
        let busy_sessions = busy_sessions::find(&signals, &plateaus, &strain);
        let (stalls, preparation) = (stalls::find(run), Preparation::of(run));
        let (slow_seconds, span_growths) = (SlowSeconds::of(run, &preparation), spans::growths(run, &responses, &changes));
        let (failing, unanswered) = (failures::find(run, tally), unanswered::find(tally));
        let (commits, profiles) = (commits::under_load(run, &signals, &strain), profiles::find(&signals, &strain));
        let (cpu_growth, repeated_calls) = (cpu_growth::find(&profiles), spans::repeated(run));
        let growing = growing::find(run, &signals, &waiting, &steady);
        let (repeated_statements, slow_part) = (repeated_statements::find(run, tally), slow_part::find(run, tally));
        Self {
            run,
            tally,
            validity,
            generator,
            signals,
            path,
            responses,
            plateaus,
            full_way,
            waiting,
            slow_connects,
            called,
            call_ceiling,
            sessions_at_ceiling,
            strain,
            changes,
            exhausted,
            session_wait,
            busy_sessions,
            pools,
            runtime_queue,
            thread_wait,
            faulted_calls,
            throughput,
            stalls,
            preparation,
            slow_seconds,
            failing,
            unanswered,
            commits,
            outages,
            span_growths,
            profiles,
            cpu_growth,
            repeated_calls,
            repeated_statements,
            slow_part,
            growing,
        }
    }

    /// What was used up where the observed system can have been held up by it.
    pub(crate) fn used_up(&self) -> impl Iterator<Item = &Exhausted<'a>> {
        self.exhausted.iter().filter(|exhausted| exhausted.resource.is_wanted())
    }
}
