// Words for the identifiers of the view: outcomes, grades, states. One place, so that a kind of failure has the same name everywhere.

import type { Tone } from "../generated/answers";
import type { RunState } from "../generated/report";
import type { Outcome } from "../generated/summary";
import type { Confidence, Grade, ThresholdState } from "../generated/verdict";

const OUTCOMES: Record<Outcome, string> = {
  passed: "passed",
  status: "unexpected status",
  expect: "expectation failed",
  timeout: "timed out",
  dns: "name not resolved",
  refused: "connection refused",
  reset: "connection reset",
  closed: "closed by the server",
  connect: "connection failed",
  not_connected: "no open connection",
  tls: "TLS failed",
  protocol: "malformed response",
  script: "script error",
  step: "a step failed",
  ports_exhausted: "generator out of ports",
  descriptors_exhausted: "generator out of descriptors",
  unsendable: "refused by the generator",
  interrupted: "interrupted",
};

export function outcome(kind: string): string {
  return OUTCOMES[kind as Outcome] ?? kind;
}

export function grade(value: Grade | null): { word: string; tone: Tone } {
  switch (value) {
    case "valid": return { word: "Valid", tone: "good" };
    case "suspect": return { word: "Suspect", tone: "warn" };
    case "invalid": return { word: "Invalid", tone: "bad" };
    case null: return { word: "Not judged", tone: "none" };
  }
}

export function threshold(state: ThresholdState, failing = false): { word: string; tone: Tone } {
  switch (state) {
    case "passed": return { word: "Passed", tone: "good" };
    case "failed": return { word: "Failed", tone: "bad" };
    case "no_data": return { word: "No data", tone: "bad" };
    case "undecided": return { word: "Undecided", tone: "warn" };
    case "pending": return failing ? { word: "Failing so far", tone: "warn" } : { word: "Not yet decided", tone: "none" };
  }
}

export function runState(state: RunState): { word: string; tone: Tone } {
  switch (state) {
    case "running": return { word: "Running", tone: "good" };
    case "completed": return { word: "Completed", tone: "good" };
    case "interrupted": return { word: "Interrupted", tone: "warn" };
    case "aborted": return { word: "Aborted", tone: "bad" };
    case "failed": return { word: "Failed", tone: "bad" };
    case "killed": return { word: "Killed", tone: "bad" };
  }
}

export function confidence(value: Confidence): string {
  return `${value} confidence`;
}

export function origin(value: string): string {
  return value.replaceAll("_", " ");
}
