import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Writing } from "./writing.js";
import { isSentAgain } from "./wire.js";

interface Query {
  result: { payload: unknown }[];
  total_count: number;
}

/**
 * Gives feedback in batches, replaces and purges some of it, and enters what was acknowledged. What was not acknowledged
 * is sent again under the same ids until it is, so that nothing may be there twice.
 */
export async function writeFeedback({ wire, project_id, ledger, random, stopped }: Writing): Promise<void> {
  for (let round = 0; !stopped(); round++) {
    const feedback = (id: string, text: string) => ({
      project_id,
      id,
      weave_ref: `weave:///${project_id}/call/${id}`,
      feedback_type: "fault",
      payload: { text, round },
    });
    const [kept, replaced, purged, successor] = Array.from({ length: 4 }, () => randomUUID()) as [
      string,
      string,
      string,
      string,
    ];
    const text = `${random()}`;
    await send("/feedback/batch/create", { batch: [kept, replaced, purged].map((id) => feedback(id, text)) });
    enter(kept, [{ text, round }]);
    await send("/feedback/replace", { ...feedback(successor, `${text} new`), feedback_id: replaced });
    enter(replaced, []);
    enter(successor, [{ text: `${text} new`, round }]);
    await send("/feedback/purge", {
      project_id,
      query: { $expr: { $eq: [{ $getField: "id" }, { $literal: purged }] } },
    });
    enter(purged, []);
  }

  async function send(path: string, body: unknown): Promise<void> {
    for (;;) {
      const { status, text } = await wire.post(path, body);
      if (status === 200) return;
      if (!isSentAgain(status)) throw new Error(`${path} answered ${status}: ${text}`);
      await delay(50);
    }
  }

  /** Ids are looked for by themselves and by the call, which are two ways to a row. */
  function enter(id: string, payloads: unknown[]): void {
    const where = (field: string, value: string) => ({ $expr: { $eq: [{ $getField: field }, { $literal: value }] } });
    ledger.contents.push({
      kind: "feedback",
      what: `feedback ${id}`,
      expected: [payloads, payloads, payloads.length],
      async read(from) {
        const query = (field: string, value: string) =>
          from.ask<Query>("/feedback/query", { project_id, query: where(field, value) });
        const byId = await query("id", id);
        const byRef = await query("weave_ref", `weave:///${project_id}/call/${id}`);
        return [byId, byRef]
          .map(({ result }) => result.map(({ payload }) => payload) as unknown)
          .concat(byId.total_count);
      },
    });
  }
}
