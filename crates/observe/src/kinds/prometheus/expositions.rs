//! Tests of the meaning of pool metrics, with expositions of well-known exporters and clients.

mod application_servers;

use loadstone_metrics::{Role, Signal};

use super::{Prometheus, text};
use crate::collector::SignalCollector;
use crate::http::Address;

/// Role, part and metric of all signals that have a role.
fn meanings(exposition: &str) -> Vec<(Role, String, String)> {
    let prometheus = Prometheus { address: Address::parse("http://h/m").unwrap(), only: Vec::new() };
    let mut out = SignalCollector::new("app");
    text::samples(exposition).for_each(|sample| prometheus.put(&sample, &mut out));
    let metric = |signal: &Signal| signal.name.trim_start_matches("app/").split('{').next().unwrap().to_owned();
    out.finish(0).iter().filter_map(|(signal, _)| Some((signal.role?, signal.part.clone(), metric(signal)))).collect()
}

fn assert_meanings(exposition: &str, expected: &[(Role, &str, &str)]) {
    let found = meanings(exposition);
    let mut found: Vec<(Role, &str, &str)> = found.iter().map(|(role, part, metric)| (*role, part.as_str(), metric.as_str())).collect();
    let mut expected = expected.to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

/// Spring Boot 3 with Micrometer, `/actuator/prometheus`.
#[test]
fn hikaricp_by_micrometer() {
    let exposition = r#"# HELP hikaricp_connections Total connections
# TYPE hikaricp_connections gauge
hikaricp_connections{pool="HikariPool-1"} 10.0
# HELP hikaricp_connections_acquire_seconds Connection acquire time
# TYPE hikaricp_connections_acquire_seconds summary
hikaricp_connections_acquire_seconds_count{pool="HikariPool-1"} 1523
hikaricp_connections_acquire_seconds_sum{pool="HikariPool-1"} 211.903
# HELP hikaricp_connections_acquire_seconds_max Connection acquire time
# TYPE hikaricp_connections_acquire_seconds_max gauge
hikaricp_connections_acquire_seconds_max{pool="HikariPool-1"} 0.412
# HELP hikaricp_connections_active Active connections
# TYPE hikaricp_connections_active gauge
hikaricp_connections_active{pool="HikariPool-1"} 10.0
# HELP hikaricp_connections_creation_seconds_max Connection creation time
# TYPE hikaricp_connections_creation_seconds_max gauge
hikaricp_connections_creation_seconds_max{pool="HikariPool-1"} 0.0
# HELP hikaricp_connections_creation_seconds Connection creation time
# TYPE hikaricp_connections_creation_seconds summary
hikaricp_connections_creation_seconds_count{pool="HikariPool-1"} 9
hikaricp_connections_creation_seconds_sum{pool="HikariPool-1"} 0.071
# HELP hikaricp_connections_idle Idle connections
# TYPE hikaricp_connections_idle gauge
hikaricp_connections_idle{pool="HikariPool-1"} 0.0
# HELP hikaricp_connections_max Max connections
# TYPE hikaricp_connections_max gauge
hikaricp_connections_max{pool="HikariPool-1"} 10.0
# HELP hikaricp_connections_min Min connections
# TYPE hikaricp_connections_min gauge
hikaricp_connections_min{pool="HikariPool-1"} 10.0
# HELP hikaricp_connections_pending Pending threads
# TYPE hikaricp_connections_pending gauge
hikaricp_connections_pending{pool="HikariPool-1"} 27.0
# HELP hikaricp_connections_timeout_total Connection timeout total count
# TYPE hikaricp_connections_timeout_total counter
hikaricp_connections_timeout_total{pool="HikariPool-1"} 0.0
# HELP hikaricp_connections_usage_seconds Connection usage time
# TYPE hikaricp_connections_usage_seconds summary
hikaricp_connections_usage_seconds_count{pool="HikariPool-1"} 1513
hikaricp_connections_usage_seconds_sum{pool="HikariPool-1"} 84.207
# HELP hikaricp_connections_usage_seconds_max Connection usage time
# TYPE hikaricp_connections_usage_seconds_max gauge
hikaricp_connections_usage_seconds_max{pool="HikariPool-1"} 0.093
"#;
    let pool = "HikariPool-1";
    assert_meanings(
        exposition,
        &[
            (Role::PoolSize, pool, "hikaricp_connections"),
            (Role::PoolAcquisitions, pool, "hikaricp_connections_acquire_seconds_count"),
            (Role::PoolWaitTime, pool, "hikaricp_connections_acquire_seconds_sum"),
            (Role::PoolInUse, pool, "hikaricp_connections_active"),
            (Role::PoolIdle, pool, "hikaricp_connections_idle"),
            (Role::PoolSizeMax, pool, "hikaricp_connections_max"),
            (Role::PoolWaiting, pool, "hikaricp_connections_pending"),
            (Role::PoolUseTime, pool, "hikaricp_connections_usage_seconds_sum"),
        ],
    );
}

/// HikariCP's own `PrometheusMetricsTrackerFactory`: times are in nanoseconds and milliseconds, and have no role.
#[test]
fn hikaricp_by_itself() {
    let exposition = r#"# HELP hikaricp_connection_timeout_total Connection timeout total count
# TYPE hikaricp_connection_timeout_total counter
hikaricp_connection_timeout_total{pool="shop",} 0.0
# HELP hikaricp_connection_acquired_nanos Connection acquired time (ns)
# TYPE hikaricp_connection_acquired_nanos summary
hikaricp_connection_acquired_nanos{pool="shop",quantile="0.95",} 2.1E7
hikaricp_connection_acquired_nanos_count{pool="shop",} 88.0
hikaricp_connection_acquired_nanos_sum{pool="shop",} 9.1E8
# HELP hikaricp_active_connections Active connections
# TYPE hikaricp_active_connections gauge
hikaricp_active_connections{pool="shop",} 10.0
# HELP hikaricp_idle_connections Idle connections
# TYPE hikaricp_idle_connections gauge
hikaricp_idle_connections{pool="shop",} 0.0
# HELP hikaricp_pending_threads Pending threads
# TYPE hikaricp_pending_threads gauge
hikaricp_pending_threads{pool="shop",} 4.0
# HELP hikaricp_connections The number of current connections
# TYPE hikaricp_connections gauge
hikaricp_connections{pool="shop",} 10.0
# HELP hikaricp_max_connections Max connections
# TYPE hikaricp_max_connections gauge
hikaricp_max_connections{pool="shop",} 10.0
# HELP hikaricp_min_connections Min connections
# TYPE hikaricp_min_connections gauge
hikaricp_min_connections{pool="shop",} 10.0
"#;
    assert_meanings(
        exposition,
        &[
            (Role::PoolInUse, "shop", "hikaricp_active_connections"),
            (Role::PoolIdle, "shop", "hikaricp_idle_connections"),
            (Role::PoolWaiting, "shop", "hikaricp_pending_threads"),
            (Role::PoolSize, "shop", "hikaricp_connections"),
            (Role::PoolSizeMax, "shop", "hikaricp_max_connections"),
        ],
    );
}

/// prometheus-community/pgbouncer_exporter: every pair of database and user has a pool.
#[test]
fn pgbouncer() {
    let exposition = r#"# HELP pgbouncer_databases_pool_size Maximum number of server connections
# TYPE pgbouncer_databases_pool_size gauge
pgbouncer_databases_pool_size{database="shop",force_user="",host="127.0.0.1",name="shop",pool_mode="transaction",port="5432"} 20
# HELP pgbouncer_pools_client_active_connections Client connections linked to server connection and able to process queries, shown as connection
# TYPE pgbouncer_pools_client_active_connections gauge
pgbouncer_pools_client_active_connections{database="shop",user="app"} 20
pgbouncer_pools_client_active_connections{database="shop",user="batch"} 1
# HELP pgbouncer_pools_client_maximum_wait_seconds Age of oldest unserved client connection, shown as second
# TYPE pgbouncer_pools_client_maximum_wait_seconds gauge
pgbouncer_pools_client_maximum_wait_seconds{database="shop",user="app"} 0.7
# HELP pgbouncer_pools_client_waiting_connections Client connections waiting on a server connection, shown as connection
# TYPE pgbouncer_pools_client_waiting_connections gauge
pgbouncer_pools_client_waiting_connections{database="shop",user="app"} 35
pgbouncer_pools_client_waiting_connections{database="shop",user="batch"} 0
# HELP pgbouncer_pools_server_active_connections Server connections linked to a client connection, shown as connection
# TYPE pgbouncer_pools_server_active_connections gauge
pgbouncer_pools_server_active_connections{database="shop",user="app"} 20
# HELP pgbouncer_pools_server_idle_connections Server connections idle and ready for a client query, shown as connection
# TYPE pgbouncer_pools_server_idle_connections gauge
pgbouncer_pools_server_idle_connections{database="shop",user="app"} 0
# HELP pgbouncer_pools_server_used_connections Server connections idle more than server_check_delay, needing server_check_query, shown as connection
# TYPE pgbouncer_pools_server_used_connections gauge
pgbouncer_pools_server_used_connections{database="shop",user="app"} 0
# HELP pgbouncer_stats_client_wait_seconds_total Time spent by clients waiting for a server in seconds
# TYPE pgbouncer_stats_client_wait_seconds_total counter
pgbouncer_stats_client_wait_seconds_total{database="shop"} 1210.5
"#;
    let pool_roles: Vec<_> = meanings(exposition).into_iter().filter(|(_, _, metric)| metric.starts_with("pgbouncer_pools_")).collect();
    let expected = [
        (Role::PoolWaiting, "shop/app", "pgbouncer_pools_client_waiting_connections"),
        (Role::PoolWaiting, "shop/batch", "pgbouncer_pools_client_waiting_connections"),
        (Role::PoolInUse, "shop/app", "pgbouncer_pools_server_active_connections"),
        (Role::PoolIdle, "shop/app", "pgbouncer_pools_server_idle_connections"),
    ];
    assert_eq!(pool_roles, expected.map(|(role, part, metric)| (role, part.to_owned(), metric.to_owned())));
    let others = meanings(exposition).into_iter().filter(|(_, part, _)| part.starts_with("shop/")).count();
    assert_eq!(others, 4, "nothing else is taken for a part of these pools");
}

/// `collectors.NewDBStatsCollector(db, "shop")` of client_golang.
#[test]
fn go_database_sql() {
    let exposition = r#"# HELP go_sql_idle_connections The number of idle connections.
# TYPE go_sql_idle_connections gauge
go_sql_idle_connections{db_name="shop"} 0
# HELP go_sql_in_use_connections The number of connections currently in use.
# TYPE go_sql_in_use_connections gauge
go_sql_in_use_connections{db_name="shop"} 8
# HELP go_sql_max_idle_closed_total The total number of connections closed due to SetMaxIdleConns.
# TYPE go_sql_max_idle_closed_total counter
go_sql_max_idle_closed_total{db_name="shop"} 12
# HELP go_sql_max_idle_time_closed_total The total number of connections closed due to SetConnMaxIdleTime.
# TYPE go_sql_max_idle_time_closed_total counter
go_sql_max_idle_time_closed_total{db_name="shop"} 0
# HELP go_sql_max_lifetime_closed_total The total number of connections closed due to SetConnMaxLifetime.
# TYPE go_sql_max_lifetime_closed_total counter
go_sql_max_lifetime_closed_total{db_name="shop"} 0
# HELP go_sql_max_open_connections Maximum number of open connections to the database.
# TYPE go_sql_max_open_connections gauge
go_sql_max_open_connections{db_name="shop"} 8
# HELP go_sql_open_connections The number of established connections both in use and idle.
# TYPE go_sql_open_connections gauge
go_sql_open_connections{db_name="shop"} 8
# HELP go_sql_wait_count_total The total number of connections waited for.
# TYPE go_sql_wait_count_total counter
go_sql_wait_count_total{db_name="shop"} 9311
# HELP go_sql_wait_duration_seconds_total The total time blocked waiting for a new connection.
# TYPE go_sql_wait_duration_seconds_total counter
go_sql_wait_duration_seconds_total{db_name="shop"} 502.75
"#;
    assert_meanings(
        exposition,
        &[
            (Role::PoolIdle, "shop", "go_sql_idle_connections"),
            (Role::PoolInUse, "shop", "go_sql_in_use_connections"),
            (Role::PoolSizeMax, "shop", "go_sql_max_open_connections"),
            (Role::PoolSize, "shop", "go_sql_open_connections"),
            (Role::PoolWaits, "shop", "go_sql_wait_count_total"),
            (Role::PoolWaitTime, "shop", "go_sql_wait_duration_seconds_total"),
        ],
    );
}

/// Dropwizard's `DropwizardExports`: gauges of every pool by name, no labels.
#[test]
fn dropwizard() {
    let exposition = r"# HELP io_dropwizard_db_ManagedPooledDataSource_hibernate_active Generated from Dropwizard metric import
# TYPE io_dropwizard_db_ManagedPooledDataSource_hibernate_active gauge
io_dropwizard_db_ManagedPooledDataSource_hibernate_active 32.0
# TYPE io_dropwizard_db_ManagedPooledDataSource_hibernate_idle gauge
io_dropwizard_db_ManagedPooledDataSource_hibernate_idle 0.0
# TYPE io_dropwizard_db_ManagedPooledDataSource_hibernate_size gauge
io_dropwizard_db_ManagedPooledDataSource_hibernate_size 32.0
# TYPE io_dropwizard_db_ManagedPooledDataSource_hibernate_waiting gauge
io_dropwizard_db_ManagedPooledDataSource_hibernate_waiting 11.0
# TYPE io_dropwizard_jetty_MutableServletContextHandler_active_requests gauge
io_dropwizard_jetty_MutableServletContextHandler_active_requests 43.0
# TYPE jvm_threads_waiting_count gauge
jvm_threads_waiting_count 12.0
";
    let pool = "io_dropwizard_db_ManagedPooledDataSource_hibernate";
    assert_meanings(
        exposition,
        &[
            (Role::PoolInUse, pool, "io_dropwizard_db_ManagedPooledDataSource_hibernate_active"),
            (Role::PoolIdle, pool, "io_dropwizard_db_ManagedPooledDataSource_hibernate_idle"),
            (Role::PoolSize, pool, "io_dropwizard_db_ManagedPooledDataSource_hibernate_size"),
            (Role::PoolWaiting, pool, "io_dropwizard_db_ManagedPooledDataSource_hibernate_waiting"),
        ],
    );
}

/// Keycloak 26 (Quarkus with Micrometer), `/metrics` of its management port.
#[test]
fn agroal_and_worker_pools_by_quarkus() {
    let exposition = r#"# TYPE agroal_active_count gauge
# HELP agroal_active_count Number of active connections. These connections are in use and not available to be acquired.
agroal_active_count{datasource="default"} 2.0
# TYPE agroal_available_count gauge
# HELP agroal_available_count Number of idle connections in the pool, available to be acquired.
agroal_available_count{datasource="default"} 0.0
# TYPE agroal_awaiting_count gauge
# HELP agroal_awaiting_count Approximate number of threads blocked, waiting to acquire a connection.
agroal_awaiting_count{datasource="default"} 26.0
# TYPE agroal_max_used_count gauge
agroal_max_used_count{datasource="default"} 2.0
# TYPE agroal_acquire_count counter
agroal_acquire_count_total{datasource="default"} 2171.0
# TYPE agroal_blocking_time_average_milliseconds gauge
agroal_blocking_time_average_milliseconds{datasource="default"} 311.0
# TYPE worker_pool_active gauge
# HELP worker_pool_active The number of resources from the pool currently used
worker_pool_active{pool_name="vert.x-worker-thread",pool_type="worker"} 3.0
# TYPE worker_pool_idle gauge
worker_pool_idle{pool_name="vert.x-worker-thread",pool_type="worker"} 17.0
# TYPE worker_pool_queue_size gauge
# HELP worker_pool_queue_size Number of pending elements in the waiting queue
worker_pool_queue_size{pool_name="vert.x-worker-thread",pool_type="worker"} 0.0
# TYPE worker_pool_ratio gauge
worker_pool_ratio{pool_name="vert.x-worker-thread",pool_type="worker"} 0.15
"#;
    let worker = "worker/vert.x-worker-thread";
    assert_meanings(
        exposition,
        &[
            (Role::PoolAcquisitions, "default", "agroal_acquire_count_total"),
            (Role::PoolInUse, "default", "agroal_active_count"),
            (Role::PoolIdle, "default", "agroal_available_count"),
            (Role::PoolWaiting, "default", "agroal_awaiting_count"),
            (Role::PoolInUse, worker, "worker_pool_active"),
            (Role::PoolIdle, worker, "worker_pool_idle"),
            (Role::PoolWaiting, worker, "worker_pool_queue_size"),
        ],
    );
}

/// HAProxy 2.6 with two servers of `maxconn 1`. Frontends and the backend's own sessions are no part of the pool.
#[test]
fn haproxy_servers_and_the_queue_of_their_backend() {
    let exposition = r#"# TYPE haproxy_frontend_current_sessions gauge
haproxy_frontend_current_sessions{proxy="f"} 20
# TYPE haproxy_backend_current_queue gauge
haproxy_backend_current_queue{proxy="b"} 18
# TYPE haproxy_backend_current_sessions gauge
haproxy_backend_current_sessions{proxy="b"} 20
# TYPE haproxy_backend_limit_sessions gauge
haproxy_backend_limit_sessions{proxy="b"} 200
# TYPE haproxy_server_current_sessions gauge
haproxy_server_current_sessions{proxy="b",server="s1"} 1
haproxy_server_current_sessions{proxy="b",server="s2"} 1
# TYPE haproxy_server_limit_sessions gauge
haproxy_server_limit_sessions{proxy="b",server="s1"} 1
haproxy_server_limit_sessions{proxy="b",server="s2"} 1
"#;
    assert_meanings(
        exposition,
        &[
            (Role::PoolWaiting, "b", "haproxy_backend_current_queue"),
            (Role::PoolInUse, "b", "haproxy_server_current_sessions"),
            (Role::PoolInUse, "b", "haproxy_server_current_sessions"),
            (Role::PoolSizeMax, "b", "haproxy_server_limit_sessions"),
            (Role::PoolSizeMax, "b", "haproxy_server_limit_sessions"),
        ],
    );
}

/// A Go service that exports `sql.DBStats` under its own prefix, as gauges: open connections and those in use have different stems.
#[test]
fn database_sql_by_the_service_itself() {
    let exposition = r"# TYPE shop_db_connections_idle gauge
shop_db_connections_idle 0
# TYPE shop_db_connections_in_use gauge
shop_db_connections_in_use 2
# TYPE shop_db_connections_max_idle_closed gauge
shop_db_connections_max_idle_closed 17
# TYPE shop_db_connections_max_lifetime_closed gauge
shop_db_connections_max_lifetime_closed 8
# TYPE shop_db_connections_wait_count gauge
shop_db_connections_wait_count 14474
# TYPE shop_db_open_connections gauge
shop_db_open_connections 2
";
    let pool = "shop_db";
    assert_meanings(
        exposition,
        &[
            (Role::PoolIdle, pool, "shop_db_connections_idle"),
            (Role::PoolInUse, pool, "shop_db_connections_in_use"),
            (Role::PoolSize, pool, "shop_db_open_connections"),
            // Declared as a gauge, though it is a total.
            (Role::PoolWaits, pool, "shop_db_connections_wait_count"),
        ],
    );
}

/// Rails on Puma with prometheus_exporter.
#[test]
fn puma_and_active_record() {
    let exposition = r#"# HELP ruby_puma_workers Number of puma workers
# TYPE ruby_puma_workers gauge
ruby_puma_workers{phase="0"} 1
# TYPE ruby_puma_running_threads gauge
ruby_puma_running_threads{phase="0"} 8
# TYPE ruby_puma_request_backlog gauge
ruby_puma_request_backlog{phase="0"} 13
# TYPE ruby_puma_thread_pool_capacity gauge
ruby_puma_thread_pool_capacity{phase="0"} 0
# TYPE ruby_puma_max_threads gauge
ruby_puma_max_threads{phase="0"} 8
# TYPE ruby_active_record_connection_pool_connections gauge
ruby_active_record_connection_pool_connections{pool_name="primary",pid="42"} 1
# TYPE ruby_active_record_connection_pool_busy gauge
ruby_active_record_connection_pool_busy{pool_name="primary",pid="42"} 1
# TYPE ruby_active_record_connection_pool_dead gauge
ruby_active_record_connection_pool_dead{pool_name="primary",pid="42"} 0
# TYPE ruby_active_record_connection_pool_idle gauge
ruby_active_record_connection_pool_idle{pool_name="primary",pid="42"} 0
# TYPE ruby_active_record_connection_pool_waiting gauge
ruby_active_record_connection_pool_waiting{pool_name="primary",pid="42"} 7
# TYPE ruby_active_record_connection_pool_size gauge
ruby_active_record_connection_pool_size{pool_name="primary",pid="42"} 1
"#;
    let pool = "42/primary";
    assert_meanings(
        exposition,
        &[
            (Role::PoolInUse, pool, "ruby_active_record_connection_pool_busy"),
            (Role::PoolSize, pool, "ruby_active_record_connection_pool_connections"),
            (Role::PoolIdle, pool, "ruby_active_record_connection_pool_idle"),
            (Role::PoolSizeMax, pool, "ruby_active_record_connection_pool_size"),
            (Role::PoolWaiting, pool, "ruby_active_record_connection_pool_waiting"),
            (Role::PoolSizeMax, "ruby_puma", "ruby_puma_max_threads"),
            (Role::PoolWaiting, "ruby_puma", "ruby_puma_request_backlog"),
            (Role::PoolSize, "ruby_puma", "ruby_puma_running_threads"),
            (Role::PoolIdle, "ruby_puma", "ruby_puma_thread_pool_capacity"),
        ],
    );
}

/// OpenTelemetry's semantic conventions as Npgsql, MySqlConnector and the Java agent export them, before and after they became stable.
#[test]
fn database_clients_by_opentelemetry() {
    let exposition = r#"# TYPE db_client_connection_count gauge
db_client_connection_count{db_client_connection_pool_name="shop",db_client_connection_state="idle"} 0
db_client_connection_count{db_client_connection_pool_name="shop",db_client_connection_state="used"} 10
# TYPE db_client_connection_max gauge
db_client_connection_max{db_client_connection_pool_name="shop"} 10
# TYPE db_client_connection_pending_requests gauge
db_client_connection_pending_requests{db_client_connection_pool_name="shop"} 4
# TYPE db_client_connections_usage gauge
db_client_connections_usage{pool_name="old",state="idle"} 1
db_client_connections_usage{pool_name="old",state="used"} 9
# TYPE db_client_connections_idle_max gauge
db_client_connections_idle_max{pool_name="old"} 10
# TYPE db_client_connections_max gauge
db_client_connections_max{pool_name="old"} 10
# TYPE db_client_connections_pending_requests gauge
db_client_connections_pending_requests{pool_name="old"} 0
"#;
    assert_meanings(
        exposition,
        &[
            (Role::PoolIdle, "shop", "db_client_connection_count"),
            (Role::PoolInUse, "shop", "db_client_connection_count"),
            (Role::PoolSizeMax, "shop", "db_client_connection_max"),
            (Role::PoolWaiting, "shop", "db_client_connection_pending_requests"),
            (Role::PoolSizeMax, "old", "db_client_connections_max"),
            (Role::PoolWaiting, "old", "db_client_connections_pending_requests"),
            (Role::PoolIdle, "old", "db_client_connections_usage"),
            (Role::PoolInUse, "old", "db_client_connections_usage"),
        ],
    );
}

/// r2dbc-pool by Spring Boot, Prisma's engine, and WildFly's data sources and task workers.
#[test]
fn further_clients_by_their_rows() {
    let exposition = r#"# TYPE prisma_client_queries_wait gauge
prisma_client_queries_wait 3
# TYPE prisma_pool_connections_busy gauge
prisma_pool_connections_busy 5
# TYPE prisma_pool_connections_idle gauge
prisma_pool_connections_idle 0
# TYPE prisma_pool_connections_open gauge
prisma_pool_connections_open 5
# TYPE r2dbc_pool_acquired_connections gauge
r2dbc_pool_acquired_connections{name="connectionFactory",} 10.0
# TYPE r2dbc_pool_max_allocated_connections gauge
r2dbc_pool_max_allocated_connections{name="connectionFactory",} 10.0
# TYPE r2dbc_pool_max_pending_connections gauge
r2dbc_pool_max_pending_connections{name="connectionFactory",} 2.147483647E9
# TYPE r2dbc_pool_pending_connections gauge
r2dbc_pool_pending_connections{name="connectionFactory",} 6.0
# TYPE wildfly_datasources_pool_active_count gauge
wildfly_datasources_pool_active_count{data_source="KeycloakDS"} 4.0
# TYPE wildfly_datasources_pool_in_use_count gauge
wildfly_datasources_pool_in_use_count{data_source="KeycloakDS"} 4.0
# TYPE wildfly_datasources_pool_wait_count gauge
wildfly_datasources_pool_wait_count{data_source="KeycloakDS"} 912.0
# TYPE wildfly_io_busy_task_thread_count gauge
wildfly_io_busy_task_thread_count{worker="default"} 16.0
# TYPE wildfly_io_max_pool_size gauge
wildfly_io_max_pool_size{worker="default"} 16.0
# TYPE wildfly_io_queue_size gauge
wildfly_io_queue_size{worker="default"} 21.0
"#;
    let (prisma, r2dbc, wildfly) = ("prisma", "connectionFactory", "KeycloakDS");
    assert_meanings(
        exposition,
        &[
            (Role::PoolWaiting, prisma, "prisma_client_queries_wait"),
            (Role::PoolInUse, prisma, "prisma_pool_connections_busy"),
            (Role::PoolIdle, prisma, "prisma_pool_connections_idle"),
            (Role::PoolSize, prisma, "prisma_pool_connections_open"),
            (Role::PoolInUse, r2dbc, "r2dbc_pool_acquired_connections"),
            (Role::PoolSizeMax, r2dbc, "r2dbc_pool_max_allocated_connections"),
            (Role::PoolWaiting, r2dbc, "r2dbc_pool_pending_connections"),
            (Role::PoolSize, wildfly, "wildfly_datasources_pool_active_count"),
            (Role::PoolInUse, wildfly, "wildfly_datasources_pool_in_use_count"),
            (Role::PoolInUse, "default", "wildfly_io_busy_task_thread_count"),
            (Role::PoolSizeMax, "default", "wildfly_io_max_pool_size"),
            (Role::PoolWaiting, "default", "wildfly_io_queue_size"),
        ],
    );
}

/// Threads of Jetty by the Prometheus Java client, and of Tomcat by the JMX exporter.
#[test]
fn request_threads_of_a_jvm() {
    let exposition = r#"# TYPE jetty_queued_thread_pool_threads gauge
jetty_queued_thread_pool_threads{unit="shop",} 8.0
# TYPE jetty_queued_thread_pool_threads_idle gauge
jetty_queued_thread_pool_threads_idle{unit="shop",} 0.0
# TYPE jetty_queued_thread_pool_threads_max gauge
jetty_queued_thread_pool_threads_max{unit="shop",} 8.0
# TYPE jetty_queued_thread_pool_jobs gauge
jetty_queued_thread_pool_jobs{unit="shop",} 21.0
# TYPE Tomcat_ThreadPool_currentThreadsBusy untyped
Tomcat_ThreadPool_currentThreadsBusy{name="http-nio-8080",} 4.0
# TYPE Tomcat_ThreadPool_maxThreads untyped
Tomcat_ThreadPool_maxThreads{name="http-nio-8080",} 4.0
# TYPE Tomcat_ThreadPool_acceptCount untyped
Tomcat_ThreadPool_acceptCount{name="http-nio-8080",} 100.0
"#;
    let tomcat = "http-nio-8080";
    assert_meanings(
        exposition,
        &[
            (Role::PoolSize, "shop", "jetty_queued_thread_pool_threads"),
            (Role::PoolIdle, "shop", "jetty_queued_thread_pool_threads_idle"),
            (Role::PoolSizeMax, "shop", "jetty_queued_thread_pool_threads_max"),
            (Role::PoolWaiting, "shop", "jetty_queued_thread_pool_jobs"),
            (Role::PoolInUse, tomcat, "Tomcat_ThreadPool_currentThreadsBusy"),
            (Role::PoolSizeMax, tomcat, "Tomcat_ThreadPool_maxThreads"),
        ],
    );
}

/// c3p0 by Metabase, pg-pool by its exporter, and SQLAlchemy's words for its pool, as services export them.
#[test]
fn clients_of_other_languages() {
    let exposition = r#"# TYPE c3p0_num_busy_connections gauge
c3p0_num_busy_connections{database="metabase",} 15.0
# TYPE c3p0_num_idle_connections gauge
c3p0_num_idle_connections{database="metabase",} 0.0
# TYPE c3p0_max_pool_size gauge
c3p0_max_pool_size{database="metabase",} 15.0
# TYPE c3p0_min_pool_size gauge
c3p0_min_pool_size{database="metabase",} 1.0
# TYPE c3p0_num_threads_awaiting_checkout_default_user gauge
c3p0_num_threads_awaiting_checkout_default_user{database="metabase",} 4.0
# TYPE pg_pool_connections_created_total counter
pg_pool_connections_created_total{host="localhost:5432",database="shop"} 10
# TYPE pg_pool_size gauge
pg_pool_size{host="localhost:5432",database="shop"} 10
# TYPE pg_pool_max gauge
pg_pool_max{host="localhost:5432",database="shop"} 10
# TYPE pg_pool_active_connections gauge
pg_pool_active_connections{host="localhost:5432",database="shop"} 10
# TYPE pg_pool_waiting_connections gauge
pg_pool_waiting_connections{host="localhost:5432",database="shop"} 7
# TYPE sqlalchemy_pool_size gauge
sqlalchemy_pool_size 5.0
# TYPE sqlalchemy_pool_checked_out gauge
sqlalchemy_pool_checked_out 15.0
# TYPE sqlalchemy_pool_checkedin gauge
sqlalchemy_pool_checkedin 0.0
# TYPE sqlalchemy_pool_overflow gauge
sqlalchemy_pool_overflow 10.0
"#;
    let (pg, alchemy) = ("localhost:5432/shop", "sqlalchemy_pool");
    assert_meanings(
        exposition,
        &[
            (Role::PoolInUse, "metabase", "c3p0_num_busy_connections"),
            (Role::PoolIdle, "metabase", "c3p0_num_idle_connections"),
            (Role::PoolSizeMax, "metabase", "c3p0_max_pool_size"),
            (Role::PoolWaiting, "metabase", "c3p0_num_threads_awaiting_checkout_default_user"),
            (Role::PoolSize, pg, "pg_pool_size"),
            (Role::PoolSizeMax, pg, "pg_pool_max"),
            (Role::PoolInUse, pg, "pg_pool_active_connections"),
            (Role::PoolWaiting, pg, "pg_pool_waiting_connections"),
            (Role::PoolSize, alchemy, "sqlalchemy_pool_size"),
            (Role::PoolInUse, alchemy, "sqlalchemy_pool_checked_out"),
            (Role::PoolIdle, alchemy, "sqlalchemy_pool_checkedin"),
        ],
    );
}

/// Brokers and job workers: RabbitMQ's plugin, celery-exporter, Flower, prometheus_exporter of Sidekiq, and BullMQ.
#[test]
fn queues_and_their_workers() {
    let exposition = r#"# TYPE rabbitmq_queue_messages_ready gauge
rabbitmq_queue_messages_ready{queue="mails",vhost="/"} 811
# TYPE rabbitmq_queue_messages_unacked gauge
rabbitmq_queue_messages_unacked{queue="mails",vhost="/"} 8
# TYPE celery_queue_length gauge
celery_queue_length{queue_name="celery"} 120.0
# TYPE celery_worker_tasks_active gauge
celery_worker_tasks_active{hostname="celery@one"} 2.0
# TYPE celery_active_process_count gauge
celery_active_process_count{queue_name="celery"} 2.0
# TYPE flower_worker_number_of_currently_executing_tasks gauge
flower_worker_number_of_currently_executing_tasks{worker="celery@one"} 2.0
# TYPE sidekiq_queue_backlog gauge
sidekiq_queue_backlog{queue="default",service="shop"} 40
# TYPE sidekiq_process_busy gauge
sidekiq_process_busy{labels="",queues="default",quiet="false",hostname="one",identity="one:1"} 5
# TYPE sidekiq_process_concurrency gauge
sidekiq_process_concurrency{labels="",queues="default",quiet="false",hostname="one",identity="one:1"} 5
# TYPE bullmq_job_count gauge
bullmq_job_count{queue="mails", state="waiting"} 5
bullmq_job_count{queue="mails", state="active"} 3
bullmq_job_count{queue="mails", state="completed"} 12
"#;
    assert_meanings(
        exposition,
        &[
            (Role::QueueLength, "mails", "rabbitmq_queue_messages_ready"),
            (Role::QueueTaken, "mails", "rabbitmq_queue_messages_unacked"),
            (Role::QueueLength, "celery", "celery_queue_length"),
            (Role::QueueTaken, "", "celery_worker_tasks_active"),
            (Role::QueueWorkers, "celery", "celery_active_process_count"),
            (Role::QueueTaken, "", "flower_worker_number_of_currently_executing_tasks"),
            (Role::QueueLength, "default", "sidekiq_queue_backlog"),
            (Role::QueueTaken, "", "sidekiq_process_busy"),
            (Role::QueueWorkers, "", "sidekiq_process_concurrency"),
            (Role::QueueLength, "mails", "bullmq_job_count"),
            (Role::QueueTaken, "mails", "bullmq_job_count"),
        ],
    );
}
