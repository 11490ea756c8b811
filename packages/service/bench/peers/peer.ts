import type { RecordedTrace } from "./exported-traces.js";

/** What is read: the same of all, as far as they have it. New are the last traces that were sent, old the first. */
export const readNames = [
  "a new span by id",
  "an old span by id",
  "a new trace",
  "an old trace",
  "newest 50 spans",
  "newest 50 traces",
  "newest 50 with errors",
  "count",
] as const;
export type ReadName = (typeof readNames)[number];

export interface Read {
  path: string;
  method?: "GET" | "POST";
  body?: object;
  /** How many spans, traces or figures the response has to have. */
  count: (response: never) => number;
  expected: number;
}

/** A running service that takes the exports, and how it is read. */
export interface Peer {
  name: string;
  version: string;
  url: string;
  /** Of each request. */
  headers: Record<string, string>;
  exports: { path: string; headers?: Record<string, string> };
  /** Those on SQLite take one after the other. */
  exportsAtOnce: number;
  reads: Partial<Record<ReadName, (wanted: RecordedTrace, spans: number) => Read>>;
  stop: () => Promise<void>;
}
