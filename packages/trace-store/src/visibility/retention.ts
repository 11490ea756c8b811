import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { newestRows } from "../schema/read-table.js";
import type { InFlight } from "../stored-calls/in-flight.js";
import type { CallScope } from "./call-scope.js";

const dayUs = 86_400_000_000n;
/** The calls of 1900 are the oldest. */
const beginningUs = -2_208_988_800_000_000n;
/** Settings that one statement reads. */
const settingsAtOnce = 10_000;

/** The setting in microseconds; undefined for one without a limit. */
export function retentionUsOf(days: number | null): bigint | undefined {
  return days === null || days === 0 ? undefined : BigInt(days) * dayUs;
}

/** Whether readers may still see a call that started then; undefined where only the table tells for how long its project keeps calls. */
export function isRetained({ project_id, now, inFlight }: CallScope): ((startedAt: bigint) => boolean) | undefined {
  const retention = inFlight.retentionUs(project_id);
  if (retention === "stored") return undefined;
  return (startedAt) => retention === undefined || startedAt > now - retention;
}

/** The condition that readers may still see a call of the project. */
export function retained({ project_id, now, inFlight }: CallScope, p: Parameters, project: string): string[] {
  const retention = inFlight.retentionUs(project_id);
  if (retention === undefined) return [];
  if (retention !== "stored") return [`started_at > ${p.time(now - retention)}`];
  const from = `if(max(days) = 0, ${beginningUs}, greatest(${beginningUs}, toInt64(${now}) + 1 - toInt64(max(days)) * ${dayUs}))`;
  return [
    `started_at >= (SELECT fromUnixTimestamp64Micro(${from}, 'UTC') FROM ${newestRows("retention")} WHERE project_id = ${project})`,
  ];
}

/** For how long a project keeps its calls, in memory or else in the table; undefined keeps them indefinitely. */
export async function readRetention(
  engine: Engine,
  inFlight: Pick<InFlight, "retentionUs">,
  projectId: string,
): Promise<bigint | undefined> {
  const known = inFlight.retentionUs(projectId);
  return known === "stored" ? retentionUsOf(await storedDays(engine, projectId)) : known;
}

/** In days; null for no limit. */
export async function storedDays(engine: Engine, projectId: string): Promise<number | null> {
  const p = new Parameters();
  const sql = `SELECT days FROM ${newestRows("retention")} WHERE project_id = ${p.bind("String", projectId)}`;
  const [row] = await engine.rows<{ days: number }>({ sql, params: p });
  return row?.days || null;
}

/** The projects that keep their calls for a limited time, and for how many microseconds: many at a time, in the order of their names. */
export async function* retentionSettings(
  engine: Engine,
  atOnce = settingsAtOnce,
): AsyncGenerator<ReadonlyMap<string, bigint>, void, undefined> {
  for (let last = "", rows = atOnce; rows === atOnce;) {
    const p = new Parameters();
    const sql = `SELECT project_id, days FROM ${newestRows("retention")}
      WHERE days > 0 AND project_id > ${p.bind("String", last)} ORDER BY project_id LIMIT ${atOnce}`;
    const found = await engine.rows<{ project_id: string; days: number }>({ sql, params: p });
    if (found.length > 0) yield new Map(found.map(({ project_id, days }) => [project_id, BigInt(days) * dayUs]));
    last = found.at(-1)?.project_id ?? last;
    rows = found.length;
  }
}
