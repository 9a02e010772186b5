//! Tests of the meaning of pool metrics, with expositions of well-known exporters and clients.

use loadstone_metrics::{Role, Signal};

use super::{Prometheus, text};
use crate::collector::SignalCollector;
use crate::http::Address;

/// Role, part and metric of all signals that have a role, in the order of the text.
fn meanings(exposition: &str) -> Vec<(Role, String, String)> {
    let prometheus = Prometheus { address: Address::parse("http://h/m").unwrap(), only: Vec::new() };
    let mut out = SignalCollector::new("app");
    text::samples(exposition).for_each(|sample| prometheus.put(&sample, &mut out));
    let metric = |signal: &Signal| signal.name.trim_start_matches("app/").split('{').next().unwrap().to_owned();
    out.finish(0).iter().filter_map(|(signal, _)| Some((signal.role?, signal.part.clone(), metric(signal)))).collect()
}

fn assert_meanings(exposition: &str, expected: &[(Role, &str, &str)]) {
    let found = meanings(exposition);
    let found: Vec<(Role, &str, &str)> = found.iter().map(|(role, part, metric)| (*role, part.as_str(), metric.as_str())).collect();
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
