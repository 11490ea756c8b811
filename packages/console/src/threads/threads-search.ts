import type { ThreadSchema } from "@heddle/client/tracing";

/** How far back, in seconds. */
export const threadPeriods = { "24h": 86_400, "7d": 604_800, "30d": 2_592_000 } as const;

/** What threads are ordered by; the first where the address names none. */
export const threadOrders = ["newest", "turns", "slowest", "cost"] as const;
export type ThreadOrder = (typeof threadOrders)[number];

/** What an address says of the list of threads. */
export interface ThreadsSearch {
  since?: keyof typeof threadPeriods;
  sort?: ThreadOrder;
  /** The thread under the cursor. */
  at?: string;
}

/** What is not said well is left out. */
export function readThreadsSearch(given: Record<string, unknown>): ThreadsSearch {
  const since = (Object.keys(threadPeriods) as (keyof typeof threadPeriods)[]).find((name) => name === given["since"]);
  const sort = threadOrders.slice(1).find((name) => name === given["sort"]);
  const { at } = given;
  return {
    ...(since !== undefined && { since }),
    ...(sort !== undefined && { sort }),
    ...(typeof at === "string" && at !== "" && { at: at.slice(0, 1000) }),
  };
}

const fields = { newest: "last_updated", turns: "turn_count", slowest: "p99_turn_duration_ms", cost: "last_updated" };

/** The order of the API. It knows no costs: of the newest threads they are added, and ordered here. */
export const fieldOf = (order: ThreadOrder = "newest"): string => fields[order];

/** The figures of a thread's calls; absent while they are not known. */
export interface ThreadFigures {
  calls: number;
  errors: number;
  tokens?: number | undefined;
  cost?: number | undefined;
}

export type Thread = ThreadSchema & { figures?: ThreadFigures };

/** Dearest first; those without a known cost last. */
export const byCost = (a: Thread, b: Thread): number => (b.figures?.cost ?? -1) - (a.figures?.cost ?? -1);

/** What an address says of one thread: the turn under the cursor. */
export const readThreadSearch = ({ turn }: Record<string, unknown>): { turn?: string } =>
  typeof turn === "string" ? { turn } : {};
