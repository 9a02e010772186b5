//! The workers of application servers, by their exporters.

use loadstone_metrics::Role;

use super::assert_meanings;

/// PHP-FPM's status page as OpenMetrics.
#[test]
fn php_fpm() {
    let exposition = r"# HELP phpfpm_up Could pool phpfpm be reached?
# TYPE phpfpm_up gauge
phpfpm_up 1
# TYPE phpfpm_accepted_connections counter
phpfpm_accepted_connections 437
# TYPE phpfpm_listen_queue gauge
phpfpm_listen_queue 9
# TYPE phpfpm_max_listen_queue gauge
phpfpm_max_listen_queue 12
# TYPE phpfpm_listen_queue_length gauge
phpfpm_listen_queue_length 511
# TYPE phpfpm_idle_processes gauge
phpfpm_idle_processes 0
# TYPE phpfpm_active_processes gauge
phpfpm_active_processes 6
# TYPE phpfpm_total_processes gauge
phpfpm_total_processes 6
# TYPE phpfpm_max_active_processes counter
phpfpm_max_active_processes 6
# TYPE phpfpm_max_children_reached counter
phpfpm_max_children_reached 1
";
    assert_meanings(
        exposition,
        &[
            (Role::PoolInUse, "phpfpm", "phpfpm_active_processes"),
            (Role::PoolIdle, "phpfpm", "phpfpm_idle_processes"),
            (Role::PoolWaiting, "phpfpm", "phpfpm_listen_queue"),
            (Role::PoolSize, "phpfpm", "phpfpm_total_processes"),
        ],
    );
}

/// Requests are served by worker processes: uwsgi_exporter, the statsd_exporter's names of gunicorn, and php-fpm_exporter with two pools.
#[test]
fn worker_processes() {
    let exposition = r#"# HELP uwsgi_listen_queue_length Length of listen queue.
# TYPE uwsgi_listen_queue_length gauge
uwsgi_listen_queue_length{stats_uri="tcp://127.0.0.1:1717"} 12
# TYPE uwsgi_workers gauge
uwsgi_workers{stats_uri="tcp://127.0.0.1:1717"} 2
# HELP uwsgi_worker_busy Is busy
# TYPE uwsgi_worker_busy gauge
uwsgi_worker_busy{stats_uri="tcp://127.0.0.1:1717",worker_id="1"} 1
uwsgi_worker_busy{stats_uri="tcp://127.0.0.1:1717",worker_id="2"} 1
# TYPE uwsgi_worker_requests_total counter
uwsgi_worker_requests_total{stats_uri="tcp://127.0.0.1:1717",worker_id="1"} 418
# TYPE gunicorn_workers gauge
gunicorn_workers{app="shop"} 8
# TYPE gunicorn_requests counter
gunicorn_requests{app="shop"} 90
# TYPE phpfpm_active_processes gauge
phpfpm_active_processes{pool="www",scrape_uri="tcp://127.0.0.1:9000/status"} 6
phpfpm_active_processes{pool="admin",scrape_uri="tcp://127.0.0.1:9001/status"} 1
# TYPE phpfpm_listen_queue gauge
phpfpm_listen_queue{pool="www",scrape_uri="tcp://127.0.0.1:9000/status"} 9
"#;
    assert_meanings(
        exposition,
        &[
            (Role::PoolWaiting, "uwsgi", "uwsgi_listen_queue_length"),
            (Role::PoolSize, "uwsgi", "uwsgi_workers"),
            (Role::PoolInUse, "uwsgi", "uwsgi_worker_busy"),
            (Role::PoolInUse, "uwsgi", "uwsgi_worker_busy"),
            (Role::PoolSize, "shop", "gunicorn_workers"),
            (Role::PoolInUse, "www", "phpfpm_active_processes"),
            (Role::PoolInUse, "admin", "phpfpm_active_processes"),
            (Role::PoolWaiting, "www", "phpfpm_listen_queue"),
        ],
    );
}

/// Unicorn by prometheus_exporter and by GitLab.
#[test]
fn unicorn() {
    assert_meanings(
        r"# HELP ruby_unicorn_workers Number of unicorn workers.
# TYPE ruby_unicorn_workers gauge
ruby_unicorn_workers 4
# HELP ruby_unicorn_active_workers Number of active unicorn workers
# TYPE ruby_unicorn_active_workers gauge
ruby_unicorn_active_workers 4
# HELP ruby_unicorn_request_backlog Number of requests waiting to be processed by a unicorn worker.
# TYPE ruby_unicorn_request_backlog gauge
ruby_unicorn_request_backlog 17
",
        &[
            (Role::PoolSize, "ruby_unicorn", "ruby_unicorn_workers"),
            (Role::PoolInUse, "ruby_unicorn", "ruby_unicorn_active_workers"),
            (Role::PoolWaiting, "ruby_unicorn", "ruby_unicorn_request_backlog"),
        ],
    );
    assert_meanings(
        r#"# HELP unicorn_active_connections Unicorn active connections
# TYPE unicorn_active_connections gauge
unicorn_active_connections{socket_type="unix",socket_address="/var/opt/gitlab/gitlab-rails/sockets/gitlab.socket"} 3
unicorn_active_connections{socket_type="tcp",socket_address="127.0.0.1:8080"} 1
# HELP unicorn_queued_connections Unicorn queued connections
# TYPE unicorn_queued_connections gauge
unicorn_queued_connections{socket_type="unix",socket_address="/var/opt/gitlab/gitlab-rails/sockets/gitlab.socket"} 9
unicorn_queued_connections{socket_type="tcp",socket_address="127.0.0.1:8080"} 0
# HELP unicorn_workers Unicorn workers
# TYPE unicorn_workers gauge
unicorn_workers 4
"#,
        &[
            (Role::PoolInUse, "unicorn", "unicorn_active_connections"),
            (Role::PoolInUse, "unicorn", "unicorn_active_connections"),
            (Role::PoolWaiting, "unicorn", "unicorn_queued_connections"),
            (Role::PoolWaiting, "unicorn", "unicorn_queued_connections"),
            (Role::PoolSize, "unicorn", "unicorn_workers"),
        ],
    );
}

/// Passenger by passenger_exporter (Passenger 5.0) and by passenger-exporter (6.0).
#[test]
fn passenger() {
    assert_meanings(
        r#"# TYPE passenger_nginx_app_count gauge
passenger_nginx_app_count 1
# TYPE passenger_nginx_app_group_queue gauge
passenger_nginx_app_group_queue{default="true",group="/srv/app/my_app (production)"} 0
# TYPE passenger_nginx_app_procs_spawning gauge
passenger_nginx_app_procs_spawning{name="/srv/app/my_app (production)"} 0
# TYPE passenger_nginx_app_queue gauge
passenger_nginx_app_queue{name="/srv/app/my_app (production)"} 5
# TYPE passenger_nginx_current_processes gauge
passenger_nginx_current_processes 2
# TYPE passenger_nginx_current_sessions gauge
passenger_nginx_current_sessions{id="0",name="/srv/app/my_app (production)"} 1
passenger_nginx_current_sessions{id="1",name="/srv/app/my_app (production)"} 1
# TYPE passenger_nginx_max_processes gauge
passenger_nginx_max_processes 2
# TYPE passenger_nginx_requests_processed_total counter
passenger_nginx_requests_processed_total{id="0",name="/srv/app/my_app (production)"} 43578
# TYPE passenger_nginx_top_level_queue gauge
passenger_nginx_top_level_queue 3
"#,
        &[
            (Role::PoolWaiting, "passenger_nginx", "passenger_nginx_app_group_queue"),
            (Role::PoolWaiting, "passenger_nginx", "passenger_nginx_app_queue"),
            (Role::PoolSize, "passenger_nginx", "passenger_nginx_current_processes"),
            (Role::PoolInUse, "passenger_nginx", "passenger_nginx_current_sessions"),
            (Role::PoolInUse, "passenger_nginx", "passenger_nginx_current_sessions"),
            (Role::PoolSizeMax, "passenger_nginx", "passenger_nginx_max_processes"),
            (Role::PoolWaiting, "passenger_nginx", "passenger_nginx_top_level_queue"),
        ],
    );
    assert_meanings(
        r#"# TYPE passenger_app_group_count gauge
passenger_app_group_count 1
# TYPE passenger_app_procs_spawning gauge
passenger_app_procs_spawning{name="/srv/app/demo (development)"} 0
# TYPE passenger_app_request_queue gauge
passenger_app_request_queue{name="/srv/app/demo (development)"} 7
# TYPE passenger_current_processes gauge
passenger_current_processes 3
# TYPE passenger_max_processes gauge
passenger_max_processes 3
# TYPE passenger_proc_memory gauge
passenger_proc_memory{id="0",name="/srv/app/demo (development)"} 170048
# TYPE passenger_top_level_request_queue gauge
passenger_top_level_request_queue 2
"#,
        &[
            (Role::PoolWaiting, "passenger", "passenger_app_request_queue"),
            (Role::PoolSize, "passenger", "passenger_current_processes"),
            (Role::PoolSizeMax, "passenger", "passenger_max_processes"),
            (Role::PoolWaiting, "passenger", "passenger_top_level_request_queue"),
        ],
    );
}

/// Passenger by passenger-prometheus-exporter-app: a pool for each group of an application.
#[test]
fn groups_of_passenger() {
    let group = "/app (production)";
    assert_meanings(
        r#"# HELP passenger_capacity Capacity used
# TYPE passenger_capacity gauge
passenger_capacity{supergroup_name="/app (production)",group_name="/app (production)",hostname="one"} 6
# HELP passenger_wait_list_size Requests in the queue
# TYPE passenger_wait_list_size gauge
passenger_wait_list_size{supergroup_name="/app (production)",group_name="/app (production)",hostname="one"} 12
# HELP passenger_processes_active Active processes
# TYPE passenger_processes_active gauge
passenger_processes_active{supergroup_name="/app (production)",group_name="/app (production)",hostname="one"} 6
"#,
        &[
            (Role::PoolSize, group, "passenger_capacity"),
            (Role::PoolWaiting, group, "passenger_wait_list_size"),
            (Role::PoolInUse, group, "passenger_processes_active"),
        ],
    );
}
