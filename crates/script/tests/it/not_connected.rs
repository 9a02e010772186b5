//! Steps on a connection that never opened, or had ended: they fail, and have no time, because nothing left the generator.

use loadstone_engine::IterationEnd;
use loadstone_metrics::{Outcome, SeriesKind, SeriesSlice, Snapshot};

use crate::running::{run_with, scenario_with};

const FAILED: IterationEnd = IterationEnd::Ended(Outcome::Step);
const PROTO: &str =
    "syntax = \"proto3\";\npackage t.v1;\nmessage M { int32 n = 1; }\nservice T { rpc Chat(stream M) returns (stream M); }\n";

fn request<'s>(snapshot: &'s Snapshot, name: &str) -> &'s SeriesSlice {
    let mut requests = snapshot.series.iter().filter(|series| series.key.kind == SeriesKind::Request);
    requests.find(|series| &*series.key.name == name).unwrap_or_else(|| panic!("{name}: {:?}", snapshot.errors))
}

/// Runs each body. Its step `Step` must fail as not connected.
fn none_has_a_time(bodies: &[(&str, &str)]) {
    for (what, body) in bodies {
        let top = "import { proto } from \"loadstone\";\nproto(\"t.proto\");\nconst at = param.url(\"target\").slice(7);";
        let text = scenario_with(top, body, "").replace("target: param.url(\"target\")", "target: `http://${at}`");
        run_with(&text, &[("t.proto", PROTO)], async |worker| {
            assert_eq!(worker.iterate(0).await, FAILED, "{what}: {:?}", worker.texts());
            let snapshot = worker.drain();
            let step = request(&snapshot, "Step");
            assert_eq!(&*step.outcomes, [(Outcome::NotConnected, 1)], "{what}");
            assert_eq!((step.count, step.failed), (1, 1), "{what}");
            let times = (step.response.count(), step.service.count(), step.failed_response.count(), step.phases.wait.count());
            assert_eq!(times, (0, 0, 0, 0), "{what}");
            assert!(snapshot.slow.iter().all(|slow| &*slow.key.name != "Step"), "{what}");
            let error = snapshot.errors.iter().find(|error| error.outcome == Outcome::NotConnected && &*error.key.name == "Step");
            assert!(error.is_some_and(|error| !error.message.is_empty()), "{what}: {:?}", snapshot.errors);
        });
    }
}

#[test]
fn steps_on_what_never_opened() {
    none_has_a_time(&[
        ("ws request", "const s = await user.ws('ws://127.0.0.1:1/', { name: 'Open' }); await s.request('x', { name: 'Step' });"),
        ("ws send", "const s = await user.ws('ws://127.0.0.1:1/', { name: 'Open' }); await s.send('x', { name: 'Step' });"),
        ("ws receive", "const s = await user.ws('ws://127.0.0.1:1/', { name: 'Open' }); await s.receive({ name: 'Step' });"),
        ("ws ping", "const s = await user.ws('ws://127.0.0.1:1/', { name: 'Open' }); await s.ping({ name: 'Step' });"),
        ("ws refused by status", "const s = await user.ws('/status/503', { name: 'Open' }); await s.request('x', { name: 'Step' });"),
        ("events receive", "const s = await user.events('http://127.0.0.1:1/', { name: 'Open' }); await s.receive({ name: 'Step' });"),
        (
            "grpc receive",
            "const s = await user.grpcStream('t.v1.T/Chat', undefined, { name: 'Open', target: 'http://127.0.0.1:1' });
             await s.send({ n: 1 }); await s.receive({ name: 'Step' });",
        ),
        ("tcp request", "const c = await user.tcp('127.0.0.1:1', { name: 'Open' }); await c.request('x', { name: 'Step' });"),
        ("tcp read", "const c = await user.tcp('127.0.0.1:1', { name: 'Open' }); await c.read({ name: 'Step' });"),
    ]);
}

#[test]
fn steps_on_what_the_script_has_closed() {
    none_has_a_time(&[
        ("tcp", "const c = await user.tcp(at, { name: 'Open' }); c.close(); await c.request('x', { name: 'Step' });"),
        ("udp", "const c = await user.udp(at, { name: 'Open' }); c.close(); await c.request('x', { name: 'Step' });"),
        ("udp send", "const c = await user.udp(at, { name: 'Open' }); c.close(); await c.send('x', { name: 'Step' });"),
    ]);
}
