import { HeddleError } from "@heddle/errors";
import { characterCount, refSpellings } from "@heddle/trace-model";
import type { ApiSchemas } from "../api-schemas.js";
import { Parameters } from "../engine/parameters.js";
import { namedOps } from "./named-ops.js";
import type { NamedOps } from "./named-ops.js";

/** Lists are alternatives, members must all hold; an empty list restricts nothing. */
export type CallsFilter = ApiSchemas["CallsFilter"];

const maxEntries = 1000;
/** Of all lists together. Full lists of the longest ids stay below; printing many more takes the engine's client seconds. */
const maxText = 4_000_000;

/** Throws `invalid` when a list has more than 1,000 entries, or all have more than four million characters. */
export function checkFilter(filter: CallsFilter): void {
  let text = 0;
  for (const [name, list] of Object.entries(filter)) {
    if (!Array.isArray(list)) continue;
    if (list.length > maxEntries) {
      throw new HeddleError("invalid", `${name} has more than ${maxEntries} entries`, { loc: ["filter", name] });
    }
    for (const [index, entry] of list.entries()) {
      text += characterCount(entry);
      if (text <= maxText) continue;
      const message = `the lists of the filter have more than ${maxText} characters up to here`;
      throw new HeddleError("invalid", message, { loc: ["filter", name, index] });
    }
  }
}

/** The conditions of a filter, without `call_ids`: `locateCalls` finds calls by id. */
export function compileFilter(p: Parameters, filter: CallsFilter, projectId: string): string[] {
  const conditions: string[] = [];
  const oneOf = (column: string, list: readonly string[] | undefined) => {
    if (list !== undefined && list.length > 0) conditions.push(p.in(column, "String", list));
  };
  oneOf("trace_id", filter.trace_ids);
  oneOf("parent_id", filter.parent_ids);
  oneOf("thread_id", filter.thread_ids);
  oneOf("turn_id", filter.turn_ids);
  oneOf("user_id", filter.wb_user_ids);
  oneOf(
    "run_id",
    filter.wb_run_ids?.flatMap((id) => runIds(id, projectId)),
  );
  if (filter.trace_roots_only === true) conditions.push("parent_id = ''");
  const ops = opsOf(filter, projectId);
  if (ops !== undefined) {
    const parts = [
      ...(ops.versions.length > 0 ? [p.in("op_name", "String", ops.versions)] : []),
      ...(ops.keys.length > 0 ? [p.in("op_key", "String", ops.keys)] : []),
    ];
    conditions.push(parts.length === 1 ? (parts[0] ?? "") : `(${parts.join(" OR ")})`);
  }
  for (const [column, list] of [
    ["input_refs", filter.input_refs],
    ["output_refs", filter.output_refs],
  ] as const) {
    conditions.push(
      ...anyOf(
        list?.flatMap(refSpellings),
        (exact) => anyRef(p, column, exact),
        (every) => anyVersion(p, column, every),
      ),
    );
  }
  return conditions;
}

/** Whether a filter restricts anything, without its `call_ids`. */
export function restricts(filter: CallsFilter, projectId: string): boolean {
  return compileFilter(new Parameters(), filter, projectId).length > 0;
}

/** What a filter compares of a call, without its refs. */
export interface FilteredCall {
  trace_id: string;
  parent_id: string;
  thread_id: string;
  turn_id: string;
  user_id: string;
  run_id: string;
  op: string;
  op_key: string;
}

/**
 * Whether a call in memory meets what {@link compileFilter} makes of the filter; undefined for filters by refs, which only
 * the table can tell.
 */
export function filterOf(filter: CallsFilter, projectId: string): ((call: FilteredCall) => boolean) | undefined {
  if (filter.input_refs?.length || filter.output_refs?.length) return undefined;
  const tests: Array<(call: FilteredCall) => boolean> = [];
  const oneOf = (column: keyof FilteredCall, list: readonly string[] | undefined) => {
    const values = new Set(list);
    if (values.size > 0) tests.push((call) => values.has(call[column]));
  };
  oneOf("trace_id", filter.trace_ids);
  oneOf("parent_id", filter.parent_ids);
  oneOf("thread_id", filter.thread_ids);
  oneOf("turn_id", filter.turn_ids);
  oneOf("user_id", filter.wb_user_ids);
  oneOf(
    "run_id",
    filter.wb_run_ids?.flatMap((id) => runIds(id, projectId)),
  );
  if (filter.trace_roots_only === true) tests.push((call) => call.parent_id === "");
  const ops = opsOf(filter, projectId);
  if (ops !== undefined) {
    const versions = new Set(ops.versions);
    const keys = new Set(ops.keys);
    tests.push((call) => versions.has(call.op) || keys.has(call.op_key));
  }
  return (call) => tests.every((test) => test(call));
}

/** A bare run id means the run of this project, in both forms in which calls may name it. */
function runIds(id: string, projectId: string): string[] {
  return id.includes("/") ? [id] : [id, `${projectId}/${id}`];
}

/** Splits a list into exact entries and `name:*`, which means all versions. */
function anyOf(
  list: readonly string[] | undefined,
  exactly: (list: string[]) => string,
  allVersions: (list: string[]) => string,
): string[] {
  if (list === undefined || list.length === 0) return [];
  const exact = list.filter((entry) => !entry.endsWith(":*"));
  const wild = list.filter((entry) => entry.endsWith(":*"));
  const parts = [...(exact.length > 0 ? [exactly(exact)] : []), ...(wild.length > 0 ? [allVersions(wild)] : [])];
  return parts.length === 1 ? parts : [`(${parts.join(" OR ")})`];
}

function opsOf({ op_names: names = [] }: CallsFilter, projectId: string): NamedOps | undefined {
  return names.length === 0 ? undefined : namedOps(names, projectId);
}

function withoutVersion(wild: string): string {
  return wild.slice(0, -":*".length);
}

/**
 * The index over refs understands `hasAny`, but evaluating that for a thousand refs takes seconds: it serves as a hint
 * and a set decides.
 */
function anyRef(p: Parameters, column: string, refs: readonly string[]): string {
  const parts = p
    .lists("String", refs)
    .map((list) => `(indexHint(hasAny(${column}, ${list})) AND arrayExists(ref -> ref IN (${list}), ${column}))`);
  return parts.length === 1 ? (parts[0] ?? "0") : `(${parts.join(" OR ")})`;
}

const refScheme = "weave:///";

/**
 * A ref is a version of `…name:*` when it begins with `…name:`. Names hold no colon, so refs are compared up to their
 * first one: a set instead of a thousand prefixes. Entries that are no such ref are compared as prefixes.
 */
function anyVersion(p: Parameters, column: string, wild: readonly string[]): string {
  const prefixes = wild.map((entry) => `${withoutVersion(entry)}:`);
  const isOpenRef = (prefix: string) =>
    prefix.startsWith(refScheme) && prefix.indexOf(":", refScheme.length) === prefix.length - 1;
  const refs = prefixes.filter(isOpenRef);
  const tests = prefixes
    .filter((prefix) => !isOpenRef(prefix))
    .map((prefix) => `startsWith(ref, ${p.bind("String", prefix)})`);
  if (refs.length > 0)
    tests.push(p.in(`substring(ref, 1, position(ref, ':', ${refScheme.length + 1}))`, "String", refs));
  return `arrayExists(ref -> ${tests.join(" OR ")}, ${column})`;
}
