//! The demo's services as processes: what each is started with, as in its Dockerfile and in `compose.yaml`, whose
//! `limits.memory` they have.

use crate::external_measure::service_processes::ServiceProcess;

/// How the services read the flag file without flagd: its providers evaluate flags in their own process.
pub(super) const WITHOUT_FLAGD: &[(&str, &str)] = &[("FLAGD_RESOLVER", "in-process"), ("FLAGD_OFFLINE_POLL_MS", "1000")];

/// Where Loadstone receives the services' traces.
pub(super) const TRACES: &str = "http://127.0.0.1:4418";

const POSTGRES: ServiceProcess = ServiceProcess {
    name: "postgres",
    port: 5439,
    folder: "pg",
    command: &["sh", "-c", "exec setpriv --reuid=postgres --regid=postgres --init-groups /usr/lib/postgresql/*/bin/postgres -D data"],
    environment: &[],
    memory_limit_mb: None,
};

pub(super) const FLAGD: ServiceProcess = ServiceProcess {
    name: "flagd",
    port: 8013,
    folder: ".",
    command: &["sh", "-c", "exec bin/flagd start --uri \"file:$FLAG_FILE\""],
    environment: &[("GOMEMLIMIT", "60MiB")],
    memory_limit_mb: Some(75),
};

const AD: ServiceProcess = ServiceProcess {
    name: "ad",
    port: 9555,
    folder: "ad",
    command: &["java", "-cp", "classes:lib/*", "oteldemo.AdService"],
    environment: &[
        ("AD_PORT", "9555"),
        ("AD_PROMETHEUS_PORT", "9465"),
        ("JAVA_TOOL_OPTIONS", "-javaagent:tools/opentelemetry-javaagent-2.30.0.jar -Xmx200m"),
        ("OTEL_LOGS_EXPORTER", "otlp"),
    ],
    memory_limit_mb: Some(300),
};

const PRODUCT_CATALOG: ServiceProcess = ServiceProcess {
    name: "product-catalog",
    port: 3550,
    folder: ".",
    command: &["bin/product-catalog"],
    environment: &[
        ("PRODUCT_CATALOG_PORT", "3550"),
        ("GOMEMLIMIT", "16MiB"),
        ("OTEL_CONFIG_FILE", "otel-config.yml"),
        ("OTEL_SEMCONV_STABILITY_OPT_IN", "database"),
        ("DB_CONNECTION_STRING", "postgres://astronomy_user:astronomy_password@127.0.0.1:5439/astronomy_db?sslmode=disable"),
    ],
    memory_limit_mb: Some(20),
};

const RECOMMENDATION: ServiceProcess = ServiceProcess {
    name: "recommendation",
    port: 9001,
    folder: "recommendation",
    command: &["../recvenv/bin/opentelemetry-instrument", "../recvenv/bin/python", "recommendation_server.py"],
    environment: &[
        ("RECOMMENDATION_PORT", "9001"),
        ("PRODUCT_CATALOG_ADDR", "127.0.0.1:3550"),
        ("OTEL_PYTHON_LOG_CORRELATION", "true"),
        ("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "python"),
    ],
    memory_limit_mb: Some(500),
};

const PAYMENT: ServiceProcess = ServiceProcess {
    name: "payment",
    port: 50051,
    folder: "payment",
    command: &["node", "index.js"],
    environment: &[
        ("PAYMENT_PORT", "50051"),
        ("NODE_OPTIONS", "--require @opentelemetry/auto-instrumentations-node/register"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
    ],
    memory_limit_mb: Some(140),
};

const CHECKOUT: ServiceProcess = ServiceProcess {
    name: "checkout",
    port: 5050,
    folder: ".",
    command: &["bin/checkout"],
    environment: &[
        ("CHECKOUT_PORT", "5050"),
        ("CART_ADDR", "127.0.0.1:7070"),
        ("CURRENCY_ADDR", "127.0.0.1:7001"),
        ("EMAIL_ADDR", "http://127.0.0.1:7060"),
        ("PAYMENT_ADDR", "127.0.0.1:50051"),
        ("PRODUCT_CATALOG_ADDR", "127.0.0.1:3550"),
        ("SHIPPING_ADDR", "http://127.0.0.1:7050"),
        ("GOMEMLIMIT", "16MiB"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
    ],
    memory_limit_mb: Some(20),
};

/// What a load needs, in the order of the start.
pub(super) fn services_of(load: &str) -> &'static [&'static ServiceProcess] {
    match load {
        "ad" => &[&FLAGD, &AD],
        "catalog" => &[&POSTGRES, &FLAGD, &PRODUCT_CATALOG, &RECOMMENDATION],
        "charge" => &[&FLAGD, &PAYMENT],
        "recommend" => &[&FLAGD, &RECOMMENDATION],
        _ => &[&POSTGRES, &FLAGD, &PRODUCT_CATALOG, &PAYMENT, &CHECKOUT],
    }
}

#[cfg(test)]
mod tests {
    use super::super::faults::DEMO_FAULTS;
    use super::*;

    #[test]
    fn every_load_starts_flagd_before_the_services_that_ask_it() {
        for fault in DEMO_FAULTS {
            let names: Vec<&str> = services_of(fault.load).iter().map(|service| service.name).collect();
            let flagd = names.iter().position(|&name| name == "flagd").unwrap();
            assert!(names.iter().skip(flagd + 1).len() > 0, "{}: {names:?}", fault.flag);
        }
    }
}
