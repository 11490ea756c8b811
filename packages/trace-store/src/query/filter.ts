import { HeddleError } from "@heddle/errors";
import { characterCount } from "@heddle/exact-json";
import { refSpellings } from "@heddle/trace-model";
import type { ApiSchemas } from "../api-schemas.js";
import { Parameters } from "../engine/parameters.js";
import { namedOps } from "./named-ops.js";

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
type FilterColumn = "trace_id" | "parent_id" | "thread_id" | "turn_id" | "user_id" | "run_id" | "op_name" | "op_key";

/** What a filter compares of a call, without its refs. */
export type FilteredCall = Readonly<Record<FilterColumn, string | null>>;

interface OneOf {
  column: FilterColumn;
  texts: readonly string[];
}

/** The conditions of a filter, without its ids and refs: a call meets one by any of its alternatives. */
function conditionsOf(filter: CallsFilter, projectId: string): OneOf[][] {
  const lists: Array<[FilterColumn, readonly string[] | undefined]> = [
    ["trace_id", filter.trace_ids],
    ["parent_id", filter.parent_ids],
    ["thread_id", filter.thread_ids],
    ["turn_id", filter.turn_ids],
    ["user_id", filter.wb_user_ids],
    ["run_id", filter.wb_run_ids?.flatMap((id) => runIds(id, projectId))],
    ["parent_id", filter.trace_roots_only === true ? [""] : undefined],
  ];
  const { versions, keys } = namedOps(filter.op_names ?? [], projectId);
  const ops: OneOf[] = [
    { column: "op_name", texts: versions },
    { column: "op_key", texts: keys },
  ];
  return [...lists.map(([column, texts = []]) => [{ column, texts }]), ops]
    .map((alternatives) => alternatives.filter(({ texts }) => texts.length > 0))
    .filter((alternatives) => alternatives.length > 0);
}

/** The conditions of a filter, without `call_ids`: `locateCalls` finds calls by id. */
export function compileFilter(p: Parameters, filter: CallsFilter, projectId: string): string[] {
  const conditions = conditionsOf(filter, projectId).map((alternatives) =>
    either(alternatives.map(({ column, texts }) => p.in(column, "String", texts))),
  );
  return [...conditions, ...refConditions(p, "input_refs", filter), ...refConditions(p, "output_refs", filter)];
}

/** Whether a filter restricts anything, without its `call_ids`. */
export function restricts(filter: CallsFilter, projectId: string): boolean {
  return compileFilter(new Parameters(), filter, projectId).length > 0;
}

/**
 * Whether a call in memory meets what {@link compileFilter} makes of the filter; undefined for filters by refs, which only
 * the table can tell.
 */
export function filterOf(filter: CallsFilter, projectId: string): ((call: FilteredCall) => boolean) | undefined {
  if (filter.input_refs?.length || filter.output_refs?.length) return undefined;
  const conditions = conditionsOf(filter, projectId).map((alternatives) =>
    alternatives.map(({ column, texts }) => ({ column, texts: new Set(texts) })),
  );
  return (call) =>
    conditions.every((alternatives) => alternatives.some(({ column, texts }) => texts.has(call[column] ?? "")));
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
