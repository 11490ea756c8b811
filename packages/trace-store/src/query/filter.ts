import { HeddleError } from "@heddle/errors";
import { characterCount } from "@heddle/exact-json";
import { namedOps, refSpellings } from "@heddle/trace-model";
import type { NamedOps } from "@heddle/trace-model";
import type { ApiSchemas } from "../api-schemas.js";
import { Parameters } from "../engine/parameters.js";
import { opCondition } from "./op-condition.js";

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

/** The column of a list, or of the texts of which a call must have one. */
type ListColumn = "trace_id" | "parent_id" | "thread_id" | "turn_id" | "user_id" | "run_id";

/** What a filter compares of a call, without its refs. */
export type FilteredCall = Readonly<Record<ListColumn | "op_name" | "op_key", string | null>>;

/** The lists of a filter, without its ids, ops and refs. */
function listsOf(filter: CallsFilter, projectId: string): Array<[ListColumn, readonly string[]]> {
  const lists: Array<[ListColumn, readonly string[] | undefined]> = [
    ["trace_id", filter.trace_ids],
    ["parent_id", filter.parent_ids],
    ["thread_id", filter.thread_ids],
    ["turn_id", filter.turn_ids],
    ["user_id", filter.wb_user_ids],
    ["run_id", filter.wb_run_ids?.flatMap((id) => runIds(id, projectId))],
    ["parent_id", filter.trace_roots_only === true ? [""] : undefined],
  ];
  return lists.flatMap(([column, texts = []]) => (texts.length === 0 ? [] : [[column, texts]]));
}

/** The conditions of a filter, without `call_ids`: `locateCalls` finds calls by id. */
export function compileFilter(p: Parameters, filter: CallsFilter, projectId: string): string[] {
  const conditions = listsOf(filter, projectId).map(([column, texts]) => p.in(column, "String", texts));
  const ops = opCondition(p, namedOps(filter.op_names ?? [], projectId), projectId);
  if (ops !== undefined) conditions.push(ops);
  return [...conditions, ...refConditions(p, "input_refs", filter), ...refConditions(p, "output_refs", filter)];
}

/** Whether a filter restricts anything, without its `call_ids`. */
export function restricts(filter: CallsFilter, projectId: string): boolean {
  return compileFilter(new Parameters(), filter, projectId).length > 0;
}

/**
 * Whether a call in memory meets what {@link compileFilter} makes of the filter; undefined for filters by refs or labels, which
 * only tables can tell.
 */
export function filterOf(filter: CallsFilter, projectId: string): ((call: FilteredCall) => boolean) | undefined {
  if (filter.input_refs?.length || filter.output_refs?.length) return undefined;
  const lists = listsOf(filter, projectId).map(([column, texts]) => [column, new Set(texts)] as const);
  const isOfOps = filter.op_names?.length ? opTest(namedOps(filter.op_names, projectId)) : () => true;
  if (isOfOps === undefined) return undefined;
  return (call) => lists.every(([column, texts]) => texts.has(call[column] ?? "")) && isOfOps(call);
}

/** Whether a call in memory is of one of the ops; undefined for labels, which only tables can tell. */
export function opTest({
  versions,
  keys,
  labels,
}: NamedOps): ((call: Pick<FilteredCall, "op_name" | "op_key">) => boolean) | undefined {
  if (labels.length > 0) return undefined;
  const [names, ops] = [new Set(versions), new Set(keys)];
  return ({ op_name, op_key }) => names.has(op_name ?? "") || ops.has(op_key ?? "");
}

/** A bare run id means the run of this project, in both forms in which calls may name it. */
function runIds(id: string, projectId: string): string[] {
  return id.includes("/") ? [id] : [id, `${projectId}/${id}`];
}

/** Exact refs, and `name:*`, which means all versions. */
function refConditions(p: Parameters, column: "input_refs" | "output_refs", filter: CallsFilter): string[] {
  const refs = filter[column]?.flatMap(refSpellings) ?? [];
  const exact = refs.filter((entry) => !entry.endsWith(":*"));
  const wild = refs.filter((entry) => entry.endsWith(":*"));
  if (refs.length === 0) return [];
  return [
    either([
      ...(exact.length > 0 ? [anyRef(p, column, exact)] : []),
      ...(wild.length > 0 ? [anyVersion(p, column, wild)] : []),
    ]),
  ];
}

const either = (parts: readonly string[]): string => (parts.length === 1 ? parts.join() : `(${parts.join(" OR ")})`);

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
  return either(parts);
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
