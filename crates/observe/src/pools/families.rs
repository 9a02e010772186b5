//! The metrics of well-known pools, one row for each exporter or client.

use loadstone_metrics::{PoolMembers, Role};

/// Metrics of one exporter or client. Metrics with this prefix that are not listed have no meaning, whatever their words.
pub(super) struct PoolFamily {
    /// Metrics with one of these prefixes.
    pub(super) prefixes: &'static [&'static str],
    pub(super) members: PoolMembers,
    /// Labels whose values together name the pool.
    pub(super) labels: &'static [&'static str],
    /// The name without the prefix. A counter is listed as its exporter writes it, with `_total` or `_sum`.
    pub(super) metrics: &'static [(&'static str, Role)],
}

pub(super) const FAMILIES: &[PoolFamily] = &[
    // Micrometer's binder for HikariCP (Spring Boot), and HikariCP's own PrometheusMetricsTracker, which counts times in other units. Its pending threads are
    // threads of the service that wait for a connection.
    PoolFamily {
        prefixes: &["hikaricp_"],
        members: PoolMembers::Connections,
        labels: &["pool"],
        metrics: &[
            ("connections", Role::PoolSize),
            ("connections_active", Role::PoolInUse),
            ("connections_idle", Role::PoolIdle),
            ("connections_pending", Role::PoolWaiting),
            ("connections_max", Role::PoolSizeMax),
            ("connections_acquire_seconds_sum", Role::PoolWaitTime),
            ("connections_acquire_seconds_count", Role::PoolAcquisitions),
            ("connections_usage_seconds_sum", Role::PoolUseTime),
            ("active_connections", Role::PoolInUse),
            ("idle_connections", Role::PoolIdle),
            ("pending_threads", Role::PoolWaiting),
            ("max_connections", Role::PoolSizeMax),
        ],
    },
    // pgbouncer_exporter: SHOW POOLS, a pool for each pair of database and user. Connections that it calls used are idle, and have been for long. While
    // clients wait there are none.
    PoolFamily {
        prefixes: &["pgbouncer_pools_"],
        members: PoolMembers::Connections,
        labels: &["database", "user"],
        metrics: &[
            ("client_waiting_connections", Role::PoolWaiting),
            ("server_active_connections", Role::PoolInUse),
            ("server_idle_connections", Role::PoolIdle),
            ("cl_waiting", Role::PoolWaiting),
            ("sv_active", Role::PoolInUse),
            ("sv_idle", Role::PoolIdle),
        ],
    },
    // The DBStats collector of Go's client_golang. It does not count waiting requests.
    PoolFamily {
        prefixes: &["go_sql_"],
        members: PoolMembers::Connections,
        labels: &["db_name"],
        metrics: &[
            ("open_connections", Role::PoolSize),
            ("in_use_connections", Role::PoolInUse),
            ("idle_connections", Role::PoolIdle),
            ("max_open_connections", Role::PoolSizeMax),
            ("wait_count_total", Role::PoolWaits),
            ("wait_duration_seconds_total", Role::PoolWaitTime),
        ],
    },
    // HAProxy, by its own exporter and by haproxy_exporter. Requests beyond the sum of `maxconn` of a backend's servers wait in the queue of the backend.
    PoolFamily {
        prefixes: &["haproxy_server_"],
        members: PoolMembers::Connections,
        labels: &["proxy", "backend"],
        metrics: &[("current_sessions", Role::PoolInUse), ("limit_sessions", Role::PoolSizeMax), ("current_queue", Role::PoolWaiting)],
    },
    PoolFamily {
        prefixes: &["haproxy_backend_"],
        members: PoolMembers::Connections,
        labels: &["proxy", "backend"],
        metrics: &[("current_queue", Role::PoolWaiting)],
    },
    // Micrometer's binders for request threads and executors.
    PoolFamily {
        prefixes: &["tomcat_threads_"],
        members: PoolMembers::Threads,
        labels: &["name"],
        metrics: &[("busy_threads", Role::PoolInUse), ("current_threads", Role::PoolSize), ("config_max_threads", Role::PoolSizeMax)],
    },
    PoolFamily {
        prefixes: &["jetty_threads_"],
        members: PoolMembers::Threads,
        labels: &[],
        metrics: &[
            ("busy", Role::PoolInUse),
            ("current", Role::PoolSize),
            ("idle", Role::PoolIdle),
            ("config_max", Role::PoolSizeMax),
            ("jobs", Role::PoolWaiting),
        ],
    },
    // Jetty, by the QueuedThreadPool collectors of the Prometheus Java client. Its current threads include idle ones.
    PoolFamily {
        prefixes: &["jetty_queued_thread_pool_"],
        members: PoolMembers::Threads,
        labels: &["unit"],
        metrics: &[
            ("threads", Role::PoolSize),
            ("threads_idle", Role::PoolIdle),
            ("threads_max", Role::PoolSizeMax),
            ("jobs", Role::PoolWaiting),
        ],
    },
    // Tomcat, by the JMX exporter.
    PoolFamily {
        prefixes: &["tomcat_threadpool_"],
        members: PoolMembers::Threads,
        labels: &["name", "port", "protocol"],
        metrics: &[("currentthreadsbusy", Role::PoolInUse), ("currentthreadcount", Role::PoolSize), ("maxthreads", Role::PoolSizeMax)],
    },
    PoolFamily {
        prefixes: &["executor_"],
        members: PoolMembers::Threads,
        labels: &["name"],
        metrics: &[
            ("active_threads", Role::PoolInUse),
            ("pool_size_threads", Role::PoolSize),
            ("pool_max_threads", Role::PoolSizeMax),
            ("queued_tasks", Role::PoolWaiting),
        ],
    },
    // Agroal (Quarkus), by Micrometer and by MicroProfile Metrics.
    PoolFamily {
        prefixes: &["agroal_", "vendor_agroal_"],
        members: PoolMembers::Connections,
        labels: &["datasource"],
        metrics: &[
            ("active_count", Role::PoolInUse),
            ("available_count", Role::PoolIdle),
            ("awaiting_count", Role::PoolWaiting),
            ("acquire_count_total", Role::PoolAcquisitions),
        ],
    },
    // Micrometer's binder for any JDBC data source (Tomcat's pool, DBCP2).
    PoolFamily {
        prefixes: &["jdbc_connections_"],
        members: PoolMembers::Connections,
        labels: &["name"],
        metrics: &[("active", Role::PoolInUse), ("idle", Role::PoolIdle), ("max", Role::PoolSizeMax)],
    },
    // Micrometer's binder for Apache Commons Pool 2 (DBCP2).
    PoolFamily {
        prefixes: &["commons_pool2_"],
        members: PoolMembers::Connections,
        labels: &["name"],
        metrics: &[
            ("num_active_objects", Role::PoolInUse),
            ("num_idle_objects", Role::PoolIdle),
            ("num_waiters_threads", Role::PoolWaiting),
        ],
    },
    // c3p0, by Metabase. A label names the database.
    PoolFamily {
        prefixes: &["c3p0_"],
        members: PoolMembers::Connections,
        labels: &["database"],
        metrics: &[
            ("num_connections", Role::PoolSize),
            ("num_busy_connections", Role::PoolInUse),
            ("num_idle_connections", Role::PoolIdle),
            ("num_threads_awaiting_checkout_default_user", Role::PoolWaiting),
            ("max_pool_size", Role::PoolSizeMax),
        ],
    },
    // pg-pool of Node, by node-postgres-prometheus-exporter.
    PoolFamily {
        prefixes: &["pg_pool_"],
        members: PoolMembers::Connections,
        labels: &["host", "database"],
        metrics: &[
            ("size", Role::PoolSize),
            ("max", Role::PoolSizeMax),
            ("active_connections", Role::PoolInUse),
            ("idle_connections", Role::PoolIdle),
            ("waiting_connections", Role::PoolWaiting),
        ],
    },
    // Spring Boot's binder for r2dbc-pool.
    PoolFamily {
        prefixes: &["r2dbc_pool_"],
        members: PoolMembers::Connections,
        labels: &["name"],
        metrics: &[
            ("acquired_connections", Role::PoolInUse),
            ("allocated_connections", Role::PoolSize),
            ("idle_connections", Role::PoolIdle),
            ("pending_connections", Role::PoolWaiting),
            ("max_allocated_connections", Role::PoolSizeMax),
        ],
    },
    // WildFly's data sources. The active connections of IronJacamar are the open ones, and its wait count is a total.
    PoolFamily {
        prefixes: &["wildfly_datasources_pool_"],
        members: PoolMembers::Connections,
        labels: &["data_source", "xa_data_source"],
        metrics: &[("in_use_count", Role::PoolInUse), ("active_count", Role::PoolSize), ("idle_count", Role::PoolIdle)],
    },
    // Active Record, by prometheus_exporter and by yabeda. Each process has its own pools.
    PoolFamily {
        prefixes: &["active_record_connection_pool_", "ruby_active_record_connection_pool_", "rails_connection_pool_"],
        members: PoolMembers::Connections,
        labels: &["pid", "pool_name"],
        metrics: &[
            ("busy", Role::PoolInUse),
            ("connections", Role::PoolSize),
            ("idle", Role::PoolIdle),
            ("waiting", Role::PoolWaiting),
            ("size", Role::PoolSizeMax),
        ],
    },
    // Prisma's query engine.
    PoolFamily {
        prefixes: &["prisma_"],
        members: PoolMembers::Connections,
        labels: &[],
        metrics: &[
            ("pool_connections_open", Role::PoolSize),
            ("pool_connections_busy", Role::PoolInUse),
            ("pool_connections_idle", Role::PoolIdle),
            ("client_queries_wait", Role::PoolWaiting),
        ],
    },
    // Puma, by prometheus_exporter, its metrics plugin and yabeda. The pool's capacity is the number of requests that it could accept now.
    PoolFamily {
        prefixes: &["puma_", "ruby_puma_"],
        members: PoolMembers::Threads,
        labels: &["index", "pid", "worker"],
        metrics: &[
            ("busy_threads", Role::PoolInUse),
            ("active_connections", Role::PoolInUse),
            ("running", Role::PoolSize),
            ("running_threads", Role::PoolSize),
            ("pool_capacity", Role::PoolIdle),
            ("thread_pool_capacity", Role::PoolIdle),
            ("backlog", Role::PoolWaiting),
            ("request_backlog", Role::PoolWaiting),
            ("queued_connections", Role::PoolWaiting),
            ("max_threads", Role::PoolSizeMax),
        ],
    },
    // Unicorn, by prometheus_exporter and by GitLab. Both read the accepted and the queued connections of its sockets with raindrops.
    PoolFamily {
        prefixes: &["ruby_unicorn_", "unicorn_"],
        members: PoolMembers::Threads,
        labels: &[],
        metrics: &[
            ("active_workers", Role::PoolInUse),
            ("active_workers_total", Role::PoolInUse),
            ("active_connections", Role::PoolInUse),
            ("workers", Role::PoolSize),
            ("workers_total", Role::PoolSize),
            ("request_backlog", Role::PoolWaiting),
            ("request_backlog_total", Role::PoolWaiting),
            ("queued_connections", Role::PoolWaiting),
        ],
    },
    // uWSGI, by uwsgi_exporter and by its own exporter plugin: a series for each worker, whose sum is the number of busy workers. Its statistics server
    // calls the length of the socket's queue by different names.
    PoolFamily {
        prefixes: &["uwsgi_"],
        members: PoolMembers::Threads,
        labels: &[],
        metrics: &[
            ("worker_busy", Role::PoolInUse),
            ("workers", Role::PoolSize),
            ("listen_queue", Role::PoolWaiting),
            ("listen_queue_length", Role::PoolWaiting),
            ("listen_queue_requests", Role::PoolWaiting),
        ],
    },
    // gunicorn reports its workers and, from version 26, the queue of its sockets (StatsD), but not how many workers are busy.
    PoolFamily {
        prefixes: &["gunicorn_", "gunicorn."],
        members: PoolMembers::Threads,
        labels: &["app"],
        metrics: &[("workers", Role::PoolSize), ("backlog", Role::PoolWaiting)],
    },
    // PHP-FPM's own status as OpenMetrics, and php-fpm_exporter.
    PoolFamily {
        prefixes: &["phpfpm_"],
        members: PoolMembers::Threads,
        labels: &["pool"],
        metrics: &[
            ("active_processes", Role::PoolInUse),
            ("idle_processes", Role::PoolIdle),
            ("total_processes", Role::PoolSize),
            ("listen_queue", Role::PoolWaiting),
            ("pm_max_children_config", Role::PoolSizeMax),
        ],
    },
    // Passenger, by the exporters that read `passenger-status`, and by xing's exporter with a pool for each group of an application. A request waits in one
    // of three lists: at the top while no process can be started for its application, and of the application and its group while all processes are busy.
    PoolFamily {
        prefixes: &["passenger_nginx_", "passenger_"],
        members: PoolMembers::Threads,
        labels: &["group_name"],
        metrics: &[
            ("current_sessions", Role::PoolInUse),
            ("processes_active", Role::PoolInUse),
            ("current_processes", Role::PoolSize),
            ("capacity", Role::PoolSize),
            ("max_processes", Role::PoolSizeMax),
            ("top_level_queue", Role::PoolWaiting),
            ("top_level_request_queue", Role::PoolWaiting),
            ("app_queue", Role::PoolWaiting),
            ("app_request_queue", Role::PoolWaiting),
            ("app_group_queue", Role::PoolWaiting),
            ("wait_list_size", Role::PoolWaiting),
        ],
    },
    // Vert.x, by its Micrometer metrics and by Quarkus.
    PoolFamily {
        prefixes: &["vertx_pool_", "worker_pool_"],
        members: PoolMembers::Threads,
        labels: &["pool_type", "pool_name"],
        metrics: &[
            ("in_use", Role::PoolInUse),
            ("active", Role::PoolInUse),
            ("idle", Role::PoolIdle),
            ("queue_pending", Role::PoolWaiting),
            ("queue_size", Role::PoolWaiting),
            ("queue_time_seconds_sum", Role::PoolWaitTime),
            ("queue_delay_seconds_sum", Role::PoolWaitTime),
            ("usage_seconds_sum", Role::PoolUseTime),
        ],
    },
    // The task workers of Undertow's XNIO, by WildFly.
    PoolFamily {
        prefixes: &["wildfly_io_"],
        members: PoolMembers::Threads,
        labels: &["worker"],
        metrics: &[("busy_task_thread_count", Role::PoolInUse), ("max_pool_size", Role::PoolSizeMax), ("queue_size", Role::PoolWaiting)],
    },
];
