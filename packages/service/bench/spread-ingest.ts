import type { ReadyRequest } from "./load.js";
import { completeRequests, spanRequests } from "./payloads.js";
import { median, option, short } from "./results.js";

// What benches of several processes that share the work send, and what they measure of it.

const size = option("size", 1);
const sized = (count: number) => Math.max(1, Math.round(count * size));
/** As many clients send at once to what has one process as to what has several. */
export const connections = option("connections", 16);

interface Workload {
  name: string;
  spans: number;
  requests: (projectId: string) => ReadyRequest[];
}

export const workloads: Workload[] = [
  {
    name: `OTLP, batches of 512 spans, ${connections} connections`,
    spans: sized(16) * 512,
    requests: (projectId) => spanRequests(projectId, sized(16), 512),
  },
  {
    name: `batches of 100 calls, ${connections} connections`,
    spans: sized(40) * 100,
    requests: (projectId) => completeRequests(projectId, sized(40), 100),
  },
];

/** What one round of a workload took. */
export interface Round {
  perSecond: number;
  serviceUs: number;
  engineUs: number;
}

/** The requests of a workload for several projects, in turn, with the number of their spans. */
export function spread({ spans, requests }: Workload, projects: readonly string[]) {
  const share = projects.map((projectId) => requests(projectId));
  const all = Array.from({ length: share[0]?.length ?? 0 }, (_, i) => share.flatMap((of) => of[i] ?? [])).flat();
  return { all, count: spans * projects.length };
}

/** Medians over rounds. */
export function summary(all: readonly Round[]): Record<string, number> {
  const of = (figure: (round: Round) => number) => short(median(all.map(figure)));
  return {
    "spans/s": of(({ perSecond }) => perSecond),
    "service CPU µs/span": of(({ serviceUs }) => serviceUs),
    "engine CPU µs/span": of(({ engineUs }) => engineUs),
    "all CPU µs/span": of(allUs),
  };
}

const allUs = ({ serviceUs, engineUs }: Round): number => serviceUs + engineUs;

/**
 * How many spans several processes store with the CPU time in which one stores one, times how many they are: their rate beside
 * that of one, on a machine where each of them has the cores that the one has.
 */
export function gain(one: readonly Round[], several: readonly Round[], count: number): number {
  return short((count * median(one.map(allUs))) / median(several.map(allUs)));
}
