//! `k6/experimental/redis` against a Redis server.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use loadstone_engine::IterationEnd;
use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Outcome, SeriesKind};
use tempfile::TempDir;

use crate::free_port::free_port;
use crate::harness::folder;
use crate::real_time::{Ran, run};

const START_NS_MAX: u64 = 20_000_000_000;

struct Server {
    process: Child,
    port: u16,
    _files: TempDir,
}

impl Server {
    fn start() -> Self {
        let port = free_port("127.0.0.1");
        Self::start_with(folder(&[]), port, &["--port", &port.to_string(), "--requirepass", "hidden"])
    }

    /// A node of a cluster, in which it serves these slots.
    fn start_node(first: u16, last: u16) -> Self {
        let [port, bus] = [free_port("127.0.0.1"), free_port("127.0.0.1")];
        let (own, of_bus) = (port.to_string(), bus.to_string());
        let server = Self::start_with(folder(&[]), port, &["--port", &own, "--cluster-enabled", "yes", "--cluster-port", &of_bus]);
        server.command(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()]);
        server
    }

    /// What `redis-cli` prints.
    fn command(&self, words: &[&str]) -> String {
        let output = Command::new("redis-cli").args(["-h", "127.0.0.1", "-p", &self.port.to_string()]).args(words).output();
        String::from_utf8(output.expect("redis-cli is missing: `cargo xtask setup` installs it").stdout).unwrap()
    }

    fn start_with(files: TempDir, port: u16, options: &[&str]) -> Self {
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--save", ""]).args(options).arg("--dir");
        let process = command.arg(files.path()).stdout(Stdio::null()).spawn();
        let server = Self { process: process.expect("redis-server is missing: `cargo xtask setup` installs it"), port, _files: files };
        let clock = Monotonic::start();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(clock.now() < START_NS_MAX, "redis-server does not listen");
            std::thread::yield_now();
        }
        server
    }

    fn run(&self, body: &str) -> Ran {
        run(&format!(
            "import redis from 'k6/experimental/redis';
             const client = new redis.Client('redis://:hidden@127.0.0.1:{}/3');
             const refused = async (promise) => {{ try {{ return `kept ${{await promise}}`; }} catch (error) {{ return String(error); }} }};
             const row = (...values) => console.log(values.map((value) => JSON.stringify(value)).join(' '));
             export default async function () {{ {body} }}",
            self.port
        ))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn commands_answer_as_in_k6() {
    let server = Server::start();
    let ran = server.run(
        "row(client.isConnected(), await client.set('a', 'one'), await client.get('a'), client.isConnected());
        row(await client.set('b', 2, 100), await client.ttl('b'), await client.ttl('a'), await client.expire('a', 9), await client.persist('a'));
        row(await client.getSet('a', true), await client.getDel('a'), await client.exists('a', 'b', 'b'), await client.mget('a', 'b'));
        row(await client.incr('n'), await client.incrBy('n', 5), await client.decr('n'), await client.decrBy('n', 2), await client.del('n', 'none'));
        row(await client.rpush('l', 1, 'two', false), await client.lpush('l', 0.5), await client.lrange('l', 0, -1), await client.llen('l'));
        row(await client.lindex('l', 1), await client.lset('l', 1, 'x'), await client.lrem('l', 1, 'x'), await client.lpop('l'), await client.rpop('l'));
        row(await client.hset('h', 'f', 'v'), await client.hsetnx('h', 'f', 'w'), await client.hset('h', '__proto__', 1), await client.hget('h', 'f'),
          await client.hgetall('h'), await client.hkeys('h'), await client.hvals('h'), await client.hlen('h'),
          await client.hincrby('h', 'i', 4), await client.hdel('h', 'f', 'g'));
        row(await client.sadd('s', 'm', 'm', 7), await client.sismember('s', 7), await client.sismember('s', 8), (await client.smembers('s')).sort(),
          await client.srem('s', 'm'), await client.srandmember('s'), await client.spop('s'));
        row(await client.sendCommand('ECHO', 'hello'), await client.sendCommand('COMMAND', 'COUNT') > 100);
        row(await Promise.all(Array.from({ length: 20 }, (_, i) => client.set(`k${i}`, i))).then((all) => all.length), (await client.get('k19')));",
    );
    assert_eq!(ran.ended, IterationEnd::Ended(Outcome::Passed), "{:?}", ran.printed);
    // The lines that k6 1.4.2 prints, which sorts the fields of a hash.
    assert_eq!(
        ran.printed,
        [
            r#"false "OK" "one" true"#,
            r#""OK" 100 -1e-9 true true"#,
            r#""one" "1" 2 [null,"2"]"#,
            r#"1 6 5 3 1"#,
            r#"3 4 ["0.5","1","two","0"] 4"#,
            r#""1" "OK" 1 "0.5" "0""#,
            r#"1 false 1 "v" {"f":"v","__proto__":"1"} ["f","__proto__"] ["v","1"] 2 4 1"#,
            r#"2 true false ["7","m"] 1 "7" "7""#,
            r#""hello" true"#,
            r#"20 "19""#,
        ]
    );
    assert_eq!(ran.exchanges[..2], ["REDIS SET | SET a one | \"OK\"", "REDIS GET | GET a | \"one\""]);
    let requests: Vec<String> = ran
        .snapshot
        .series
        .iter()
        .filter(|series| series.key.kind == SeriesKind::Request)
        .map(|series| format!("{} {}", series.key.name, series.count))
        .collect();
    assert!(requests.contains(&"REDIS GET 2".to_owned()) && requests.contains(&"REDIS SET 22".to_owned()), "{requests:?}");
}

#[test]
fn promises_are_rejected_as_in_k6() {
    let server = Server::start();
    let ran = server.run(
        &"row(await refused(client.get('none')), await refused(client.lpop('none')), await refused(client.getDel('none')));
        row(await refused(client.set('a', {})), await refused(client.hset('a', 'b', [])), await refused(client.sendCommand('SET', 'a', {})));
        await client.set('text', 'word');
        await refused(client.sendCommand('AUTH', 'wrong'));
        row(await refused(client.incr('text')), await refused(client.sendCommand('NONSENSE')));
        const other = new redis.Client({ socket: { host: '127.0.0.1', port: 1 } });
        row((await refused(other.get('a'))).includes('refused'));
        const denied = new redis.Client({ socket: { host: '127.0.0.1', port: PORT }, password: 'wrong' });
        row((await refused(denied.get('a'))).includes('WRONGPASS'));
        for (const wrong of [{}, { cluster: { nodes: [] } }, { cluster: { nodes: ['redis://h'], readonly: true } },
          { masterName: 'm' }, { socket: { host: 'h', hots: 1 } }, 7, 'http://h'])
          try { new redis.Client(wrong); } catch (error) { console.log(error.message.split(':')[0]); }"
            .replace("PORT", &server.port.to_string()),
    );
    let lines: Vec<&str> = ran.printed.iter().map(String::as_str).collect();
    // As k6 1.4.2 prints them, except for the refused connection.
    assert_eq!(lines[0], r#""redis: nil" "redis: nil" "redis: nil""#);
    for (part, index) in lines[1].split("\" \"").zip([1, 2, 2]) {
        assert!(part.contains(&format!("argument at index {index}")), "{part}");
    }
    assert!(lines[2].starts_with("\"ERR value is not an integer or out of range\" \"ERR unknown command"), "{}", lines[2]);
    assert_eq!(lines[3..5], ["true", "true"]);
    assert_eq!(lines[5..].len(), 7, "{lines:?}");
    assert!(lines[7].contains("invalid options; reason") && lines[10].contains("invalid options type"), "{lines:?}");
    assert!(ran.exchanges.iter().any(|shown| shown.starts_with("REDIS AUTH | AUTH *** | ")), "{:?}", ran.exchanges);
    let failed = ran.snapshot.errors.iter().find(|error| error.message.contains("error ERR"));
    assert!(failed.is_some(), "{:?}", ran.snapshot.errors);
}

#[test]
fn a_cluster_gets_each_command_at_the_node_of_its_key() {
    let (one, two) = (Server::start_node(0, 8191), Server::start_node(8192, 16383));
    let bus = two.command(&["CONFIG", "GET", "cluster-port"]);
    one.command(&["CLUSTER", "MEET", "127.0.0.1", &two.port.to_string(), bus.lines().nth(1).unwrap()]);
    let clock = Monotonic::start();
    while ![&one, &two].iter().all(|node| node.command(&["CLUSTER", "INFO"]).contains("cluster_state:ok")) {
        assert!(clock.now() < START_NS_MAX, "the nodes do not join");
        std::thread::yield_now();
    }
    // The keys `foo` and `{foo}x` are in slot 12182, and `bar` in 5061.
    let ran = run(&format!(
        "import redis from 'k6/experimental/redis';
         const [a, b] = [{}, {}].map((port) => new redis.Client({{ socket: {{ host: '127.0.0.1', port }} }}));
         const cluster = new redis.Client({{ cluster: {{ nodes: ['redis://127.0.0.1:{}'] }} }});
         const strict = new redis.Client({{ cluster: {{ nodes: [{{ socket: {{ host: '127.0.0.1', port: {} }} }}], maxRedirects: 0 }} }});
         const refused = async (promise) => {{ try {{ return `kept ${{await promise}}`; }} catch (error) {{ return String(error); }} }};
         export default async function () {{
           console.log(await cluster.set('foo', 1), await cluster.set('bar', 2), await a.get('bar'), await b.get('foo'), await cluster.get('foo'));
           console.log(await strict.get('foo'), await strict.get('bar'), (await refused(a.get('foo'))).split(' ')[0], await cluster.sendCommand('PING'));
           console.log(await refused(cluster.del('foo', 'bar')), await cluster.del('foo'));
           const [idA, idB] = [await a.sendCommand('CLUSTER', 'MYID'), await b.sendCommand('CLUSTER', 'MYID')];
           await a.sendCommand('CLUSTER', 'SETSLOT', 12182, 'IMPORTING', idB);
           await b.sendCommand('CLUSTER', 'SETSLOT', 12182, 'MIGRATING', idA);
           console.log(await cluster.set('{{foo}}x', 'asked'), (await refused(strict.get('{{foo}}x'))).split(' ')[0], await cluster.get('{{foo}}x'));
           for (const node of [a, b]) await node.sendCommand('CLUSTER', 'SETSLOT', 12182, 'NODE', idA);
           console.log(await cluster.get('{{foo}}x'), (await refused(strict.get('{{foo}}x'))).split(' ')[0], await a.get('{{foo}}x'));
         }}",
        one.port, two.port, one.port, two.port
    ));
    assert_eq!(ran.ended, IterationEnd::Ended(Outcome::Passed), "{:?}", ran.printed);
    assert_eq!(
        ran.printed,
        ["OK OK 2 1 1", "1 2 MOVED PONG", "CROSSSLOT Keys in request don't hash to the same slot 1", "OK ASK asked", "asked MOVED asked"]
    );
}

impl Server {
    fn start_replica_of(primary: &Server) -> Self {
        let [port, bus] = [free_port("127.0.0.1"), free_port("127.0.0.1")].map(|port| port.to_string());
        let replica =
            Self::start_with(folder(&[]), port.parse().unwrap(), &["--port", &port, "--cluster-enabled", "yes", "--cluster-port", &bus]);
        primary.command(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]);
        let id = primary.command(&["CLUSTER", "MYID"]);
        replica.until("knows the primary", |replica| replica.command(&["CLUSTER", "REPLICATE", id.trim()]).starts_with("OK"));
        replica.until("follows the primary", |replica| replica.command(&["INFO", "replication"]).contains("master_link_status:up"));
        primary.until("lists its replica", |primary| primary.command(&["CLUSTER", "SLOTS"]).contains(&port));
        replica
    }

    fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let clock = Monotonic::start();
        while !holds(self) {
            assert!(clock.now() < START_NS_MAX, "the server at port {} never {what}", self.port);
            std::thread::yield_now();
        }
    }

    /// How often the server has run a command.
    fn calls(&self, command: &str) -> u64 {
        let stats = self.command(&["INFO", "commandstats"]);
        let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
        line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
    }
}

#[test]
fn a_cluster_reads_where_its_options_say() {
    let primary = Server::start_node(0, 16383);
    let replica = Server::start_replica_of(&primary);
    primary.command(&["SET", "foo", "1"]);
    replica.until("has the key", |replica| replica.command(&["DBSIZE"]).trim() == "1");
    let run_with = |options: &str| {
        run(&format!(
            "import redis from 'k6/experimental/redis';
             const cluster = new redis.Client({{ cluster: {{ nodes: ['redis://127.0.0.1:{}'], {options} }} }});
             export default async function () {{
               for (let i = 0; i < 40; i++) if (await cluster.get('foo') !== '1') console.log('wrong');
               await cluster.set('bar', 2);
             }}",
            primary.port
        ))
    };
    let read_with = |options: &str| {
        let before = (primary.calls("get"), replica.calls("get"), primary.calls("set"));
        let ran = run_with(options);
        assert_eq!((ran.ended, ran.printed.len()), (IterationEnd::Ended(Outcome::Passed), 0), "{options}: {:?}", ran.printed);
        assert_eq!(primary.calls("set"), before.2 + 1, "{options}");
        (primary.calls("get") - before.0, replica.calls("get") - before.1)
    };
    assert_eq!(read_with(""), (40, 0));
    assert_eq!(read_with("readOnly: true"), (0, 40));
    let (of_primary, of_replica) = read_with("routeRandomly: true");
    assert!(of_primary > 0 && of_replica > 0 && of_primary + of_replica == 40, "{of_primary} and {of_replica}");
    let pings = (primary.calls("ping"), replica.calls("ping"));
    let (of_primary, of_replica) = read_with("routeByLatency: true");
    assert!((of_primary, of_replica) == (40, 0) || (of_primary, of_replica) == (0, 40), "{of_primary} and {of_replica}");
    assert!(primary.calls("ping") >= pings.0 + 3 && replica.calls("ping") >= pings.1 + 3);
}

#[test]
fn a_sentinel_names_the_primary_again_after_it_has_changed() {
    let primary = || {
        let port = free_port("127.0.0.1");
        Server::start_with(folder(&[]), port, &["--port", &port.to_string()])
    };
    let (first, second) = (primary(), primary());
    let port = free_port("127.0.0.1");
    let files = folder(&[("sentinel.conf", &format!("port {port}\nbind 127.0.0.1\nsentinel monitor shop 127.0.0.1 {} 1\n", first.port))]);
    let process = Command::new("redis-server").arg(files.path().join("sentinel.conf")).arg("--sentinel").stdout(Stdio::null()).spawn();
    let sentinel = Server { process: process.unwrap(), port, _files: files };
    sentinel.until("listens", |sentinel| TcpStream::connect(("127.0.0.1", sentinel.port)).is_ok());
    let ran = run(&format!(
        "import redis from 'k6/experimental/redis';
         const S = {{ host: '127.0.0.1', port: {port} }};
         const [shop, none] = ['shop', 'none'].map((masterName) => new redis.Client({{ masterName, socket: S }}));
         const [sentinel, first] = [S, {{ host: '127.0.0.1', port: {} }}].map((socket) => new redis.Client({{ socket }}));
         const refused = async (promise) => {{ try {{ return `kept ${{await promise}}`; }} catch (error) {{ return String(error); }} }};
         export default async function () {{
           console.log(await shop.set('a', 'one'), await shop.get('a'), await first.get('a'), await refused(none.get('a')));
           await sentinel.sendCommand('SENTINEL', 'REMOVE', 'shop');
           await sentinel.sendCommand('SENTINEL', 'MONITOR', 'shop', '127.0.0.1', {}, 1);
           await first.sendCommand('REPLICAOF', '127.0.0.1', {});
           console.log((await refused(shop.set('a', 'two'))).split(' ')[0], await shop.set('a', 'three'), await shop.get('a'));
         }}",
        first.port, second.port, second.port
    ));
    assert_eq!(ran.ended, IterationEnd::Ended(Outcome::Passed), "{:?}", ran.printed);
    let unknown = "the sentinel knows no primary of the name \"none\"";
    assert_eq!(ran.printed, [format!("OK one one {unknown}"), "READONLY OK three".to_owned()]);
    assert_eq!(second.command(&["GET", "a"]).trim(), "three");
}
