//! Kafka, as the decisions lab starts one.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use loadstone_metrics::{NoticeKind, Role};
use serde_json::json;

use crate::watching::Watch;

/// The broker of `kafka.mjs`, which ends when its standard input does.
struct Broker {
    starter: Child,
    address: String,
}

impl Broker {
    fn start() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/kafka.mjs");
        let mut starter = Command::new("node")
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Node must be installed to run this test");
        let lines = BufReader::new(starter.stdout.take().unwrap()).lines();
        let address = lines.map(Result::unwrap).find_map(|line| line.strip_prefix("kafka: ").map(str::to_owned));
        let address = address.expect("`cargo xtask setup` must have been run for this test; Kafka's output is above");
        Self { starter, address }
    }

    fn stop(&mut self) {
        drop(self.starter.stdin.take());
        self.starter.wait().unwrap();
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.stop();
    }
}

#[test]
fn what_is_written_and_how_far_groups_are_behind() {
    let mut broker = Broker::start();
    let observer = |name: &str, more: serde_json::Value| {
        let mut description =
            json!({ "kind": "kafka", "name": name, "brokers": format!("127.0.0.1:1, {}", broker.address), "every": "100ms" });
        description.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        description
    };
    let chosen = json!({ "topics": ["orders", "absent"], "groups": ["billing", "nobody"] });
    let mut watch = Watch::start(&[observer("kafka", json!({})), observer("chosen", chosen)]);

    // The consumer reads while this looks.
    watch.until("all read by one group", |watch| watch.value_if("kafka/lag{group=audit,topic=orders}") == Some(0.0));
    watch.more("kafka", 1);
    let names = [
        "produced{topic=orders}",
        "lag{group=billing,topic=orders}",
        "partitions{topic=orders}",
        "members{group=audit}",
        "brokers",
        "under_replicated",
    ];
    assert_eq!(names.map(|name| watch.value(&format!("kafka/{name}"))), [30.0, 25.0, 2.0, 1.0, 1.0, 0.0]);
    let lag = watch.signal("kafka/lag{group=billing,topic=orders}");
    assert_eq!((lag.role, lag.part.as_str()), (Some(Role::QueueLength), "messages of orders for billing"));
    assert!(!watch.latest.keys().any(|name| name.contains("__consumer_offsets")), "{:?}", watch.latest);

    watch.more("chosen", 1);
    assert_eq!(watch.value("chosen/lag{group=billing,topic=orders}"), 25.0);
    let own = |watch: &Watch| watch.latest.keys().filter(|name| name.starts_with("chosen/") && name.contains("audit")).count();
    assert_eq!(own(&watch), 0);
    let messages: Vec<String> = watch.notices().into_iter().map(|(_, message)| message).collect();
    for wanted in ["chosen: there is no topic \"absent\" yet", "chosen: there is no consumer group \"nobody\" yet"] {
        assert_eq!(messages.iter().filter(|message| *message == wanted).count(), 1, "{wanted} in {messages:?}");
    }

    broker.stop();
    watch.until("the failure", |watch| watch.notices().iter().any(|(kind, _)| *kind == NoticeKind::Failed));
}
