//! All kinds of observers. Each is a file or folder here, and one line of [`KINDS`].

mod cgroup;
#[cfg(all(target_os = "linux", any(test, feature = "fuzzing")))]
pub mod fuzzing;
mod go;
mod host;
mod json;
mod jvm;
mod kafka;
mod mysql;
mod native;
mod node;
mod postgres;
pub(crate) mod process;
mod prometheus;
mod python;
mod redis_info;
mod redis_queues;
mod sql;
mod statsd;
pub(crate) mod traces;

use crate::kind::ObserverKind;

/// In the order in which the documentation shows them.
#[rustfmt::skip]
pub(crate) const KINDS: &[ObserverKind] = &[
    process::KIND,
    host::KIND,
    cgroup::KIND,
    node::KIND,
    jvm::KIND,
    go::KIND,
    python::KIND,
    native::KIND,
    postgres::KIND,
    mysql::KIND,
    redis_info::KIND,
    kafka::KIND,
    sql::KIND,
    prometheus::KIND,
    json::KIND,
    statsd::KIND,
    traces::KIND,
];
