import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { newProject } from "../test-service.js";
import { openLargeValues } from "./large-values.js";
import type { LargeValues } from "./large-values.js";

let large: LargeValues;
beforeAll(async () => {
  large = await openLargeValues(6_000_000, { HEDDLE_RESPONSE_STALL_SECONDS: "1" });
});
afterAll(() => large.service.close());
afterEach(() => expect(large.service.unexpected.splice(0)).toEqual([]));

const expanded = { expand_columns: ["inputs.model"] };

test("ten unread streams of a read-only key hold back nobody else, and are ended", async () => {
  const { service } = large;
  const greedy = await service.key({ role: "read" });
  const streams = Array.from({ length: 10 }, () => large.open("/calls/stream_query", expanded, greedy));
  // Its share of slots is taken; the others of the ten wait for one.
  const first = await Promise.race(streams);
  expect(first.statusCode).toBe(200);

  const neighbour = await service.key({ entity: "neighbour", role: "write" });
  const projectId = newProject("neighbour");
  const tracing = service.tracing(neighbour);
  const start = {
    project_id: projectId,
    op_name: "op",
    started_at: new Date().toISOString(),
    attributes: {},
    inputs: {},
  };
  await tracing.callStart({ start: { ...start, id: "c", trace_id: "t" } });
  await tracing.objCreate({ obj: { project_id: projectId, object_id: "o", val: 1 } });
  await tracing.tableCreate({ table: { project_id: projectId, rows: [{ a: 1 }] } });
  const file = new File(["bytes"], "f.txt");
  await tracing.fileCreate({ project_id: projectId, file });
  expect(await tracing.callsQuery({ project_id: projectId })).toMatchObject({ calls: [{ id: "c" }] });
  const span = {
    traceId: "ab".repeat(16),
    spanId: "cd".repeat(8),
    name: "s",
    startTimeUnixNano: "1775811600000000000",
  };
  const exported = await service.fetch("http://in-process/otel/v1/traces", {
    method: "POST",
    headers: { "wandb-api-key": neighbour, "content-type": "application/json", project_id: projectId },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }),
  });
  expect(exported.status).toBe(200);

  for (const stream of streams) {
    const response = await stream;
    if (!response.closed) await new Promise((resolve) => response.on("close", resolve).resume());
  }
  // Their slots are free again.
  expect(await large.post("/calls/query", { limit: 1 }, greedy)).toMatchObject({ status: 200 });
});
