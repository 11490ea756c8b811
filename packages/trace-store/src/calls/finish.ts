import { HeddleError } from "@heddle/errors";
import { arrayItems, jsonType, memberOf, parseRef, projectIdOf, stringValue, withMembers } from "@heddle/trace-model";
import type { CallField, JsonText } from "@heddle/trace-model";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { feedbackOfCalls } from "../feedback/of-calls.js";
import type { Refs } from "../refs/refs.js";
import type { StoredCall } from "./stored-call.js";
import { renames, visibleCalls } from "../query/visible-calls.js";
import type { CallScope } from "../query/visible-calls.js";

/** What a page of calls gets after it was read, in groups. */
export interface Finish {
  engine: Engine;
  scope: () => CallScope;
  names: boolean;
  totalSizes: boolean;
  feedback: boolean;
  /** Replaces refs at these paths, shallow ones first. */
  expand: ReadonlyArray<Extract<CallField, { kind: "json" }>>;
  refs: Refs;
  signal: AbortSignal | undefined;
}

const groupRows = 500;
const groupBytes = 8 * 1024 * 1024;
const maxRefs = 1000;

export async function* finishCalls(
  calls: AsyncIterable<StoredCall>,
  finish: Finish,
): AsyncGenerator<StoredCall, void, undefined> {
  if (!finish.names && !finish.totalSizes && !finish.feedback && finish.expand.length === 0) {
    yield* calls;
    return;
  }
  for await (const group of groups(calls)) {
    if (finish.names) await addNames(group, finish);
    if (finish.totalSizes) await addTotals(group, finish);
    if (finish.feedback) await addFeedback(group, finish);
    for (const field of finish.expand) await expandRefs(group, field, finish);
    yield* group;
  }
}

async function* groups(calls: AsyncIterable<StoredCall>): AsyncGenerator<StoredCall[], void, undefined> {
  let group: StoredCall[] = [];
  let bytes = 0;
  for await (const call of calls) {
    group.push(call);
    bytes += call.inputs.length + call.output.length + call.attributes.length + call.summary.length;
    if (group.length < groupRows && bytes < groupBytes) continue;
    yield group;
    group = [];
    bytes = 0;
  }
  if (group.length > 0) yield group;
}

async function addNames(calls: StoredCall[], { engine, scope, signal }: Finish): Promise<void> {
  const p = new Parameters();
  const ids = calls.map(({ id }) => id);
  const sql = renames(p, scope().project_id, ids);
  const rows = await engine.rows<{ id: string; display_name: string }>({ sql, params: p }, { signal });
  const names = new Map(rows.map(({ id, display_name }) => [id, display_name]));
  for (const call of calls) {
    const name = names.get(call.id);
    if (name !== undefined) call.display_name = name || null;
  }
}

/** Bytes per trace, for the roots among the calls. */
async function addTotals(calls: StoredCall[], { engine, scope, signal }: Finish): Promise<void> {
  const roots = calls.filter(({ parent_id }) => parent_id === null);
  const statement = () => {
    const p = new Parameters();
    const union = visibleCalls(scope(), p, {
      select: ["trace_id", "sum(size_bytes) AS bytes"],
      where: [p.in("trace_id", "String", [...new Set(roots.map(({ trace_id }) => trace_id))])],
      groupBy: "trace_id",
    });
    return { sql: `SELECT trace_id, sum(bytes) AS total FROM (${union}) GROUP BY trace_id`, params: p };
  };
  const rows = roots.length === 0 ? [] : await engine.rows<{ trace_id: string; total: string }>(statement, { signal });
  const totals = new Map(rows.map(({ trace_id, total }) => [trace_id, Number(total)]));
  for (const call of calls) {
    call.total_storage_size_bytes = call.parent_id === null ? (totals.get(call.trace_id) ?? 0) : null;
  }
}

async function addFeedback(calls: StoredCall[], { engine, scope, signal }: Finish): Promise<void> {
  const ids = calls.map(({ id }) => id);
  const found = await feedbackOfCalls(engine, scope().project_id, ids, signal);
  for (const call of calls) call.feedback = found.get(call.id) ?? [];
}

/** Refs that lead nowhere stay as they are. A value that is an object gets the ref as its member `_ref`. */
async function expandRefs(calls: StoredCall[], field: Finish["expand"][number], finish: Finish): Promise<void> {
  const refs = new Set<string>();
  for (const call of calls) {
    const ref = refAt(call[field.column], field.path);
    if (ref !== undefined) refs.add(ref);
  }
  const values = new Map<string, JsonText>();
  const list = [...refs];
  for (let from = 0; from < list.length; from += maxRefs) {
    const read = await readRefs(finish, list.slice(from, from + maxRefs));
    for (const [ref, value] of read) values.set(ref, withRef(value, ref));
  }
  for (const call of calls) {
    const ref = refAt(call[field.column], field.path);
    const value = ref === undefined ? undefined : values.get(ref);
    if (value !== undefined) call[field.column] = replaceAt(call[field.column], field.path, value);
  }
}

/** The values of those refs that lead to one inside the project. */
async function readRefs({ refs, scope, signal }: Finish, texts: readonly string[]): Promise<Map<string, JsonText>> {
  const { project_id } = scope();
  const values = new Map<string, JsonText>();
  const read = async (batch: readonly string[]): Promise<void> => {
    try {
      const found = await refs.readBatch(batch, { mayRead: (project) => project === project_id, signal });
      for (const [index, ref] of batch.entries()) {
        const value = found[index];
        if (value !== null && value !== undefined) values.set(ref, value);
      }
    } catch (error) {
      // One ref that leads nowhere fails its whole batch.
      if (!(error instanceof HeddleError) || error.code !== "not_found") throw error;
      if (batch.length === 1) return;
      const middle = batch.length >> 1;
      await read(batch.slice(0, middle));
      await read(batch.slice(middle));
    }
  };
  const readable = texts.filter((text) => isReadable(text, project_id));
  if (readable.length > 0) await read(readable);
  return values;
}

function isReadable(text: string, projectId: string): boolean {
  const ref = parseRef(text);
  return (ref?.kind === "object" || ref?.kind === "op") && ref.digest !== "*" && projectIdOf(ref) === projectId;
}

function withRef(value: JsonText, ref: string): JsonText {
  if (jsonType(value) !== "object" || memberOf(value, "_ref") !== undefined) return value;
  return withMembers(value, { _ref: JSON.stringify(ref) });
}

function refAt(json: JsonText, path: readonly string[]): string | undefined {
  let value: JsonText | undefined = json;
  for (const segment of path) value = value === undefined ? undefined : step(value, segment);
  const text = value === undefined ? undefined : stringValue(value);
  return text?.startsWith("weave:///") === true ? text : undefined;
}

function step(json: JsonText, segment: string): JsonText | undefined {
  if (jsonType(json) !== "array") return memberOf(json, segment);
  return /^\d+$/.test(segment) ? arrayItems(json)[Number(segment)] : undefined;
}

/** The document with the value at an existing path replaced. */
function replaceAt(json: JsonText, [segment, ...rest]: readonly string[], value: JsonText): JsonText {
  if (segment === undefined) return value;
  const inner = replaceAt(step(json, segment) ?? "null", rest, value);
  if (jsonType(json) !== "array") return withMembers(json, { [segment]: inner });
  return `[${arrayItems(json).with(Number(segment), inner).join(",")}]`;
}
