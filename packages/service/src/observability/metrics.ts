import type { StoreObserver } from "@heddle/trace-store";
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";
import type { JobRunnerOptions } from "../jobs/runner.js";
import type { RequestObserver } from "../limits/with-scope.js";
import type { ObservedRequest } from "../providers/outgoing.js";
import { gaugesOf } from "./gauges.js";
import { shardGaugesOf } from "./shard-gauges.js";
import type { ShardSources } from "./shard-gauges.js";
import type { MetricSources } from "./gauges.js";

/**
 * Measurements for Prometheus. Every label has few values, which requests cannot add to: operations of the spec,
 * statuses, kinds, names in the settings; never a project, user, key or path.
 */
export interface Metrics {
  requests: RequestObserver;
  store: StoreObserver;
  onOutgoing: (provider: string, request: ObservedRequest) => void;
  onJobEnded: NonNullable<JobRunnerOptions["onEnded"]>;
  /** Rows that a tracing database has refused because another replica has it now. */
  onFenced(shard: string, rows: number): void;
  /** A request that was refused because of its connection. */
  onRefused(status: number): void;
  /** Adds what is read at each scrape. */
  watch(sources: MetricSources): void;
  /** The same for a replica of an installation with several tracing databases. */
  watchShards(sources: ShardSources): void;
  /** In the text format of Prometheus. */
  text(): Promise<string>;
  contentType: string;
}

/** Seconds. */
const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];
const statementBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const outgoingBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const rowBuckets = [1, 10, 100, 1000, 10_000, 100_000];
const byteBuckets = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8];

/** The operation of requests that no operation or route serves. */
const noOperation = "none";

export function openMetrics(version: string): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const build = new Gauge({
    name: "heddle_build_info",
    help: "1, with the version as a label.",
    labelNames: ["version"],
    registers,
  });
  build.set({ version }, 1);

  const requests = new Histogram({
    name: "heddle_http_request_duration_seconds",
    help: "Time from the headers of a request to the last byte of its response, by operation and status.",
    labelNames: ["operation", "status"],
    buckets: requestBuckets,
    registers,
  });
  const inProgress = new Gauge({
    name: "heddle_http_requests_in_progress",
    help: "Requests whose response is not complete.",
    registers,
  });
  const cut = new Counter({
    name: "heddle_http_responses_cut_total",
    help: "Streamed responses that ended early: failed by an error, disconnected by the client.",
    labelNames: ["operation", "reason"],
    registers,
  });
  const statements = new Histogram({
    name: "heddle_engine_statement_duration_seconds",
    help: "Time of statements of the trace engine, until the last row was taken.",
    labelNames: ["kind", "outcome"],
    buckets: statementBuckets,
    registers,
  });
  const commits = new Histogram({
    name: "heddle_ingest_commit_duration_seconds",
    help: "Time of commits of calls.",
    labelNames: ["outcome"],
    buckets: statementBuckets,
    registers,
  });
  const commitRows = new Histogram({
    name: "heddle_ingest_commit_rows",
    help: "Parts of calls in one commit.",
    buckets: rowBuckets,
    registers,
  });
  const commitBytes = new Histogram({
    name: "heddle_ingest_commit_bytes",
    help: "About the bytes of one commit.",
    buckets: byteBuckets,
    registers,
  });
  const acknowledged = new Counter({
    name: "heddle_ingest_rows_acknowledged_total",
    help: "Parts of calls whose commit succeeded.",
    registers,
  });
  const outgoing = new Histogram({
    name: "heddle_outgoing_request_duration_seconds",
    help: "Time of requests to providers, by the status of the response or the kind of error.",
    labelNames: ["provider", "outcome"],
    buckets: outgoingBuckets,
    registers,
  });
  const jobsEnded = new Counter({
    name: "heddle_jobs_ended_total",
    help: "Background jobs that this service has ended.",
    labelNames: ["kind", "outcome"],
    registers,
  });
  const fencedRows = new Counter({
    name: "heddle_shard_fenced_rows_total",
    help: "Rows which this service sent too late: another one had taken the tracing database over, which refused them.",
    labelNames: ["shard"],
    registers,
  });

  return {
    requests: {
      onBegin: () => inProgress.inc(),
      onEnd({ route }, { status, end, ms }) {
        const operation = route?.id ?? noOperation;
        inProgress.dec();
        requests.observe({ operation, status }, ms / 1000);
        if (end !== "sent") cut.inc({ operation, reason: end });
      },
    },
    store: {
      onStatement: ({ kind, ms, failed }) => statements.observe({ kind, outcome: outcomeOf(failed) }, ms / 1000),
      onCommit({ rows, bytes, ms, failed }) {
        commits.observe({ outcome: outcomeOf(failed) }, ms / 1000);
        commitRows.observe(rows);
        commitBytes.observe(bytes);
        if (!failed) acknowledged.inc(rows);
      },
    },
    onOutgoing: (provider, { outcome, ms }) => outgoing.observe({ provider, outcome }, ms / 1000),
    onJobEnded: (kind, outcome) => jobsEnded.inc({ kind, outcome }),
    onFenced: (shard, rows) => fencedRows.inc({ shard }, rows),
    onRefused: (status) => requests.observe({ operation: noOperation, status }, 0),
    watch: (sources) => gaugesOf(sources, registry),
    watchShards: (sources) => shardGaugesOf(sources, registry),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

const outcomeOf = (failed: boolean): string => (failed ? "failed" : "succeeded");
