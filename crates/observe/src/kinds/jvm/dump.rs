//! A JVM's threads as `Thread.print` writes them: which threads wait, for what and where, and which compute.
//!
//! Cores in use by function are the mean number of threads that compute in it at the instant of a dump. The threads' CPU times, which dumps contain since
//! JDK 11, show which of the runnable threads did run.

use loadstone_metrics::function_labels::RUNTIME_THREAD;

use crate::stacks::functions::FunctionSamples;
use crate::stacks::position::{Frame, Position};
use crate::stacks::threads::{Doing, ThreadSamples, family};

use super::packages::{own_frames, plain};
use super::thread_times::{ThreadTimes, ThreadUse};

/// Where native code waits for the network, a disk or another process.
const IO: &[&str] = &[
    "sun.nio.ch.",
    "sun.nio.fs.",
    "java.net.Socket",
    "java.net.PlainSocket",
    "java.net.Inet",
    "java.net.ServerSocket",
    "java.io.FileInputStream",
    "java.io.FileOutputStream",
    "java.io.RandomAccessFile",
    "java.io.FileDescriptor",
    "java.lang.ProcessImpl",
    "io.netty.channel.epoll.Native",
];
/// Class and method names of library calls that take a member from a pool.
const POOLS: &[&str] = &["pool", "datasource", "semaphore", "connectionmanager", "bulkhead"];
const HANDS_OUT: &[&str] = &["getconnection", "borrow", "acquire", "lease", "checkout", "take", "get"];

/// Less CPU time than this between two dumps counts as none. Seconds.
const USED_MIN: f64 = 50e-6;

/// One thread of a dump.
#[derive(Debug, Default)]
struct DumpedThread<'a> {
    name: &'a str,
    /// Such as `WAITING (parking)`; empty for threads of the JVM itself.
    state: &'a str,
    /// Class of what it is parked for.
    parked_for: &'a str,
    /// Functions with their package, innermost first.
    frames: Vec<&'a str>,
    /// The text after its name: `#23 daemon prio=5 cpu=12.30ms tid=0x00007f`.
    facts: &'a str,
    /// Since the previous dump; unknown for a thread that was not in it.
    used: Option<ThreadUse>,
}

/// What dumps are added to.
#[derive(Debug)]
pub(super) struct JavaSamples {
    pub(super) threads: ThreadSamples,
    pub(super) functions: FunctionSamples,
    pub(super) times: ThreadTimes,
}

/// Adds one sample, taken at an instant in nanoseconds.
pub(super) fn add_to(samples: &mut JavaSamples, dump: &str, now_ns: u64) {
    samples.threads.begin_sample();
    samples.times.begin(now_ns);
    let mut thread = DumpedThread::default();
    for line in dump.lines() {
        if let Some(rest) = line.strip_prefix('"') {
            std::mem::take(&mut thread).add_to(samples);
            // A name may contain quotes, but the text after it does not.
            let (name, facts) = rest.rsplit_once("\" ").unwrap_or((rest, ""));
            (thread.name, thread.facts) = (name, facts);
            thread.used = samples.times.used(facts);
            continue;
        }
        let line = line.trim_start();
        if let Some(state) = line.strip_prefix("java.lang.Thread.State: ") {
            thread.state = state;
        } else if let Some(frame) = line.strip_prefix("at ") {
            thread.frames.push(frame.split('(').next().unwrap_or(frame));
        } else if line.starts_with("- parking to wait for") && thread.parked_for.is_empty() {
            thread.parked_for = line.rsplit_once("(a ").map_or("", |(_, class)| class.trim_end_matches(')'));
        }
    }
    thread.add_to(samples);
    samples.times.end(&mut samples.functions);
}

impl DumpedThread<'_> {
    fn add_to(self, samples: &mut JavaSamples) {
        // Threads of the JVM itself: compilers and collectors have no stack, and their name identifies their work.
        if self.state.is_empty() {
            let function = || Position { at: format!("{RUNTIME_THREAD}{})", family(self.name)), under: String::new() };
            self.used.filter(|of| of.used > 0.0).into_iter().for_each(|of| samples.functions.add(function(), of.used));
            return;
        }
        if self.frames.is_empty() {
            return;
        }
        let own = own_frames(&self.frames);
        let doing = self.doing(&own.are_own);
        let is_background = own.may_be_background && matches!(doing, Doing::Other | Doing::Timer);
        let frame = |(frame, is_own): (&&str, &bool)| Frame { function: short(frame), is_own: *is_own && !is_background };
        let stack: Vec<Frame> = self.frames.iter().zip(&own.are_own).map(frame).collect();
        samples.times.add(self.facts, self.used, (doing == Doing::Computes).then(|| Position::computing(&stack)));
        samples.threads.add(doing, self.name, &stack, 1.0);
    }

    /// `own`: for each frame, whether it is the system's own code.
    fn doing(&self, own: &[bool]) -> Doing {
        let word = self.state.split_whitespace().next().unwrap_or_default();
        let is_io = self.frames[0].rsplit_once('.').is_some() && IO.iter().any(|start| self.frames[0].starts_with(start));
        // The library's part of the stack, called by the system's own code.
        let library = || self.frames.iter().zip(own).take_while(|(_, is_own)| !**is_own).map(|(frame, _)| frame);
        match word {
            "BLOCKED" => Doing::Lock,
            "RUNNABLE" if is_io => Doing::Io,
            // In native code that waits: it has used no CPU time since the previous dump.
            "RUNNABLE" if self.used.is_some_and(|of| of.used < USED_MIN) => Doing::Other,
            "RUNNABLE" => Doing::Computes,
            _ if self.state.contains("sleeping") => Doing::Timer,
            _ if self.parked_for.contains("ReentrantLock") || self.parked_for.contains("ReentrantReadWriteLock") => Doing::Lock,
            _ if self.parked_for.contains("Semaphore") || library().any(|frame| hands_out(frame)) => Doing::Member,
            _ => Doing::Other,
        }
    }
}

fn hands_out(frame: &str) -> bool {
    let lower = frame.to_ascii_lowercase();
    let Some((class, method)) = lower.rsplit_once('.') else { return false };
    let class = class.rsplit('.').next().unwrap_or(class);
    // A thread pool distributes work, not members.
    !class.contains("thread")
        && !class.contains("fork")
        && POOLS.iter().any(|pool| class.contains(pool))
        && HANDS_OUT.iter().any(|call| method.starts_with(call))
}

/// `HikariPool.getConnection` of `com.zaxxer.hikari.pool.HikariPool.getConnection`.
fn short(frame: &str) -> String {
    let plain = plain(frame);
    let mut parts = plain.rsplit('.');
    let (method, class) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if class.is_empty() { method.to_owned() } else { format!("{class}.{method}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collector::SignalCollector;

    const SECOND: u64 = 1_000_000_000;

    fn samples() -> JavaSamples {
        JavaSamples { threads: ThreadSamples::of("threads"), functions: FunctionSamples::default(), times: ThreadTimes::default() }
    }

    const DUMP: &str = r#"2026-11-22 21:00:00
Full thread dump OpenJDK 64-Bit Server VM (17.0.13+11 mixed mode, sharing):

"http-exec-1" #23 [77] prio=5 os_prio=0 cpu=12.30ms elapsed=1.20s tid=0x00007f nid=0x5 waiting on condition  [0x00007f]
   java.lang.Thread.State: TIMED_WAITING (parking)
	at jdk.internal.misc.Unsafe.park(java.base@17.0.13/Native Method)
	- parking to wait for  <0x000000071a> (a java.util.concurrent.SynchronousQueue$TransferStack)
	at java.util.concurrent.locks.LockSupport.parkNanos(java.base@17.0.13/LockSupport.java:252)
	at com.zaxxer.hikari.util.ConcurrentBag.borrow(ConcurrentBag.java:151)
	at com.zaxxer.hikari.pool.HikariPool.getConnection(HikariPool.java:180)
	at com.zaxxer.hikari.HikariDataSource.getConnection(HikariDataSource.java:100)
	at shop.PaymentDao.insert(PaymentDao.java:12)
	at shop.Shop.buy(Shop.java:40)
	at shop.Shop$$Lambda$14/0x0000.handle(Unknown Source)
	at jdk.httpserver/com.sun.net.httpserver.Filter$Chain.doFilter(Filter.java:95)

"http-exec-2" #24 prio=5 os_prio=0 cpu=1ms elapsed=1s tid=0x1 nid=0x6 runnable  [0x00007f]
   java.lang.Thread.State: RUNNABLE
	at sun.nio.ch.SocketDispatcher.read0(java.base@17.0.13/Native Method)
	at org.postgresql.core.PGStream.receiveChar(PGStream.java:1)
	at org.postgresql.jdbc.PgPreparedStatement.executeUpdate(PgPreparedStatement.java:1)
	at shop.PaymentDao.insert(PaymentDao.java:15)

"http-exec-3" #25 prio=5 os_prio=0 cpu=1ms elapsed=1s tid=0x1 nid=0x6 waiting for monitor entry  [0x00007f]
   java.lang.Thread.State: BLOCKED (on object monitor)
	at shop.Stock.take(Stock.java:9)
	- waiting to lock <0x000000071b> (a shop.Stock)
	at shop.Shop.buy(Shop.java:1)

"http-exec-4" #26 prio=5 os_prio=0 cpu=1ms elapsed=1s tid=0x1 nid=0x6 waiting on condition  [0x00007f]
   java.lang.Thread.State: WAITING (parking)
	at jdk.internal.misc.Unsafe.park(java.base@17.0.13/Native Method)
	- parking to wait for  <0x000000071a> (a java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject)
	at java.util.concurrent.LinkedBlockingQueue.take(java.base@17.0.13/LinkedBlockingQueue.java:1)
	at java.util.concurrent.ThreadPoolExecutor.getTask(java.base@17.0.13/ThreadPoolExecutor.java:1)
	at java.lang.Thread.run(java.base@17.0.13/Thread.java:840)

"http-exec-5" #27 prio=5 os_prio=0 cpu=1ms elapsed=1s tid=0x1 nid=0x6 waiting on condition  [0x00007f]
   java.lang.Thread.State: WAITING (parking)
	at jdk.internal.misc.Unsafe.park(java.base@17.0.13/Native Method)
	- parking to wait for  <0x000000071a> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)
	at java.util.concurrent.locks.ReentrantLock.lock(java.base@17.0.13/ReentrantLock.java:1)
	at shop.Shop.buy(Shop.java:1)

"VM Thread" os_prio=0 cpu=20.00ms elapsed=9.0s tid=0x00007f nid=0x9 runnable

JNI global refs: 10, weak refs: 0
"#;

    /// A broker's thread that waits for its database, and one that waits for the next message.
    #[test]
    fn a_products_threads_count_while_they_wait_for_something_but_work() {
        let dump = r#"
"writer" #23 prio=5 cpu=1ms elapsed=1s tid=0x1 nid=0x6 runnable  [0x00007f]
   java.lang.Thread.State: RUNNABLE
	at sun.nio.ch.Net.poll(java.base@17.0.13/Native Method)
	at org.postgresql.jdbc.PgStatement.executeBatch(PgStatement.java:1)
	at org.apache.activemq.artemis.jdbc.store.journal.JDBCJournalImpl.performSync(JDBCJournalImpl.java:1)

"reaper" #24 prio=5 cpu=1ms elapsed=1s tid=0x2 nid=0x7 in Object.wait()  [0x00007f]
   java.lang.Thread.State: TIMED_WAITING (on object monitor)
	at java.lang.Object.wait(java.base@17.0.13/Native Method)
	at org.apache.activemq.artemis.core.server.impl.ReaperImpl.run(ReaperImpl.java:1)
"#;
        let mut samples = samples();
        add_to(&mut samples, dump, SECOND);
        let mut out = SignalCollector::new("jvm");
        samples.threads.report(&mut out);
        let reported: Vec<String> = out.finish(0).into_iter().map(|(signal, point)| format!("{} = {}", signal.name, point.value)).collect();
        let writer = "jvm/threads{wait=io,threads=writer,at=PgStatement.executeBatch,under=JDBCJournalImpl.performSync} = 1";
        assert_eq!(reported, [writer, "jvm/samples = 1"]);
    }

    #[test]
    fn threads_are_grouped_by_what_the_systems_own_code_waits_for() {
        let mut samples = samples();
        add_to(&mut samples, DUMP, SECOND);
        let mut out = SignalCollector::new("jvm");
        samples.threads.report(&mut out);
        let reported: Vec<String> = out.finish(0).into_iter().map(|(signal, point)| format!("{} = {}", signal.name, point.value)).collect();
        let wanted = [
            "jvm/threads{wait=lock,threads=http-exec,at=ReentrantLock.lock,under=Shop.buy} = 1",
            "jvm/threads{wait=lock,threads=http-exec,at=Stock.take,under=Shop.buy} = 1",
            "jvm/threads{wait=pool,threads=http-exec,at=HikariDataSource.getConnection,under=PaymentDao.insert ← Shop.buy} = 1",
            "jvm/threads{wait=io,threads=http-exec,at=PgPreparedStatement.executeUpdate,under=PaymentDao.insert} = 1",
            "jvm/samples = 1",
        ];
        assert_eq!(reported, wanted);
    }

    /// A thread that computes, one that waits in native code, and a compiler, after so many milliseconds of CPU time each.
    fn computing(cpu: [f64; 3]) -> String {
        let [computes, waits, compiler] = cpu;
        format!(
            r#"
"exec-1" #23 daemon prio=5 os_prio=0 cpu={computes:.2}ms elapsed=9.00s tid=0x1 nid=0x5 runnable  [0x00007f]
   java.lang.Thread.State: RUNNABLE
	at java.security.MessageDigest.digest(java.base@17.0.13/MessageDigest.java:252)
	at shop.Risk.fingerprint(Risk.java:12)
	at shop.Shop.buy(Shop.java:40)

"exec-2" #24 daemon prio=5 os_prio=0 cpu={waits:.2}ms elapsed=9.00s tid=0x2 nid=0x6 runnable  [0x00007f]
   java.lang.Thread.State: RUNNABLE
	at vendor.Device.wait0(Native Method)
	at shop.Shop.print(Shop.java:40)

"C2 CompilerThread0" #9 daemon prio=9 os_prio=0 cpu={compiler:.2}ms elapsed=9.00s tid=0x3 nid=0x7 waiting on condition  [0x0]
"#
        )
    }

    fn cores_by_function(mut samples: JavaSamples) -> Vec<String> {
        let mut out = SignalCollector::new("jvm");
        samples.functions.report(&mut out);
        out.finish(0).into_iter().map(|(signal, point)| format!("{} = {:.3}", signal.name, point.value)).collect()
    }

    #[test]
    fn cores_in_use_by_function_are_the_threads_that_compute_there() {
        let mut samples = samples();
        add_to(&mut samples, &computing([100.0, 5.0, 10.0]), SECOND);
        for second in 2..=5_u32 {
            let used = f64::from(second - 1);
            add_to(&mut samples, &computing([100.0 + 1000.0 * used, 5.0, 10.0 + 250.0 * used]), u64::from(second) * SECOND);
        }
        let wanted = [
            "jvm/function_cpu{function=(thread C2 CompilerThread)} = 0.250",
            "jvm/function_cpu{function=MessageDigest.digest,under=Risk.fingerprint ← Shop.buy} = 1.000",
        ];
        assert_eq!(cores_by_function(samples), wanted);
    }

    /// A thread that could compute, after so many milliseconds of CPU time.
    fn scoring(number: u32, cpu: f64) -> String {
        format!(
            "\"exec-{number}\" #2 prio=5 os_prio=0 cpu={cpu:.2}ms elapsed=9.00s tid=0x{number} nid=0x5 runnable  [0x7f]\n   \
             java.lang.Thread.State: RUNNABLE\n\tat shop.Risk.score(Risk.java:12)\n\n"
        )
    }

    /// Of dumps once a second.
    fn cores_of_dumps(seconds: u32, dump: impl Fn(u32) -> String) -> Vec<String> {
        let mut samples = samples();
        (1..=seconds).for_each(|second| add_to(&mut samples, &dump(second), u64::from(second) * SECOND));
        cores_by_function(samples)
    }

    /// Four threads on one core: each computes for a quarter of the time.
    #[test]
    fn threads_that_wait_for_a_core_do_not_use_one() {
        let reported = cores_of_dumps(60, |second| (1..=4).map(|number| scoring(number, 250.0 * f64::from(second))).collect());
        assert_eq!(reported, ["jvm/function_cpu{function=Risk.score} = 1.000"]);
    }

    /// Each dump shows a new request on a new thread, while twenty earlier threads still wait for the only core.
    #[test]
    fn threads_that_have_just_begun_to_wait_for_a_core_do_not_use_one() {
        let used = |number: u32, second: u32| if number < 20 { f64::from(second) * 50.0 } else { f64::from(second - (number - 20)) };
        let reported = cores_of_dumps(30, |second| (0..20 + second).map(|number| scoring(number, used(number, second))).collect());
        let cores: f64 = reported[0].rsplit(' ').next().unwrap().parse().unwrap();
        assert!((cores - 1.0).abs() < 0.1, "{reported:?}");
    }

    /// Before JDK 11 a dump has no CPU times.
    #[test]
    fn without_cpu_times_no_functions_are_reported() {
        let old = computing([1.0, 1.0, 1.0]).lines().map(|line| line.replace("cpu=1.00ms ", "") + "\n").collect::<String>();
        assert_eq!(cores_of_dumps(3, |_| old.clone()), [""; 0]);
    }
}
