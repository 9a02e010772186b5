// OpenTelemetry for one process of the service: its requests and what it produces. To be imported before everything else.

import { register } from "node:module";
import { HttpInstrumentation } from "@opentelemetry/instrumentation-http";
import { KafkaJsInstrumentation } from "@opentelemetry/instrumentation-kafkajs";
import { NodeSDK } from "@opentelemetry/sdk-node";

// Modules (import) are instrumented only through a hook.
register("@opentelemetry/instrumentation/hook.mjs", import.meta.url);
new NodeSDK({ serviceName: "decisions", instrumentations: [new HttpInstrumentation(), new KafkaJsInstrumentation()] }).start();
