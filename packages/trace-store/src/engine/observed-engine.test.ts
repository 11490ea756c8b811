import { randomUUID } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { completePart, newProject } from "../../test/call-parts.js";
import { listIds } from "../../test/list-calls.js";
import { testDatabase } from "../../test/store.js";
import type { ObservedCommit } from "../ingest/ingest.js";
import type { ObservedStatement } from "./observed-engine.js";

const db = testDatabase();
afterAll(() => db.drop());

test("statements and commits are reported when they have ended, with those that failed", async () => {
  const statements: ObservedStatement[] = [];
  const commits: ObservedCommit[] = [];
  let broken = false;
  const store = await db.open({
    observer: {
      onStatement: (statement) => statements.push(statement),
      onCommit: (commit) => commits.push(commit),
    },
    wrapEngine: (engine) => ({
      ...engine,
      insert: (table, columns, rows) => engine.insert(broken ? "nothing" : table, columns, rows),
    }),
  });
  const seen = () => statements.splice(0).map(({ kind, failed }) => `${kind} ${failed ? "failed" : "succeeded"}`);
  seen();
  const projectId = newProject();
  await store.ingest([
    completePart({ project_id: projectId, id: randomUUID() }),
    completePart({ project_id: projectId, id: randomUUID() }),
  ]);
  expect(seen()).toContain("insert succeeded");
  expect(await listIds(store, { project_id: projectId })).toHaveLength(2);
  expect(seen()).toContain("read succeeded");
  broken = true;
  await expect(store.ingest([completePart({ project_id: projectId, id: randomUUID() })])).rejects.toThrow();
  expect(seen()).toContain("insert failed");
  expect(commits).toMatchObject([
    { requests: 1, rows: 2, failed: false },
    { requests: 1, rows: 1, failed: true },
  ]);
  expect(Math.min(...commits.flatMap(({ bytes, ms }) => [bytes, ms]))).toBeGreaterThan(0);
  expect(store.load()).toMatchObject({ waiting: { requests: 0, rows: 0, bytes: 0 }, slots: { reads: { held: 0 } } });
});
