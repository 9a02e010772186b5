//! A process and the host, against what the process says about itself.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use loadstone_metrics::Role;
use serde_json::json;

use crate::servers;
use crate::watching::Watch;

#[test]
fn a_server_found_by_its_port() {
    let redis = servers::redis();
    let mut watch = Watch::start(&[json!({ "kind": "process", "port": redis.port, "every": "50ms" })]);
    let observer = format!("process:{}", redis.port);
    let name = |metric: &str| format!("{observer}/{metric}");
    watch.more(&observer, 1);
    assert_eq!(watch.value(&name("processes")), 1.0);
    assert_eq!(watch.value(&name("sockets{state=established}")), 0.0);
    assert_eq!(watch.value(&name("sockets{state=listen}")), 1.0);
    let descriptors = watch.value(&name("descriptors"));

    let clients: Vec<TcpStream> = (0..7).map(|_| TcpStream::connect(("127.0.0.1", redis.port)).unwrap()).collect();
    watch.until("seven connections", |watch| watch.value(&name("sockets{state=established}")) == 7.0);
    watch.until("their descriptors", |watch| watch.value(&name("descriptors")) == descriptors + 7.0);
    drop(clients);
    watch.until("their end", |watch| watch.value(&name("sockets{state=established}")) == 0.0);

    // Redis counts its own CPU time and memory; busy work moves both accounts by the same.
    let account = || {
        let info = servers::redis_says(redis.port, "INFO\r\n");
        let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().parse::<f64>().unwrap();
        (field("used_cpu_user:") + field("used_cpu_sys:"), field("used_memory_rss:"))
    };
    servers::redis_says(redis.port, "EVAL \"local n=0;for i=1,20000000 do n=n+i end;return n\" 0\r\n");
    let (cpu_before_reading, _) = account();
    watch.more(&observer, 2);
    let (cpu_after_reading, resident) = account();
    let cpu = watch.value(&name("cpu"));
    for (metric, role) in [
        ("cpu", Role::ProcessCpu),
        ("cores_allowed", Role::ProcessCpuMax),
        ("busiest_thread", Role::ProcessThreadCpuMax),
        ("run_delay", Role::ProcessRunDelay),
        ("threads", Role::ProcessThreads),
        ("memory", Role::ProcessMemory),
        ("descriptors", Role::ProcessDescriptors),
        ("descriptors_limit", Role::ProcessDescriptorsMax),
    ] {
        assert_eq!(watch.signal(&name(metric)).role, Some(role), "{metric}");
    }
    // The kernel's ticks of 10 ms, for user and for system time.
    assert!(cpu >= cpu_before_reading - 0.03 && cpu <= cpu_after_reading + 0.03, "{cpu_before_reading} {cpu} {cpu_after_reading}");
    assert!(cpu > 0.04, "{cpu}");
    assert!(watch.value(&name("cores_allowed")) >= 1.0);
    let memory = watch.value(&name("memory"));
    assert!((memory / resident - 1.0).abs() < 0.3, "{memory} {resident}");
    assert!(watch.notices().is_empty());
}

/// A client sends a line to a server of this test, and waits for its answer.
#[test]
fn calls_without_an_answer_are_counted_by_endpoint() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = listener.local_addr().unwrap();
    // A step of the kernel's clock lies between the connection and the call.
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{}; sleep 0.05; echo call >&3; read -r answer <&3; read -r end", peer.port());
    let mut client = Command::new("bash").args(["-c", &script]).stdin(Stdio::piped()).spawn().unwrap();
    let (mut connection, _) = listener.accept().unwrap();
    let mut call = [0; 5];
    connection.read_exact(&mut call).unwrap();
    let mut watch = Watch::start(&[json!({ "kind": "process", "pid": client.id(), "name": "client", "every": "200ms" })]);
    let awaited = format!("client/awaited{{peer={peer}}}");
    watch.until("the call", |watch| watch.latest.get(&awaited) == Some(&1.0));
    assert_eq!(watch.signal(&awaited).role, Some(Role::CallsAwaited));
    assert_eq!(watch.signal(&awaited).part, peer.to_string());
    connection.write_all(b"answer\n").unwrap();
    watch.until("the answer", |watch| watch.latest.get(&awaited) == Some(&0.0));
    drop(client.stdin.take());
    client.wait().unwrap();
}

#[test]
fn a_process_by_pid_or_name_and_nobody() {
    let redis = servers::redis();
    let mut watch = Watch::start(&[
        json!({ "kind": "process", "pid": redis.pid(), "name": "cache", "every": "50ms" }),
        json!({ "kind": "process", "name": "redis-server", "every": "50ms" }),
        json!({ "kind": "process", "name": "no-such-process", "every": "50ms" }),
        json!({ "kind": "host", "every": "50ms" }),
    ]);
    watch.more("cache", 1);
    watch.more("process:redis-server", 1);
    watch.more("host", 2);
    assert_eq!(watch.value("cache/processes"), 1.0);
    // Other tests run Redis servers too.
    assert!(watch.value("process:redis-server/processes") >= 1.0);
    watch.until("the notice", |watch| watch.notices().iter().any(|(_, message)| message.contains("no process called \"no-such-process\"")));
    let cores = std::thread::available_parallelism().unwrap().get() as f64;
    assert!(watch.value("host/cores") >= cores);
    assert!(watch.value("host/memory_available") <= watch.value("host/memory_total"));
    assert!(watch.value("host/cpu{mode=user}") > 0.0);
    for (metric, role) in [
        ("cores", Role::MachineCores),
        ("runnable", Role::MachineRunQueue),
        ("cpu{mode=idle}", Role::MachineIdle),
        ("cpu{mode=iowait}", Role::MachineIoWait),
        ("cpu{mode=steal}", Role::MachineSteal),
        ("tcp_retransmits", Role::Retransmissions),
        ("tcp_syn_retransmits", Role::SynRetransmissions),
    ] {
        assert_eq!(watch.signal(&format!("host/{metric}")).role, Some(role), "{metric}");
    }
    for signal in watch.signals.values().filter(|signal| matches!(signal.role, Some(Role::DiskBusy | Role::DiskQueue))) {
        assert_eq!(signal.label_value("device"), Some(signal.part.as_str()));
    }
    watch.until("the cost of observing", |watch| watch.latest.get("observe/cpu").is_some_and(|seconds| *seconds > 0.0));
}
