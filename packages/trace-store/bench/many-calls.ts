import type { CallPart } from "@heddle/trace-model";
import type { Engine } from "../src/engine/engine.js";

const projects = 100;
const sliceCalls = 1_000_000;

/** Rows of calls that the engine makes: of every second of the past, in a hundred projects; half of their ids carry their time. */
export async function fillCalls(engine: Engine, from: number, count: number): Promise<void> {
  const now = BigInt(Date.now()) * 1000n - 3_600_000_000n;
  for (let stored = from; stored < from + count; stored += sliceCalls) {
    const rows = Math.min(sliceCalls, from + count - stored);
    const dated =
      "concat(lower(leftPad(hex(intDiv(us, 1000)), 12, '0')), '7', substring(lower(hex(cityHash64(n))), 2, 3), '8', leftPad(lower(hex(cityHash64(n))), 15, '0'))";
    const hyphens = [1, 9, 13, 17, 21].map((at, index) => `substring(${dated}, ${at}, ${[8, 4, 4, 4, 12][index]})`);
    const id = `if(n % 2 = 0, concat(${hyphens.join(", '-', ")}), lower(hex(cityHash64(n))))`;
    await engine.command({
      sql: `INSERT INTO calls (project_id, id, trace_id, op_name, op_key, started_at, ended_at, attributes, inputs, output, summary, size_bytes, version)
        SELECT concat('bench/', toString(n % ${projects})), ${id}, toString(intDiv(n, 1000)), 'op', 'op',
          fromUnixTimestamp64Micro(us), fromUnixTimestamp64Micro(us + 1000), '{}', '{"question":"what is it"}', '"it"', '{}', 40, toUInt64(us)
        FROM (SELECT number + ${stored} AS n, toInt64(${now} - (40000000 - number - ${stored}) * 1000000) AS us FROM numbers(${rows}))`,
    });
  }
}

/** A call of now. */
export function newCall(projectId: string, id: string): CallPart {
  const now = BigInt(Date.now()) * 1000n;
  const start = {
    project_id: projectId,
    id,
    trace_id: id,
    op_name: "op",
    started_at: now,
    attributes: "{}",
    inputs: "{}",
  };
  return {
    part: "complete",
    start,
    end: { project_id: projectId, id, ended_at: now, output: "1", summary: "{}" },
  };
}
