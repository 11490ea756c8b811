import type { ReadOptions } from "../context.js";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import type { InFlight } from "../stored-calls/in-flight.js";
import { visibleRunning } from "../visibility/running-calls.js";
import { visibleCalls } from "../visibility/visible-calls.js";

/** The calls of a project as a list of projects shows them. Times are microseconds since 1970. */
export interface ProjectCalls {
  call_count: number;
  /** Calls that have not ended; they are among `call_count`. */
  running: number;
  last_started_at: bigint | undefined;
}

interface ProjectCallsContext {
  engine: Engine;
  now: () => bigint;
  inFlight: InFlight;
}

/** Projects of one statement. */
const atOnce = 100;

/**
 * Counts the calls of projects, in the order of the ids. A call that ends meanwhile may be counted among both the running
 * and the complete ones, or among neither.
 */
export async function projectCalls(
  context: ProjectCallsContext,
  projectIds: readonly string[],
  { signal }: ReadOptions = {},
): Promise<ProjectCalls[]> {
  const found: ProjectCalls[] = [];
  for (let from = 0; from < projectIds.length; from += atOnce) {
    found.push(...(await callsOf(context, projectIds.slice(from, from + atOnce), signal)));
  }
  return found;
}

interface Row {
  position: number;
  is_running: number;
  calls: string | number;
  last_us: string | number;
}

async function callsOf(
  { engine, now, inFlight }: ProjectCallsContext,
  projectIds: readonly string[],
  signal: AbortSignal | undefined,
): Promise<ProjectCalls[]> {
  let found: ProjectCalls[] = [];
  const add = (position: number, isRunning: boolean, calls: number, lastUs: bigint) => {
    const project = found[position];
    if (project === undefined || calls === 0) return;
    project.call_count += calls;
    if (isRunning) project.running += calls;
    if (project.last_started_at === undefined || lastUs > project.last_started_at) project.last_started_at = lastUs;
  };
  const statement = () => {
    found = projectIds.map(() => ({ call_count: 0, running: 0, last_started_at: undefined }));
    const p = new Parameters();
    const selects = projectIds.flatMap((projectId, position) => {
      const scope = { project_id: projectId, now: now(), inFlight };
      const running = visibleRunning(scope);
      for (const { started_at } of running ?? []) add(position, true, 1, started_at);
      // Those that memory does not have are in the table.
      const branches = running === undefined ? (["complete", "running"] as const) : (["complete"] as const);
      return branches.map((only) => {
        const select = ["count() AS calls", "max(started_at) AS last"];
        const calls = visibleCalls(scope, p, { select, only, aggregation: "rows" });
        const sums = "sum(calls) AS calls, toUnixTimestamp64Micro(max(last)) AS last_us";
        return `SELECT ${position} AS position, ${only === "running" ? 1 : 0} AS is_running, ${sums} FROM (${calls})`;
      });
    });
    return { sql: selects.join(" UNION ALL "), params: p };
  };
  for (const row of await engine.rows<Row>(statement, { signal })) {
    add(row.position, row.is_running === 1, Number(row.calls), BigInt(row.last_us));
  }
  return found;
}
