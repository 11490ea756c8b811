import { sendAll } from "./load.js";
import { completeRequests } from "./payloads.js";
import type { ServiceProcess } from "./service-process.js";

/** Calls that are written by the API, before the engine copies them. */
export const originals = 5000;
/** Copies that one statement makes. */
const atOnce = 10;

/** Fills a project: some thousand calls by the API, which the engine multiplies, each a second before the other. */
export async function multiplyCalls(service: ServiceProcess, project: string, count: number): Promise<void> {
  const createdCalls = Math.min(count, originals);
  await sendAll(service, completeRequests(project, Math.ceil(createdCalls / 50), 50), 4);
  for (const sql of copiesOf({ table: "trace.calls", project, where: "length(id) = 36" }, createdCalls, count))
    await service.engine(sql);
}

/** Which calls are copied. */
interface Originals {
  table: string;
  project: string;
  where: string;
}

/** The statements that make so many calls out of those that there are. */
export function copiesOf({ table, project, where }: Originals, createdCalls: number, count: number): string[] {
  const copies = Math.floor(count / createdCalls) - 1;
  const statements: string[] = [];
  for (let from = 1; from <= copies; from += atOnce) {
    const end = Math.min(copies + 1, from + atOnce);
    const changed = `concat(id, '-', toString(copy)) AS id, started_at - copy * ${createdCalls} AS started_at, version - copy AS version,
      1000 * (cityHash64(id) % 5000000) AS latency_us`;
    statements.push(`INSERT INTO ${table} SELECT * EXCEPT (copy) REPLACE(${changed}) FROM
      (SELECT *, toInt64(arrayJoin(range(${from}, ${end}))) AS copy FROM
        (SELECT * FROM ${table} WHERE project_id = '${project}' AND ${where} LIMIT ${createdCalls}))`);
  }
  return statements;
}
