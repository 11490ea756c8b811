import { readable } from "@heddle/exact-json";
import type { Engine } from "../../engine/engine.js";
import { Parameters } from "../../engine/parameters.js";
import { keyText } from "../../stored-calls/call-key.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import { endSide, startSide } from "../../stored-calls/call-sides.js";
import type { EndSide, OpenSides, StartSide } from "../../stored-calls/call-sides.js";
import type { SideName } from "../../stored-calls/rows.js";
import { readStated, statedColumns } from "../../stored-calls/stated-columns.js";
import type { StatedRow } from "../../stored-calls/stated-columns.js";
import { keysOf, located } from "../../visibility/located.js";
import { during } from "../../stored-calls/time-spans.js";
import type { TimeSpan } from "../../stored-calls/time-spans.js";
import { allRows, newestRows } from "../../schema/read-table.js";

/** The complete row of a call as it is stored. */
export interface CompleteCall {
  start: StartSide;
  end: EndSide;
  version: bigint;
}

/** Calls of any projects that started within a span, or at any time. */
export interface CallSearch {
  calls: readonly CallKey[];
  span?: TimeSpan;
  /** Up to which version `call_ids` has all calls, and so these. */
  indexed?: bigint | undefined;
}

/**
 * Reads the newest unhidden complete row of each call that is found, in one statement. `mayBeHidden` tells whether a
 * project has hidden rows at all.
 */
export async function readCompleteCalls(
  engine: Engine,
  searches: readonly CallSearch[],
  mayBeHidden: (projectId: string) => boolean,
): Promise<Map<string, CompleteCall>> {
  const found = new Map<string, CompleteCall>();
  if (searches.every(({ calls }) => calls.length === 0)) return found;
  const params = new Parameters();
  const wanted = searches.map(({ calls, span, indexed }) => {
    const isCall = isOneOf(params, calls);
    if (indexed !== undefined) return `(${isCall} AND ${located(keysOf(params, calls), indexed)})`;
    return span === undefined ? isCall : `(${isCall} AND ${during(params, [span])})`;
  });
  const mayBe = searches.flatMap(({ calls }) => calls.filter(({ project_id }) => mayBeHidden(project_id)));
  const hidden = `SELECT project_id, id, version FROM ${allRows("call_hidden")} WHERE version > 0 AND ${isOneOf(params, mayBe)}`;
  const unhidden = mayBe.length === 0 ? "" : ` AND (project_id, id, version) NOT IN (${hidden})`;
  const sql = `SELECT ${sharedColumns}, ${times("ended_at")} FROM calls WHERE (${wanted.join(" OR ")})${unhidden}`;
  for await (const row of engine.stream<Row>({ sql, params })) {
    const key = keyText(row);
    const version = BigInt(row.version);
    if ((found.get(key)?.version ?? 0n) < version) found.set(key, { start: startOf(row), end: endOf(row), version });
  }
  return found;
}

/** Reads the open sides of calls. */
export async function readOpenSides(engine: Engine, keys: readonly CallKey[]): Promise<Map<string, OpenSides>> {
  const found = new Map<string, OpenSides>();
  if (keys.length === 0) return found;
  const params = new Parameters();
  const sql = `SELECT ${sharedColumns}, part, ${times("ended_at")} FROM ${newestRows("call_parts")} WHERE closed = 0 AND ${isOneOf(params, keys)}`;
  for await (const row of engine.stream<Row & { part: SideName }>({ sql, params })) {
    const sides = found.get(keyText(row)) ?? {};
    const version = BigInt(row.version);
    if (row.part === "start") sides.start = { side: startOf(row), version };
    else sides.end = { side: endOf(row), version };
    found.set(keyText(row), sides);
  }
  return found;
}

/** The condition that a row belongs to one of the calls. */
export function isOneOf(params: Parameters, keys: readonly CallKey[]): string {
  return params.inPairs(
    ["project_id", "id"],
    keys.map(({ project_id, id }) => [project_id, id]),
  );
}

const times = (column: string) => `toUnixTimestamp64Micro(${column}) AS ${column}_us`;

const sharedColumns = [
  ..."project_id id version exact trace_id op_name display_name".split(" "),
  ...statedColumns.map(({ column }) => column),
  ..."source attributes inputs run_step_end output summary exception".split(" "),
  times("started_at"),
].join(", ");

interface Row extends StatedRow {
  project_id: string;
  id: string;
  version: string;
  exact: Record<string, string>;
  trace_id: string;
  op_name: string;
  display_name: string;
  source: string;
  attributes: string;
  inputs: string;
  run_step_end: string | null;
  output: string;
  summary: string;
  exception: string | null;
  started_at_us: string;
  ended_at_us: string | null;
}

function startOf(row: Row): StartSide {
  return startSide({
    project_id: row.project_id,
    id: row.id,
    trace_id: row.trace_id,
    op_name: row.op_name,
    started_at: BigInt(row.started_at_us),
    ...readStated(row, undefined),
    display_name: row.display_name,
    source: row.source,
    attributes: readable(row.attributes, row.exact["attributes"]),
    inputs: readable(row.inputs, row.exact["inputs"]),
  });
}

function endOf(row: Row): EndSide {
  return endSide({
    project_id: row.project_id,
    id: row.id,
    ended_at: BigInt(row.ended_at_us ?? 0),
    output: readable(row.output, row.exact["output"]),
    summary: readable(row.summary, row.exact["summary"]),
    exception: row.exception ?? "",
    wb_run_step_end: row.run_step_end === null ? undefined : Number(row.run_step_end),
  });
}
