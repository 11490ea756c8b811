import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Writing } from "./writing.js";
import { isSentAgain } from "./wire.js";

/**
 * Starts calls, ends, renames and deletes some, and gives and takes back feedback on them, each change until it is
 * acknowledged: one that was not may have happened, too.
 */
export async function changeCalls({ wire, project_id, random, stopped }: Omit<Writing, "ledger">): Promise<void> {
  while (!stopped()) {
    const ids = Array.from({ length: 6 }, () => randomUUID());
    const [ended = "", renamed = "", deleted = "", judged = "", forgiven = ""] = ids;
    const start = { project_id, op_name: "changing", attributes: {}, inputs: { n: random() } };
    const startedAt = new Date().toISOString();
    const batch = ids.map((id) => ({
      mode: "start",
      req: { start: { ...start, id, trace_id: id, started_at: startedAt } },
    }));
    await send("/call/upsert_batch", { batch });
    await send("/call/end", {
      end: { project_id, id: ended, ended_at: new Date().toISOString(), output: 1, summary: {} },
    });
    await send("/call/update", { project_id, call_id: renamed, display_name: `name ${random()}` });
    const feedback = [judged, forgiven, deleted].map((id) => ({
      project_id,
      id: `f-${id}`,
      weave_ref: `weave:///${project_id}/call/${id}`,
      feedback_type: "fault",
      payload: { score: random() },
    }));
    await send("/feedback/batch/create", { batch: feedback });
    const query = { $expr: { $eq: [{ $getField: "id" }, { $literal: `f-${forgiven}` }] } };
    await send("/feedback/purge", { project_id, query });
    await send("/calls/delete", { project_id, call_ids: [deleted] });
  }

  async function send(path: string, body: unknown): Promise<void> {
    for (;;) {
      const { status, text } = await wire.post(path, body);
      if (status === 200) return;
      if (!isSentAgain(status)) throw new Error(`${path} answered ${status}: ${text}`);
      await delay(50);
    }
  }
}
