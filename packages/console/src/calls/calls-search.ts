import type { CallSearch, CallsFilter, Query } from "@heddle/client/tracing";
import { possibleWidth } from "../grid/column-width.js";
import { expressionOf, readWhere, writeWhere } from "./where.js";
import type { Expression } from "./where.js";

export const statuses = ["success", "error", "running", "descendant_error"] as const;
export const periods = { "15m": 900, "1h": 3600, "24h": 86_400, "7d": 604_800, "30d": 2_592_000 } as const;
const orders = ["latency"] as const;
const panels = ["facets"] as const;

/** Which calls are shown and how: the address of the page has all of it. */
export interface CallsSearch {
  /** Name of an op, or a ref of it. */
  op?: string;
  status?: (typeof statuses)[number];
  /** How far back. */
  since?: keyof typeof periods;
  /** From when until when, as `<start>/<end>`: times with a zone, or `..` for none. */
  between?: string;
  /** `root`: only calls without a parent. */
  only?: "root";
  /** Words that all occur, in any text of a call. */
  text?: string;
  /** Id of a conversation. */
  thread?: string;
  /** Conditions on any fields, as `readWhere` reads them. */
  where?: string;
  /** What is open next to the table. */
  panel?: (typeof panels)[number];
  /** `latency`: longest first. Absent is newest first. */
  sort?: (typeof orders)[number];
  /** Paths of further columns, separated by commas. */
  cols?: string;
  /** Columns that stay at the left, by names of {@link ownColumns} and by paths, separated by commas. */
  pin?: string;
  /** Widths of columns that somebody has resized, as `readWidths` reads them. */
  widths?: string;
}

const oneOf = <Value extends string>(values: readonly Value[], given: unknown): Value | undefined =>
  values.find((value) => value === given);
const textOf = (given: unknown): string | undefined =>
  typeof given === "string" && given !== "" ? given.slice(0, 4000) : undefined;

/** A range of time in milliseconds, its end excluded. */
export interface TimeRange {
  from?: number;
  until?: number;
}

export function readBetween(between = ""): TimeRange {
  const [from = Number.NaN, until = Number.NaN] = between.split("/").map((time) => Date.parse(time));
  return { ...(!Number.isNaN(from) && { from }), ...(!Number.isNaN(until) && { until }) };
}

/** The text that {@link readBetween} reads; undefined for all of time. */
export function writeBetween({ from, until }: TimeRange): string | undefined {
  if (from === undefined && until === undefined) return undefined;
  return [from, until].map((time) => (time === undefined ? ".." : new Date(time).toISOString())).join("/");
}

const betweenOf = (given: unknown): string | undefined => writeBetween(readBetween(textOf(given)));

/** What an address says; what it does not say well is left out. */
export function readCallsSearch(given: Record<string, unknown>): CallsSearch {
  return defined({
    op: textOf(given["op"]),
    status: oneOf(statuses, given["status"]),
    since: oneOf(Object.keys(periods) as (keyof typeof periods)[], given["since"]),
    between: betweenOf(given["between"]),
    only: oneOf(["root"], given["only"]),
    text: textOf(given["text"]),
    thread: textOf(given["thread"]),
    where: writeWhere(readWhere(textOf(given["where"]))),
    panel: oneOf(panels, given["panel"]),
    sort: oneOf(orders, given["sort"]),
    cols: textOf(given["cols"]),
    pin: textOf(given["pin"]),
    widths: writeWidths(readWidths(textOf(given["widths"]))),
  });
}

const defined = (search: CallsSearch): CallsSearch =>
  Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined));

/** The conditions among it, by which calls can be fewer than all. */
const conditions = ["op", "status", "since", "between", "only", "text", "thread", "where"] as const;
export type Condition = (typeof conditions)[number];

export const conditionsOf = (search: CallsSearch): Condition[] =>
  conditions.filter((name) => search[name] !== undefined);

/** Columns that the address adds. */
export const columnPaths = ({ cols = defaultColumns }: CallsSearch): string[] =>
  cols.split(",").filter(Boolean).slice(0, 20);
const defaultColumns = "inputs,output";

/** The columns that every table has. */
export const ownColumns = ["started", "name", "status", "latency", "tokens", "cost"] as const;

/** Columns that stay at the left, in any order. */
export const pinnedColumns = ({ pin = "name" }: CallsSearch): string[] => pin.split(",").filter(Boolean);

/** Widths in pixels by names and paths of columns: `<name>:<pixels>`, separated by commas. */
export function readWidths(text = ""): Map<string, number> {
  const widths = new Map<string, number>();
  for (const item of text.split(",")) {
    const at = item.lastIndexOf(":");
    const width = Number(item.slice(at + 1) || Number.NaN);
    if (at > 0 && Number.isFinite(width)) widths.set(item.slice(0, at), possibleWidth(width));
  }
  return widths;
}

/** The text that {@link readWidths} reads; undefined where every column has its own. */
export const writeWidths = (widths: ReadonlyMap<string, number>): string | undefined =>
  [...widths].map(([name, width]) => `${name}:${width}`).join(",") || undefined;

export interface CallSelection {
  filter?: CallsFilter;
  query?: Query;
  search?: CallSearch;
}

const field = (name: string) => ({ $getField: name });
const literal = (value: string | number) => ({ $literal: value });

/** The range of time that the conditions mean. */
export function timeRangeOf({ since, between }: CallsSearch, now: number): TimeRange {
  const range = readBetween(between);
  if (since === undefined) return range;
  const from = now - 1000 * periods[since];
  return { ...range, from: Math.max(from, range.from ?? from) };
}

/** The selection of the API. `now` is the time that periods are counted from, in milliseconds. */
export function selectionOf(search: CallsSearch, now: number): CallSelection {
  const { op, status, only, text, thread } = search;
  const { from, until } = timeRangeOf(search, now);
  const filter: CallsFilter = {
    ...(op !== undefined && { op_names: [op] }),
    ...(only === "root" && { trace_roots_only: true }),
    ...(thread !== undefined && { thread_ids: [thread] }),
  };
  const all: Expression[] = [
    ...readWhere(search.where).map(expressionOf),
    ...(status === undefined ? [] : [{ $eq: [field("summary.weave.status"), literal(status)] }]),
    ...(from === undefined ? [] : [{ $gte: [field("started_at"), literal(from / 1000)] }]),
    ...(until === undefined ? [] : [{ $lt: [field("started_at"), literal(until / 1000)] }]),
  ];
  return {
    ...(Object.keys(filter).length > 0 && { filter }),
    ...(text !== undefined && { search: { text: text.slice(0, 1000) } }),
    ...(all.length > 0 && { query: { $expr: all.length === 1 && all[0] !== undefined ? all[0] : { $and: all } } }),
  };
}

/** The order of the API. */
export const orderOf = ({ sort }: CallsSearch): { field: string; direction: "desc" }[] =>
  sort === undefined ? [] : [{ field: "summary.weave.latency_ms", direction: "desc" }];
