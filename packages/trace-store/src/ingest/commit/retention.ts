import type { Engine } from "../../engine/engine.js";
import { RowWriter } from "../../engine/row-writer.js";
import { newestRows } from "../../schema/read-table.js";
import { insertTrusted, markForRecoveryOnError } from "./write-calls.js";
import type { IngestContext } from "../context.js";
import { copyText } from "../../stored-calls/call-sides.js";

const dayUs = 86_400_000_000n;

const row = new RowWriter();

/** The setting in microseconds; undefined for one without a limit. */
export function retentionUsOf(days: number | null): bigint | undefined {
  return days === null || days === 0 ? undefined : BigInt(days) * dayUs;
}

/** Reads the setting of every project that has a limit. */
export async function loadRetention(engine: Engine): Promise<Map<string, bigint>> {
  const settings = new Map<string, bigint>();
  const sql = `SELECT project_id, days FROM ${newestRows("retention")} WHERE days > 0`;
  for await (const { project_id, days } of engine.stream<{ project_id: string; days: number }>({ sql })) {
    settings.set(project_id, BigInt(days) * dayUs);
  }
  return settings;
}

/** Stores the setting of a project, then applies it to reads. No commit may be under way. */
export async function storeRetention(
  { engine, clock, state }: IngestContext,
  projectId: string,
  days: number | null,
  user: string,
): Promise<void> {
  const setting = row.rowOf(() => {
    row.text(projectId);
    row.integer(days ?? 0);
    row.text(user);
    row.integer(clock.next());
  });
  const columns = ["project_id", "days", "updated_by", "version"];
  await markForRecoveryOnError(state, insertTrusted(engine, "retention", columns, [setting]));
  const us = retentionUsOf(days);
  if (us === undefined) state.retention.delete(projectId);
  else state.retention.set(copyText(projectId), us);
}
