import { RowWriter } from "../../engine/row-writer.js";
import { insertTrusted, markForRecoveryOnError } from "./write-calls.js";
import type { IngestContext } from "../context.js";
import { retentionUsOf } from "../../visibility/retention.js";

const row = new RowWriter();

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
  state.retention.set(projectId, retentionUsOf(days));
}
