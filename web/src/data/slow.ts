// Where a single slow request spent its time.

import type { SlowSample } from "../generated/report";

export interface PhaseTime {
  name: string;
  seconds: number;
}

/** The phases that occurred, in order. The first part is the time that no phase covers: waiting for a late generator, and sending. */
export function parts(sample: SlowSample): PhaseTime[] {
  const phases: PhaseTime[] = [
    { name: "queue", seconds: (sample.queue_ns ?? 0) / 1e9 },
    { name: "dns", seconds: sample.dns_ns / 1e9 },
    { name: "connect", seconds: sample.connect_ns / 1e9 },
    { name: "tls", seconds: sample.tls_ns / 1e9 },
    { name: "wait", seconds: sample.wait_ns / 1e9 },
    { name: "body", seconds: sample.body_ns / 1e9 },
  ];
  const rest = sample.response_ns / 1e9 - phases.reduce((sum, phase) => sum + phase.seconds, 0);
  return [{ name: "other", seconds: Math.max(0, rest) }, ...phases].filter((part) => part.seconds > 0);
}
