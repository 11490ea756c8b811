import { afterAll, expect, test } from "vitest";
import { completePart, newProject, startPart } from "../../test/call-parts.js";
import { listIds } from "../../test/list-calls.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";

const db = testDatabase();
let store = await db.open();
afterAll(() => db.drop());

const usage = '{"usage":{"gpt-4o":{"prompt_tokens":5}}}';
const projectId = newProject();
const sdk = '{"weave":{"client_version":"0.52"}}';
await store.ingest([
  // Its usage is that of the call below it, as the SDK adds it up.
  completePart({ project_id: projectId, id: "root", trace_id: "t", attributes: sdk }, { summary: usage }),
  completePart({ project_id: projectId, id: "llm", trace_id: "t", parent_id: "root" }, { summary: usage }),
  completePart({ project_id: projectId, id: "named", attributes: '{"weave":{"kind":"agent"}}' }, { summary: usage }),
  completePart({ project_id: projectId, id: "score", op_name: "weave:///acme/demo/op/Correct.score:v1" }),
  completePart({ project_id: projectId, id: "plain" }),
  startPart({ project_id: projectId, id: "running-tool", attributes: '{"openinference":{"span":{"kind":"TOOL"}}}' }),
  startPart({ project_id: projectId, id: "running-score", op_name: "Correct.score" }),
  startPart({ project_id: projectId, id: "running" }),
]);

async function kinds(from: TraceStore): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const kind of ["model", "tool", "retrieval", "agent", "scorer", "other"]) {
    const query = { $expr: { $eq: [{ $getField: "summary.weave.kind" }, { $literal: kind }] } };
    const ids = await listIds(from, { project_id: projectId, query });
    // A page finds running calls in memory.
    expect((await listIds(from, { project_id: projectId, query, limit: 100 })).toSorted()).toEqual(ids.toSorted());
    if (ids.length > 0) found[kind] = ids.toSorted();
  }
  return found;
}

test("a call is what its attributes state, else what its usage and its op tell, running or not", async () => {
  expect(await kinds(store)).toEqual({
    model: ["llm"],
    tool: ["running-tool"],
    agent: ["named"],
    scorer: ["running-score", "score"],
    other: ["plain", "root", "running"],
  });
});

test("calls that were stored before kinds were are told apart by usage and op", async () => {
  await store.close();
  await db.dropColumn("stated_kind");
  store = await db.open();
  expect(await kinds(store)).toEqual({
    model: ["llm", "named"],
    scorer: ["running-score", "score"],
    other: ["plain", "root", "running", "running-tool"],
  });
});
