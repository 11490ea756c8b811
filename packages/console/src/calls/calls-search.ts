import type { CallSearch, CallsFilter, Query } from "@heddle/client/tracing";

export const statuses = ["success", "error", "running", "descendant_error"] as const;
export const periods = { "15m": 900, "1h": 3600, "24h": 86_400, "7d": 604_800, "30d": 2_592_000 } as const;
const orders = ["latency"] as const;

/** Which calls are shown and how: the address of the page has all of it. */
export interface CallsSearch {
  /** Name of an op, or a ref of it. */
  op?: string;
  status?: (typeof statuses)[number];
  /** How far back. */
  since?: keyof typeof periods;
  /** `root`: only calls without a parent. */
  only?: "root";
  /** Words that all occur, in any text of a call. */
  text?: string;
  /** Id of a conversation. */
  thread?: string;
  /** `latency`: longest first. Absent is newest first. */
  sort?: (typeof orders)[number];
  /** Paths of further columns, separated by commas. */
  cols?: string;
}

const oneOf = <Value extends string>(values: readonly Value[], given: unknown): Value | undefined =>
  values.find((value) => value === given);
const textOf = (given: unknown): string | undefined =>
  typeof given === "string" && given !== "" ? given.slice(0, 4000) : undefined;

/** What an address says; what it does not say well is left out. */
export function readCallsSearch(given: Record<string, unknown>): CallsSearch {
  return defined({
    op: textOf(given["op"]),
    status: oneOf(statuses, given["status"]),
    since: oneOf(Object.keys(periods) as (keyof typeof periods)[], given["since"]),
    only: oneOf(["root"], given["only"]),
    text: textOf(given["text"]),
    thread: textOf(given["thread"]),
    sort: oneOf(orders, given["sort"]),
    cols: textOf(given["cols"]),
  });
}

const defined = (search: CallsSearch): CallsSearch =>
  Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined));

/** The conditions among it, by which calls can be fewer than all. */
const conditions = ["op", "status", "since", "only", "text", "thread"] as const;
export type Condition = (typeof conditions)[number];

export const conditionsOf = (search: CallsSearch): Condition[] =>
  conditions.filter((name) => search[name] !== undefined);

/** Columns that the address adds. */
export const columnPaths = ({ cols = defaultColumns }: CallsSearch): string[] =>
  cols.split(",").filter(Boolean).slice(0, 20);
const defaultColumns = "inputs,output";

export interface CallSelection {
  filter?: CallsFilter;
  query?: Query;
  search?: CallSearch;
}

const field = (name: string) => ({ $getField: name });
const literal = (value: string | number) => ({ $literal: value });

/** The selection of the API. `now` is the time that periods are counted from, in milliseconds. */
export function selectionOf({ op, status, since, only, text, thread }: CallsSearch, now: number): CallSelection {
  const filter: CallsFilter = {
    ...(op !== undefined && { op_names: [op] }),
    ...(only === "root" && { trace_roots_only: true }),
    ...(thread !== undefined && { thread_ids: [thread] }),
  };
  const all = [
    ...(status === undefined ? [] : [{ $eq: [field("summary.weave.status"), literal(status)] }]),
    ...(since === undefined ? [] : [{ $gte: [field("started_at"), literal(now / 1000 - periods[since])] }]),
  ];
  return {
    ...(Object.keys(filter).length > 0 && { filter }),
    ...(text !== undefined && { search: { text: text.slice(0, 1000) } }),
    ...(all.length > 0 && { query: { $expr: all.length === 1 ? all[0] : { $and: all } } as Query }),
  };
}

/** The order of the API. */
export const orderOf = ({ sort }: CallsSearch): { field: string; direction: "desc" }[] =>
  sort === undefined ? [] : [{ field: "summary.weave.latency_ms", direction: "desc" }];
