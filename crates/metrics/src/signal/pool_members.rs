//! What a pool hands out.

use serde::{Deserialize, Serialize};

/// What the members of a pool are. Part of the meaning of every signal whose role is a pool's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolMembers {
    /// To a database, a cache or another service.
    Connections,
    /// Threads or other workers of a process.
    Threads,
}

impl PoolMembers {
    /// By the words of a name, for pools of which nothing else is known: observers of unknown exporters, and runs that were recorded before observers
    /// stated it. A name that mentions both counts as that of a pool of connections.
    pub fn by_words(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let mentions_threads = ["thread", "worker", "executor"].iter().any(|word| name.contains(word));
        if mentions_threads && !name.contains("connection") { Self::Threads } else { Self::Connections }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_decide_where_nothing_else_does() {
        for (name, members) in [
            ("jetty_threads", PoolMembers::Threads),
            ("http_worker_threads_busy", PoolMembers::Threads),
            ("taskExecutor", PoolMembers::Threads),
            ("db_pool_waiting", PoolMembers::Connections),
            ("worker_connections_active", PoolMembers::Connections),
        ] {
            assert_eq!(PoolMembers::by_words(name), members, "{name}");
        }
    }
}
