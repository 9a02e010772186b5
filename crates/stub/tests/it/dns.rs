//! The name server, tested with the resolver c-ares, which Node uses.

use std::process::Command;
use std::time::Duration;

use loadstone_stub::{DnsMove, DnsName, DnsServer, DnsSpec, now_ns};

const MINUTE_NS: u64 = 60_000_000_000;

fn server(with: DnsSpec) -> DnsServer {
    let metrics = DnsName {
        name: "metrics.test".to_owned(),
        ttl_ns: 5_000_000_000,
        moves: vec![
            DnsMove { after_ns: 0, addresses: vec!["127.0.0.11".parse().unwrap(), "::11".parse().unwrap()] },
            DnsMove { after_ns: MINUTE_NS, addresses: vec!["127.0.0.12".parse().unwrap()] },
        ],
    };
    DnsSpec { name: "dns".to_owned(), listen: "127.0.0.1:0".to_owned(), names: vec![metrics], ..with }.start().unwrap()
}

/// The output of a script that has `ask(method, name)` of a resolver with this server.
fn resolved(server: &DnsServer, script: &str) -> String {
    let head = format!(
        "const resolver = new (require('node:dns').promises.Resolver)({{ timeout: 300, tries: 1 }});
         resolver.setServers(['{}']);
         const ask = (method, ...given) => resolver[method](...given).then(JSON.stringify, (problem) => problem.code);",
        server.address()
    );
    let output = Command::new("node").arg("-e").arg(format!("{head} (async () => {{ {script} }})()")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_name_has_addresses_of_both_kinds_with_its_time_to_live() {
    let server = server(DnsSpec::default());
    let script = "console.log(await ask('resolve4', 'METRICS.test', { ttl: true }), await ask('resolve6', 'metrics.test'))";
    assert_eq!(resolved(&server, script), r#"[{"address":"127.0.0.11","ttl":5}] ["::11"]"#);
}

#[test]
fn unknown_names_and_record_types_do_not_exist() {
    let server = server(DnsSpec::default());
    let script = "console.log(await ask('resolve4', 'other.test'), await ask('resolveMx', 'metrics.test'))";
    assert_eq!(resolved(&server, script), "ENOTFOUND ENODATA");
}

#[test]
fn an_address_changes_in_the_middle_of_a_run() {
    let server = server(DnsSpec::default());
    let script = "console.log(await ask('resolve4', 'metrics.test'))";
    server.begin(now_ns());
    assert_eq!(resolved(&server, script), r#"["127.0.0.11"]"#);
    // The run began more than a minute ago.
    server.begin(now_ns() - MINUTE_NS - 1);
    assert_eq!(resolved(&server, script), r#"["127.0.0.12"]"#);
    let _ = server.seconds();
    let first = server.names().first().cloned().unwrap();
    assert_eq!((&*first.name, first.address_number), ("metrics.test", 1));
}

#[test]
fn a_lost_answer_is_not_sent_and_is_counted() {
    let server = server(DnsSpec { loss: 1.0, ..DnsSpec::default() });
    server.begin(now_ns());
    assert_eq!(resolved(&server, "console.log(await ask('resolve4', 'metrics.test'))"), "ETIMEOUT");
    let mut seen = Vec::new();
    while seen.is_empty() {
        std::thread::sleep(Duration::from_millis(50));
        seen = server.seconds();
    }
    assert!(seen.iter().map(|second| second.faulted).sum::<u64>() > 0);
}

#[test]
fn an_answer_waits_for_its_delay() {
    let server = server(DnsSpec { delay: Some("80ms".to_owned()), ..DnsSpec::default() });
    let script = "const began = performance.now(); await ask('resolve4', 'metrics.test'); console.log(performance.now() - began >= 80)";
    assert_eq!(resolved(&server, script), "true");
}

#[test]
fn tcp_answers_begin_with_their_length() {
    let server = server(DnsSpec::default());
    // dig's question for metrics.test, A, with the id 0x1234.
    let script = format!(
        "const question = Buffer.from('001e1234010000010000000000000' + '76d6574726963730474657374000001' + '0001', 'hex');
         const socket = require('node:net').connect({}, '127.0.0.1', () => socket.write(question));
         let reply = Buffer.alloc(0);
         let pieces = 0;
         socket.on('data', (piece) => {{
           pieces += 1;
           reply = Buffer.concat([reply, piece]);
           if (reply.length < 2 || reply.length < 2 + reply.readUInt16BE(0)) return;
           console.log(pieces, reply.readUInt16BE(0) === reply.length - 2, [...reply.subarray(-4)].join('.'));
           socket.end();
         }});",
        server.address().port()
    );
    assert_eq!(resolved(&server, &script), "1 true 127.0.0.11");
}

#[test]
fn invalid_descriptions_are_rejected() {
    let spec = |name: DnsName, delay: Option<&str>| {
        let spec = DnsSpec { listen: "127.0.0.1:0".to_owned(), names: vec![name], delay: delay.map(str::to_owned), ..DnsSpec::default() };
        spec.check().unwrap_err().to_string()
    };
    let named = |moves: Vec<DnsMove>| DnsName { name: "a.test".to_owned(), ttl_ns: 0, moves };
    let at = |after_ns| DnsMove { after_ns, addresses: Vec::new() };
    assert!(spec(named(vec![]), None).contains("no address at the start"));
    assert!(spec(named(vec![at(0), at(9), at(5)]), None).contains("are not in order of time"));
    assert!(spec(named(vec![at(0)]), Some("soon")).contains("not a delay"));
}
