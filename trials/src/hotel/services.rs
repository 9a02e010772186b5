//! hotelReservation's services as processes, with their stores and a registry of addresses.

use std::collections::BTreeMap;

use super::change::SystemChange;
use crate::external_measure::service_processes::ServiceProcess;

/// The database server below FerretDB, and the address that the services reach FerretDB at. Between the two listens the path that delays messages.
pub(super) const POSTGRES_PORT: u16 = 5343;
pub(super) const FERRETDB_PORT: u16 = 5341;
pub(super) const STORE_PATH_PORT: u16 = 5348;
/// The cache whose items a fault limits.
const CACHE_OF_RATES: &str = "memcached-rate";
const REGISTRY_PORT: u16 = 5350;
/// Names of each service in `config.json`, with its port.
const SERVICE_PORTS: &[(&str, u16)] = &[
    ("Frontend", 5300),
    ("Profile", 5301),
    ("Search", 5302),
    ("Geo", 5303),
    ("Rate", 5304),
    ("Recommend", 5305),
    ("User", 5306),
    ("Reserve", 5307),
];
const CACHE_PORTS: &[(&str, u16)] = &[("Profile", 5321), ("Rate", 5324), ("Reserve", 5327)];

const fn program(name: &'static str, port: u16, command: &'static [&'static str]) -> ServiceProcess {
    ServiceProcess { name, port, folder: ".", command, environment: &[], memory_limit_mb: None }
}

pub(super) const POSTGRES: ServiceProcess = program(
    "postgres",
    POSTGRES_PORT,
    &["sh", "-c", "exec setpriv --reuid=postgres --regid=postgres --init-groups /usr/lib/postgresql/*/bin/postgres -D \"$BUILT/pg/data\""],
);

/// What the services need, and then the services, in the order of their start.
pub(super) const SYSTEM: &[ServiceProcess] = &[
    program("registry", REGISTRY_PORT, &["sh", "-c", "PORT=5350 exec node \"$LAB/registry.mjs\""]),
    program("memcached-profile", 5321, &["sh", "-c", "exec memcached -u nobody -l 127.0.0.1 -p 5321 $CACHE_OPTIONS"]),
    program(CACHE_OF_RATES, 5324, &["sh", "-c", "exec memcached -u nobody -l 127.0.0.1 -p 5324 $CACHE_OPTIONS"]),
    program("memcached-reserve", 5327, &["sh", "-c", "exec memcached -u nobody -l 127.0.0.1 -p 5327 $CACHE_OPTIONS"]),
    program(
        "ferretdb",
        FERRETDB_PORT,
        &[
            "sh",
            "-c",
            "exec \"$BUILT/bin/ferretdb\" --handler=postgresql --postgresql-url=postgres://postgres@127.0.0.1:5343/hotel \
             --listen-addr=127.0.0.1:5341 --debug-addr=127.0.0.1:5342 --telemetry=disable --state-dir=. --log-level=error",
        ],
    ),
    program("profile", 5301, &["sh", "-c", "exec \"$BUILT/bin/profile\""]),
    program("geo", 5303, &["sh", "-c", "exec \"$BUILT/bin/geo\""]),
    program("rate", 5304, &["sh", "-c", "exec \"$BUILT/bin/rate\""]),
    program("recommendation", 5305, &["sh", "-c", "exec \"$BUILT/bin/recommendation\""]),
    program("user", 5306, &["sh", "-c", "exec \"$BUILT/bin/user\""]),
    program("reservation", 5307, &["sh", "-c", "exec \"$BUILT/bin/reservation\""]),
    program("search", 5302, &["sh", "-c", "exec \"$BUILT/bin/search\""]),
    program("frontend", 5300, &["sh", "-c", "exec \"$BUILT/bin/frontend\""]),
];

/// `config.json`, which every service reads from its folder.
pub(super) fn config(changes: &[&SystemChange]) -> BTreeMap<String, String> {
    let mut config = BTreeMap::from([
        ("consulAddress".to_owned(), format!("127.0.0.1:{REGISTRY_PORT}")),
        // Nobody listens here: the services send spans in Jaeger's format.
        ("jaegerAddress".to_owned(), "127.0.0.1:6831".to_owned()),
        ("KnativeDomainName".to_owned(), String::new()),
    ]);
    for (service, port) in SERVICE_PORTS {
        config.insert(format!("{service}Port"), port.to_string());
        config.insert(format!("{service}IP"), "127.0.0.1".to_owned());
        config.insert(format!("{service}MongoAddress"), format!("127.0.0.1:{STORE_PATH_PORT}"));
    }
    for (service, port) in CACHE_PORTS {
        config.insert(format!("{service}MemcAddress"), format!("127.0.0.1:{port}"));
    }
    for change in changes {
        if let SystemChange::StoreConnections { service, count } = change {
            config.insert(format!("{service}MongoAddress"), format!("127.0.0.1:{STORE_PATH_PORT}/?maxPoolSize={count}"));
        }
    }
    config
}

/// What changes set in a service's environment before it starts.
pub(super) fn environment(service: &str, changes: &[&SystemChange]) -> Vec<(&'static str, String)> {
    let variables = |change: &&SystemChange| match change {
        SystemChange::Environment { services, variables } if services.contains(&service) => {
            variables.iter().map(|&(name, value)| (name, value.to_owned())).collect()
        }
        SystemChange::CacheItemMax { bytes } if service == CACHE_OF_RATES => {
            vec![("CACHE_OPTIONS", format!("-I {bytes} -o slab_chunk_max={bytes}"))]
        }
        _ => Vec::new(),
    };
    changes.iter().flat_map(variables).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_the_pool_concerns_one_service() {
        let config = config(&[&SystemChange::StoreConnections { service: "Reserve", count: 1 }]);
        assert_eq!(config["ReserveMongoAddress"], "127.0.0.1:5348/?maxPoolSize=1");
        assert_eq!(config["RateMongoAddress"], "127.0.0.1:5348");
    }

    #[test]
    fn a_change_of_the_environment_concerns_its_services() {
        let changes =
            [&SystemChange::CacheItemMax { bytes: 1024 }, &SystemChange::Environment { services: &["geo"], variables: &[("GC", "1")] }];
        assert_eq!(environment("memcached-rate", &changes), [("CACHE_OPTIONS", "-I 1024 -o slab_chunk_max=1024".to_owned())]);
        assert_eq!(environment("geo", &changes), [("GC", "1".to_owned())]);
        assert!(environment("memcached-profile", &changes).is_empty());
    }

    #[test]
    fn every_port_in_the_configuration_is_that_of_a_service() {
        let ports: Vec<u16> = SYSTEM.iter().map(|service| service.port).collect();
        assert!(SERVICE_PORTS.iter().chain(CACHE_PORTS).all(|(_, port)| ports.contains(port)));
    }
}
