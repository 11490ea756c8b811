import { setTimeout as delay } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { completePart, newProject } from "../test/call-parts.js";
import { testDatabase } from "../test/store.js";
import { unreliableEngine } from "../test/unreliable-engine.js";

const db = testDatabase();
afterAll(() => db.drop());

test("a store that closes while the outcome of its writes is unknown asks its engine no more", async () => {
  const engine = unreliableEngine();
  let statements = 0;
  const store = await db.open({
    wrapEngine: (inner) =>
      engine.wrap({
        ...inner,
        rows: async (statement, options) => {
          statements++;
          return await inner.rows(statement, options);
        },
      }),
  });
  const projectId = newProject();
  engine.breakNext("calls", false);
  engine.breakNext("feedback", false);
  await expect(store.ingest([completePart({ project_id: projectId })])).rejects.toThrow();
  const feedback = {
    project_id: projectId,
    weave_ref: `weave:///${projectId}/call/c`,
    feedback_type: "note",
    payload: "{}",
    wb_user_id: "ann",
  };
  await expect(store.feedback.create(feedback)).rejects.toThrow();
  await store.close();
  const asked = statements;
  // Each is looked at again after a second.
  await delay(1300);
  expect(statements).toBe(asked);
});
