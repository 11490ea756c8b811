import { randomUUID } from "node:crypto";
import { newId } from "@heddle/trace-model";
import type { CallEnd, CallPart, CallStart } from "@heddle/trace-model";
import type { Engine } from "../src/engine/engine.js";

/** A project of its own for one test. */
export function newProject(): string {
  return `acme/${randomUUID()}`;
}

export function nowUs(): bigint {
  return BigInt(Date.now()) * 1000n;
}

type Named<T> = Partial<T> & { project_id: string };

export function callStart(fields: Named<CallStart>): CallStart {
  const id = fields.id ?? newId();
  return {
    id,
    trace_id: id,
    op_name: "answer",
    started_at: nowUs(),
    attributes: "{}",
    inputs: '{"q":"hi"}',
    ...fields,
  };
}

export function callEnd(fields: Named<CallEnd> & { id: string }): CallEnd {
  return { ended_at: nowUs() + 1000n, summary: "{}", output: '"hello"', ...fields };
}

export function startPart(fields: Named<CallStart>): CallPart {
  return { part: "start", start: callStart(fields) };
}

export function endPart(fields: Named<CallEnd> & { id: string }): CallPart {
  return { part: "end", end: callEnd(fields) };
}

export function completePart(fields: Named<CallStart>, end: Partial<CallEnd> = {}): CallPart {
  const start = callStart(fields);
  return { part: "complete", start, end: callEnd({ ...end, project_id: start.project_id, id: start.id }) };
}

export interface VisibleCall {
  id: string;
  op_name: string;
  inputs: string;
  output: string;
  running: number;
  us: string;
}

/** What a reader may see of a project, straight from the tables: every row counts, so a doubled call is two. */
export async function visibleCalls(engine: Engine, projectId: string): Promise<VisibleCall[]> {
  const scope = `project_id = '${projectId}'`;
  const hidden = `SELECT id, version FROM call_hidden FINAL WHERE ${scope} AND compacted_at IS NULL`;
  const columns = "id, op_name, inputs, output, toUnixTimestamp64Micro(started_at) AS us";
  const unhidden = `(id, version) NOT IN (${hidden}) AND (id, 0) NOT IN (${hidden})`;
  return await engine.rows<VisibleCall>({
    sql: `SELECT * FROM (SELECT ${columns}, 0 AS running FROM calls WHERE ${scope} AND ${unhidden}
      UNION ALL SELECT ${columns}, 1 AS running FROM call_parts FINAL WHERE ${scope} AND part = 'start' AND closed = 0 AND ${unhidden})
      ORDER BY toInt64(us), id`,
  });
}

/** Open sides, visible or not. */
export async function openSides(engine: Engine, projectId: string): Promise<Array<{ id: string; part: string }>> {
  return await engine.rows({
    sql: `SELECT id, part FROM call_parts FINAL WHERE project_id = '${projectId}' AND closed = 0 ORDER BY id, part`,
  });
}
