//! Redis, and what an observer says when its server goes away and comes back.

use loadstone_metrics::{NoticeKind, Role};
use serde_json::json;

use crate::servers;
use crate::watching::Watch;

#[test]
fn lengths_and_totals() {
    let redis = servers::redis();
    let url = format!("redis://127.0.0.1:{}/", redis.port);
    servers::redis_says(redis.port, "RPUSH jobs a b c\r\nXADD events * k v\r\nXADD events * k v\r\n");
    let mut watch = Watch::start(&[json!({ "kind": "redis", "url": url, "lists": ["jobs"], "streams": ["events"], "every": "50ms" })]);
    watch.more("redis", 1);
    assert_eq!(watch.value("redis/list{key=jobs}"), 3.0);
    assert_eq!(watch.value("redis/stream{key=events}"), 2.0);
    for (name, key) in [("redis/list{key=jobs}", "jobs"), ("redis/stream{key=events}", "events")] {
        let signal = watch.signal(name);
        assert_eq!((signal.role, signal.part.as_str(), signal.label_value("key")), (Some(Role::QueueLength), key, Some(key)));
    }
    assert_eq!(watch.value("redis/keys"), 2.0);
    servers::redis_says(redis.port, "LPOP jobs\r\nGET x\r\nGET x\r\n");
    watch.more("redis", 1);
    assert_eq!((watch.value("redis/list{key=jobs}"), watch.value("redis/misses")), (2.0, 2.0));
    assert!(watch.value("redis/commands") > 5.0 && watch.value("redis/round_trip") > 0.0);
}

/// What a Sidekiq with two queues and one process of ten workers writes.
const SIDEKIQ: &str = "SADD queues deliver generate\r\nRPUSH queue:deliver a b\r\nZADD retry 1 x\r\nSADD processes host:1\r\n\
    HSET host:1 busy 7 info '{\"concurrency\":10}'\r\nSET stat:processed 41\r\n";

#[test]
fn queues_and_workers_of_sidekiq_are_found() {
    let redis = servers::redis();
    servers::redis_says(redis.port, SIDEKIQ);
    let url = format!("redis://127.0.0.1:{}/", redis.port);
    let mut watch = Watch::start(&[json!({ "kind": "redis", "url": url, "every": "50ms" })]);
    watch.more("redis", 1);
    let read = ["queue{queue=deliver}", "queue{queue=generate}", "retry", "dead", "busy", "workers", "processed"];
    assert_eq!(read.map(|name| watch.value(&format!("redis/sidekiq_{name}"))), [2.0, 0.0, 1.0, 0.0, 7.0, 10.0, 41.0]);
    let signal = watch.signal("redis/sidekiq_queue{queue=deliver}");
    assert_eq!((signal.role, signal.part.as_str()), (Some(Role::QueueLength), "deliver"));
}

/// What BullMQ 5 writes of one queue: three jobs that wait, one with a priority, two that workers have, one for later.
const BULLMQ: &str =
    "RPUSH bull:mail:wait 3 4 5\r\nZADD bull:mail:prioritized 1 7\r\nRPUSH bull:mail:active 1 2\r\nZADD bull:mail:delayed 1 6\r\n";
/// What Celery 5 writes: two tasks that nobody took, one of them of priority 9, and three that workers have.
const CELERY: &str = "RPUSH celery a\r\nRPUSH \"celery\\x06\\x169\" b\r\nHSET unacked x 1 y 1 z 1\r\n";

#[test]
fn queues_of_bullmq_and_celery_are_read_where_they_are_named() {
    let redis = servers::redis();
    servers::redis_says(redis.port, &format!("{BULLMQ}{CELERY}"));
    let url = format!("redis://127.0.0.1:{}/", redis.port);
    let mut watch =
        Watch::start(&[json!({ "kind": "redis", "url": url, "bullmq": ["mail"], "celery": ["celery", "reports"], "every": "50ms" })]);
    watch.more("redis", 1);
    let read = ["waiting", "active", "delayed", "failed"].map(|name| watch.value(&format!("redis/bullmq_{name}{{queue=mail}}")));
    assert_eq!(read, [4.0, 2.0, 1.0, 0.0]);
    let read =
        ["waiting{queue=celery}", "waiting{queue=reports}", "unacknowledged"].map(|name| watch.value(&format!("redis/celery_{name}")));
    assert_eq!(read, [2.0, 0.0, 3.0]);
    for (name, queue) in [("bullmq_waiting{queue=mail}", "mail"), ("celery_waiting{queue=celery}", "celery")] {
        let signal = watch.signal(&format!("redis/{name}"));
        assert_eq!((signal.role, signal.part.as_str()), (Some(Role::QueueLength), queue));
    }
}

#[test]
fn consumer_groups_of_a_stream_have_what_is_pending_and_what_is_to_be_read() {
    let redis = servers::redis();
    servers::redis_says(
        redis.port,
        "XADD events * k v\r\nXGROUP CREATE events mail 0\r\nXADD events * k v\r\nXADD events * k v\r\nXREADGROUP GROUP mail c COUNT 1 STREAMS events >\r\n",
    );
    let url = format!("redis://127.0.0.1:{}/", redis.port);
    let mut watch = Watch::start(&[json!({ "kind": "redis", "url": url, "streams": ["events", "not-yet"], "every": "50ms" })]);
    watch.more("redis", 1);
    let read = ["pending", "lag"].map(|name| watch.value(&format!("redis/stream_{name}{{key=events,group=mail}}")));
    assert_eq!(read, [1.0, 2.0]);
    let signal = watch.signal("redis/stream_lag{key=events,group=mail}");
    assert_eq!((signal.role, signal.part.as_str()), (Some(Role::QueueLength), "events/mail"));
}

/// The account of docs/observers/queues.md reads them; one that may only ask for `INFO` still does.
#[test]
fn an_account_that_may_not_see_queues_reads_the_rest() {
    let redis = servers::redis();
    servers::redis_says(redis.port, SIDEKIQ);
    servers::redis_says(
        redis.port,
        "ACL SETUSER watcher on >secret resetkeys %R~queues %R~queue:* %R~retry %R~schedule %R~dead %R~processes %R~stat:* %R~*:* -@all +info +llen \
         +xlen +smembers +zcard +get +hmget\r\nACL SETUSER least on >secret resetkeys -@all +info\r\n",
    );
    let observer = |user: &str| json!({ "kind": "redis", "name": user, "url": format!("redis://{user}:secret@127.0.0.1:{}/", redis.port), "every": "50ms" });
    let mut watch = Watch::start(&[observer("watcher"), observer("least")]);
    watch.more("watcher", 1);
    watch.more("least", 2);
    assert_eq!(watch.value("watcher/sidekiq_queue{queue=deliver}"), 2.0);
    assert!(watch.value("least/commands") > 0.0);
    assert!(watch.notices().is_empty(), "{:?}", watch.notices());
}

#[test]
fn a_server_that_goes_and_comes_back_leaves_a_gap_with_bounds() {
    let redis = servers::redis();
    let url = format!("redis://127.0.0.1:{}/", redis.port);
    let mut watch = Watch::start(&[json!({ "kind": "redis", "url": url, "every": "50ms", "name": "queue" })]);
    watch.more("queue", 2);
    let mut redis = redis;
    redis.kill();
    let kinds = |watch: &Watch| watch.notices().into_iter().map(|(kind, _)| kind).collect::<Vec<_>>();
    watch.until("the failure", |watch| kinds(watch).contains(&NoticeKind::Failed));
    let _redis = servers::redis_again(redis);
    watch.until("the recovery", |watch| kinds(watch).iter().any(|kind| matches!(kind, NoticeKind::Recovered { .. })));
    watch.more("queue", 1);
    // One notice for the whole gap, and no reading inside it.
    let kinds = kinds(&watch);
    let [NoticeKind::Failed, NoticeKind::Recovered { since }] = kinds[..] else { panic!("{kinds:?}") };
    let notices: Vec<_> = watch.batches.iter().flat_map(|batch| &batch.notices).collect();
    assert_eq!(notices[0].at, since);
    let of_queue = watch.batches.iter().filter(|batch| &*batch.observer == "queue");
    let inside = of_queue.flat_map(|batch| &batch.points).filter(|(_, point)| (since..notices[1].at).contains(&point.at));
    // The reading that recovered ends at the notice; all others lie outside.
    let instants: std::collections::HashSet<u64> = inside.map(|(_, point)| point.at).collect();
    assert!(instants.len() <= 1, "{instants:?} in {since}..{}", notices[1].at);
}
