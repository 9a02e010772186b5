//! What a run shows about its system, computed once. Rules read these facts and report what follows from them.
//!
//! Read the table of [`Facts`] first: it lists every fact in the order in which they are computed, with the facts that each one uses. The file of a fact
//! holds its type and its computation.
//!
//! A constant states what it bounds. Constants without a source were chosen on the simulated systems of `tests/it` and on recorded runs, such as those in
//! `tests/corpus`. docs/findings.md ("How often they are right") lists how the rules do on systems that no constant was chosen on.
//!
//! To add a fact: its file, its `mod` line, and its entry in the table. Deliberately absent: sentences, which the rules word, and computations that only one
//! rule needs, which belong to that rule.

pub(crate) mod accept_queue;
pub(crate) mod acquiring;
mod added_requests;
pub(crate) mod bandwidth;
pub(crate) mod busiest_function;
pub(crate) mod busy_sessions;
pub(crate) mod busy_threads;
pub(crate) mod called;
pub(crate) mod calls_at_once;
pub(crate) mod changes;
mod changing_load;
pub(crate) mod commits;
pub(crate) mod connection_limit;
pub(crate) mod constant_connections;
pub(crate) mod constant_load;
mod core_queue;
pub(crate) mod cpu_growth;
pub(crate) mod demand;
pub(crate) mod dependency_path;
pub(crate) mod even_passage;
pub(crate) mod exhausted;
pub(crate) mod failed_calls;
pub(crate) mod failed_in_pauses;
pub(crate) mod failed_spans;
pub(crate) mod failure_message;
pub(crate) mod failures;
pub(crate) mod faulted_calls;
pub(crate) mod full_loop;
pub(crate) mod generator;
pub(crate) mod growing;
pub(crate) mod growing_level;
pub(crate) mod growing_memory;
pub(crate) mod growth;
pub(crate) mod hardly_answered;
pub(crate) mod held_sessions;
pub(crate) mod humps;
pub(crate) mod in_progress;
pub(crate) mod in_service;
pub(crate) mod interference;
pub(crate) mod interpreter_lock;
mod joint_response;
pub(crate) mod load_blocks;
pub(crate) mod load_response;
pub(crate) mod load_stretches;
pub(crate) mod next_limits;
pub(crate) mod outages;
pub(crate) mod outward_waits;
pub(crate) mod pace;
pub(crate) mod path;
pub(crate) mod plateau;
pub(crate) mod pools;
pub(crate) mod preparation;
pub(crate) mod process_cpu;
pub(crate) mod profiles;
pub(crate) mod queue_workers;
pub(crate) mod readings;
pub(crate) mod recurring_lock;
pub(crate) mod rejections;
pub(crate) mod repeated_statements;
pub(crate) mod retry_storm;
pub(crate) mod runtime_queues;
pub(crate) mod search;
pub(crate) mod session_waits;
pub(crate) mod sessions;
pub(crate) mod signal_moves;
pub(crate) mod signal_steps;
pub(crate) mod signals;
pub(crate) mod slow_connects;
pub(crate) mod slow_part;
mod span_changes;
pub(crate) mod span_services;
pub(crate) mod span_stretch;
pub(crate) mod spans;
pub(crate) mod stalls;
pub(crate) mod stated_rejection;
mod strain;
mod table;
pub(crate) mod thread_wait;
pub(crate) mod throughput;
pub(crate) mod time_place;
pub(crate) mod timeline;
pub(crate) mod unanswered;
pub(crate) mod unchanged_count;
pub(crate) mod unserved_connections;
pub(crate) mod waiting;

use loadstone_run_directory::Run;

use crate::advice_terms::AdviceTerms;
use crate::capacity::ThroughputCeiling;
use crate::load_source::LoadSource;
use crate::{RunTally, ThresholdResult, Validity};

table::fact_table! {
    /// Everything that rules read. The objectives are the results of the test's thresholds; none during a run.
    struct Facts<'a>;

    inputs {
        run: &'a Run;
        tally: &'a RunTally;
        validity: &'a Validity;
        objectives: &'a [ThresholdResult];
    }

    intermediate {
        timelines = timeline::of(run, tally);
        steady = load_stretches::find(run);
    }

    facts {
        /// How much of the measured times and failures the load generator itself may have caused.
        generator: generator::GeneratorFact<'a> = generator::GeneratorFact::of(run, validity);

        /// The system's own signals, by role.
        signals: signals::ObservedSignals<'a> = signals::ObservedSignals::of(&run.signals);

        /// The resources along the request path.
        path: path::Path<'a> = path::Path::of(&signals, run);

        /// How each request responds to the load.
        responses: Vec<load_response::LoadResponse> = load_response::LoadResponse::of(run, tally);

        /// Requests whose throughput stopped following the load.
        plateaus: plateau::Plateaus = plateau::Plateaus::of(&responses, run);

        /// Sessions that may each hold a place from their begin to their end.
        held_sessions: Option<held_sessions::HeldSessions> = held_sessions::find(run, &plateaus);

        /// A network link that was saturated.
        saturated_link: Option<bandwidth::SaturatedLink> = bandwidth::find(run, &responses, &plateaus);

        /// The highest throughput, where it stopped while work waited.
        ceiling: Option<ThroughputCeiling> = ThroughputCeiling::of(run);

        /// How long requests of a constant load took and waited.
        constant_load: Option<constant_load::ConstantLoad> = constant_load::find(run, tally);

        /// When work waited. Flows rank before requests, and within each the longest first.
        waiting: Vec<waiting::WaitingStretch> = waiting::find(run, tally);

        /// Requests that waited to connect.
        slow_connects: Option<slow_connects::SlowConnects> = slow_connects::find(run, &waiting);

        /// Endpoints that the system calls.
        called: Vec<called::CalledEndpoint<'a>> = called::find(&signals);

        /// The most calls that were ever in progress at once while work waited.
        call_ceiling: Option<calls_at_once::CallCeiling<'a>> = calls_at_once::find(&called, &waiting);

        /// What the database's sessions did while the calls were at their ceiling.
        sessions_at_ceiling: Option<sessions::DatabaseSessions<'a>> =
            call_ceiling.as_ref().and_then(|ceiling| sessions::between(&signals, ceiling.from, ceiling.to));

        /// Whether work was held up in any stretch.
        strain: strain::Strain = strain::Strain::of(run, &waiting, &plateaus)
            .with(
                // These are known without a time at low load.
                ceiling
                    .iter()
                    .map(|ceiling| (ceiling.from, ceiling.to))
                    .chain(constant_load.iter().filter(|load| load.queue().is_some()).map(|load| (load.from, load.to))),
            )
            .against(constant_load.as_ref().and_then(constant_load::ConstantLoad::alone_s));

        /// Few requests end while most of those that began remain in the system.
        hardly_answered: Option<hardly_answered::HardlyAnswered> = hardly_answered::find(run, tally, &strain);

        /// Retries that keep the system down after a spike of the load.
        retry_storm: Option<retry_storm::RetryStorm> = retry_storm::find(&strain);

        /// Queues whose workers are all busy while jobs wait.
        queue_workers: Option<queue_workers::BusyQueueWorkers<'a>> = queue_workers::find(&signals, &strain, &called);

        /// By how much times grew with the load, or over a constant load.
        growth: Option<growth::TimeGrowth> = growth::find(run, &strain, &[]);

        /// How many requests were in progress, and which limits that rules out.
        in_progress: Option<in_progress::InProgress> = in_progress::find(run, &strain);

        /// What changed over time while the load was constant, or beyond what the load explains.
        changes: changes::Changes = changes::find(run, &timelines, &steady).with(changing_load::find(run, &timelines, &steady));

        /// A path to a database or cache that became slower, and requests with it.
        dependency_path: Option<dependency_path::SlowerPath<'a>> =
            dependency_path::find((&signals, &path, run.plan.observers.as_slice()), &strain, &changes, &called);

        /// Resources that were used up while work was held up, the strongest evidence first.
        exhausted: Vec<exhausted::Exhausted<'a>> = exhausted::find(
            &search::Search { run, tally, signals: &signals, path: &path, strain: &strain },
            (&responses, &plateaus),
            &waiting,
            call_ceiling.as_ref(),
            &changes,
        );

        /// Pools whose members were all in use while requests waited for one. The pool with the most waiting requests ranks first.
        pools: Vec<pools::PoolShortage<'a>> = pools::find(&path, &signals, &strain);

        /// An event loop that had work all the time while work was held up.
        full_loop: Option<full_loop::FullLoop<'a>> = full_loop::find(&signals, &strain);
        full_interpreter: Option<interpreter_lock::FullInterpreter<'a>> = interpreter_lock::find(&signals, &strain);

        /// Work that queued for the few threads that a runtime has for it.
        runtime_queue: Option<runtime_queues::RuntimeQueue<'a>> = runtime_queues::find(&signals, &strain);

        /// Where most threads of a runtime waited while work was held up.
        thread_wait: Option<thread_wait::ThreadWait<'a>> = thread_wait::find(&signals, &strain);

        /// What most of a database's sessions did while work was held up.
        session_wait: Option<session_waits::SessionWait<'a>> = session_waits::find(
            &search::Search { run, tally, signals: &signals, path: &path, strain: &strain },
            (&waiting, &changes),
            &pools,
            (call_ceiling.as_ref(), &added_requests::find(&responses, &plateaus)),
        );

        /// Parts of the system that went away in mid-run.
        outages: Vec<outages::Outage<'a>> = outages::find(run, tally, &signals, &strain);

        /// Calls of the system that failed at the called side.
        faulted_calls: Vec<faulted_calls::FaultedCalls<'a>> = faulted_calls::find(&signals);

        /// When closed load completed fewer requests.
        throughput: Option<throughput::ThroughputDrop> = throughput::find(run, &steady);

        /// Database sessions whose number in use stops growing while requests wait.
        busy_sessions: Option<busy_sessions::BusySessions<'a>> = busy_sessions::find(&signals, &plateaus, &strain);

        /// Request threads that are all at work while more requests are in the system.
        busy_threads: Option<busy_threads::BusyThreads<'a>> = busy_threads::find(&signals, (&strain, &plateaus), &waiting);

        /// A process that was too busy to accept connections.
        accept_queue: Option<accept_queue::AcceptQueue<'a>> = accept_queue::find(&signals, &strain);

        /// Connections to a database whose number was constant while far more requests waited.
        constant_connections: Option<constant_connections::ConstantConnections<'a>> =
            constant_connections::find(
                (&signals, run.plan.observers.as_slice()),
                (&strain, &plateaus, constant_load.as_ref()),
                (&waiting, hardly_answered.as_ref()),
                accept_queue.as_ref(),
            );

        /// Pauses that recur.
        stalls: Option<stalls::Stalls> = stalls::find(run, &changes);

        /// The lock of a database behind pauses that recur.
        recurring_lock: Option<recurring_lock::RecurringLock<'a>> = recurring_lock::find(&signals, stalls.as_ref());

        /// Requests that only prepared the load.
        preparation: preparation::Preparation = preparation::Preparation::of(run);

        /// The place in which requests spend most of their time.
        time_place: Option<time_place::TimePlace<'a>> = time_place::find(run, &signals, &strain, &preparation);

        /// Requests of all names together that pass at an even rate while they wait.
        even_passage: Option<even_passage::EvenPassage> = even_passage::find(run, &strain, &preparation);

        /// A request that holds up others while it is under way.
        interference: Option<interference::Interference> = interference::find(run, &preparation);

        /// Seconds in which single requests took far longer than usual.
        slow_seconds: Option<stalls::SlowSeconds> = stalls::SlowSeconds::of(run, &preparation);

        /// The same growth of times without the few seconds in which single requests took far longer, so that a pause is no growth.
        usual_growth: Option<growth::TimeGrowth> =
            slow_seconds.as_ref().map_or(growth, |slow| growth::find(run, &strain, slow.rare()));

        /// Which span accounts for the growth of request times, where traces were observed. The largest growth ranks first.
        span_growths: Vec<spans::SpanGrowth<'a>> = spans::growths(run, &responses, &changes);

        /// What failed, how and when. The request with the most failures ranks first.
        failing: Vec<failures::Failing<'a>> = failures::find(run, tally);

        /// Requests that are rejected at once while those that pass have an even rate.
        rejections: Option<rejections::Rejections<'a>> = rejections::find(run, tally, &failing);

        /// Where failed requests fail inside the system, where traces were observed.
        failed_places: Vec<failed_spans::FailedPlace<'a>> = failed_spans::find(run, tally, &failing);

        /// Dependencies that left as many more calls unanswered as requests failed. The most calls of each request rank first.
        failed_calls: Vec<failed_calls::FailedCalls<'a>> = failed_calls::find(&called, &strain, &failing);

        /// Requests that fail more often in the pauses behind a lock.
        failed_in_pauses: Vec<failed_in_pauses::FailedInPauses> =
            failed_in_pauses::find(run, stalls.as_ref(), recurring_lock.as_ref(), &failing);

        /// A database that refuses connections while requests fail.
        connection_limit: Option<connection_limit::ConnectionLimit<'a>> = connection_limit::find(&signals, &strain, &failing);

        /// Requests that were no longer answered.
        unanswered: Vec<unanswered::Unanswered> = unanswered::find(run, tally);

        /// New connections on which no request was answered.
        unserved_connections: Option<unserved_connections::UnservedConnections> =
            unserved_connections::find(run, &unanswered);

        /// Transactions that a database committed under load.
        commits: Option<commits::Commits> = commits::under_load(run, &signals, &strain);

        /// CPU time of requests by function, for each runtime whose functions were sampled.
        profiles: Vec<profiles::FunctionProfile<'a>> = profiles::find(&signals, &strain);

        /// How much more CPU time a request needs while work is held up.
        cpu_growth: Option<cpu_growth::CpuGrowth<'a>> = cpu_growth::find(&profiles);

        /// Calls that requests make many times, one after another.
        repeated_calls: Vec<spans::RepeatedCall<'a>> = spans::repeated(run);

        /// Queues that grow under constant load, the longest first.
        growing: Vec<growing::GrowingBacklog<'a>> = growing::find(run, &signals, &waiting, &steady);

        /// Statements whose number follows the number of iterations.
        repeated_statements: Vec<repeated_statements::RepeatedStatement<'a>> = repeated_statements::find(run, tally);

        /// A share of all requests that takes longer by the same time.
        slow_part: Option<slow_part::SlowPart> = slow_part::find(run, tally);
    }
}

impl<'a> Facts<'a> {
    /// In which terms advice is worded.
    pub(crate) fn terms(&self) -> AdviceTerms {
        AdviceTerms::of(self.run)
    }

    /// What may have delayed the requests.
    pub(crate) fn load_source(&self) -> LoadSource {
        LoadSource::of(&self.run.plan)
    }

    /// Resources that were used up and may have held up the observed system.
    pub(crate) fn used_up(&self) -> impl Iterator<Item = &exhausted::Exhausted<'a>> {
        self.exhausted.iter().filter(|exhausted| exhausted.resource.is_wanted())
    }

    /// Whether anything shows that requests became slower or that work waited.
    pub(crate) fn slows_down(&self) -> bool {
        !self.waiting.is_empty()
            || !self.plateaus.limited.is_empty()
            || self.used_up().next().is_some()
            || self.responses.iter().any(|response| response.has_grown_with_load())
    }

    /// Whether what began at an instant began with the spike after which retries keep the system down.
    pub(crate) fn began_with_retry_storm(&self, at: f64) -> bool {
        self.retry_storm.as_ref().is_some_and(|storm| storm.explains(at))
    }

    /// Whether something more specific than busy workers explains why requests waited in a stretch.
    pub(crate) fn explain_waiting(&self, (from, to): (f64, f64)) -> bool {
        self.used_up().next().is_some()
            || !self.pools.is_empty()
            || self.session_wait.as_ref().is_some_and(|wait| wait.holds_up())
            || self.thread_wait.is_some()
            || self.runtime_queue.is_some()
            || self.call_ceiling.is_some()
            || self.busy_sessions.is_some()
            || self.saturated_link.is_some()
            || self.outages.iter().any(|outage| outage.from < to && from < outage.to)
    }
}
