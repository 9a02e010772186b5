//! The fault flags of the OpenTelemetry Demo, the load against each, and the answer that its first finding must give.
//!
//! The answers come from the flags' descriptions and the services' sources. They were written before the first run. Deliberately absent: any knowledge of
//! Loadstone's rules.

use crate::external_measure::rating::FaultAnswer;

/// A flag of the demo, and what its effect on users is attributed to.
pub(super) struct DemoFault {
    pub(super) flag: &'static str,
    pub(super) variant: &'static str,
    /// `labs/otel-demo/NAME.load.ts`.
    pub(super) load: &'static str,
    /// Requests per second if the flag is on from the start, and if it is switched on in mid-run.
    pub(super) rates: [u32; 2],
    pub(super) answer: FaultAnswer,
}

const RECOMMENDATION_CACHE: FaultAnswer = FaultAnswer {
    places: &["recommendation", "recommendation-python", "recommend", "get_product_list*"],
    causes: &["memory", "leak*", "cache*", "get_product_list*", "cpu", "compute*", "computing"],
    symptoms: &["slow*", "grow*", "grew", "restart*", "refused"],
};

const PAYMENT_FAILURE: FaultAnswer = FaultAnswer {
    places: &["payment", "charge", "paymentservice*"],
    causes: &["fail*", "error*", "invalid token", "unknown"],
    symptoms: &["place order", "internal"],
};

pub(super) const DEMO_FAULTS: &[DemoFault] = &[
    // Four threads of the service compute logarithms without end.
    DemoFault {
        flag: "adHighCpu",
        variant: "on",
        load: "ad",
        rates: [30, 30],
        answer: FaultAnswer {
            places: &["ad", "ad-jvm", "cpuload*", "logarithmizer*"],
            causes: &["cpu", "compute*", "computing", "core", "cores", "logarithmizer*"],
            symptoms: &["cpu", "core", "cores", "get ads"],
        },
    },
    // Each call fills the heap with objects whose finalizers sleep, and requests eleven full collections.
    DemoFault {
        flag: "adManualGc",
        variant: "on",
        load: "ad",
        rates: [30, 30],
        answer: FaultAnswer {
            places: &["ad", "ad-jvm", "get ads", "garbagecollectiontrigger*"],
            causes: &["garbage", "gc", "collect*", "heap", "garbagecollectiontrigger*"],
            symptoms: &["stop*", "memory", "cpu", "core", "cores"],
        },
    },
    // Each tenth call of GetAds throws UNAVAILABLE.
    DemoFault {
        flag: "adFailure",
        variant: "on",
        load: "ad",
        rates: [30, 30],
        answer: FaultAnswer { places: &["ad", "get ads", "getads*"], causes: &["unavailable"], symptoms: &["fail*", "error*"] },
    },
    // A list grows by a quarter with each cache miss. Every call builds a set of the whole list: work and memory grow until the memory limit ends the process.
    DemoFault { flag: "recommendationCacheFailure", variant: "on", load: "catalog", rates: [5, 8], answer: RECOMMENDATION_CACHE },
    // GetProduct fails with INTERNAL for one product of ten.
    DemoFault {
        flag: "productCatalogFailure",
        variant: "on",
        load: "catalog",
        rates: [8, 8],
        answer: FaultAnswer {
            places: &["product-catalog", "get product", "getproduct"],
            causes: &["internal", "product catalog fail*"],
            symptoms: &["fail*", "error*"],
        },
    },
    // Charge of the payment service throws for half of the calls; the checkout passes it on as INTERNAL.
    DemoFault { flag: "paymentFailure", variant: "50%", load: "checkout", rates: [8, 8], answer: PAYMENT_FAILURE },
    // The checkout calls a payment service at a host name that does not exist.
    DemoFault {
        flag: "paymentUnreachable",
        variant: "on",
        load: "checkout",
        rates: [8, 8],
        answer: FaultAnswer {
            places: &["payment", "charge", "paymentservice*", "badaddress*"],
            causes: &["unreachable", "unavailable", "connect*", "resol*", "dns", "lookup*", "refused", "produced zero addresses"],
            symptoms: &["place order", "internal"],
        },
    },
    // The same two flags with one service alone. The request is the failing one: a right claim must also have the status or the error of the service.
    DemoFault {
        flag: "paymentFailure",
        variant: "50%",
        load: "charge",
        rates: [20, 20],
        answer: FaultAnswer { places: &["payment", "charge"], causes: &["unknown", "invalid token"], symptoms: &["fail*", "error*"] },
    },
    DemoFault { flag: "recommendationCacheFailure", variant: "on", load: "recommend", rates: [5, 8], answer: RECOMMENDATION_CACHE },
];
