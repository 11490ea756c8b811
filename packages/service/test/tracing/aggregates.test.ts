import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
const projectId = newProject();
const at = (second: number) => new Date(Date.UTC(2026, 3, 10, 9, 0, second)).toISOString();

beforeAll(async () => {
  service = await openTestService();
  const [entity = "", project = ""] = projectId.split("/");
  const batch = Array.from({ length: 30 }, (_, n) => ({
    project_id: projectId,
    id: `c${n}`,
    trace_id: "t",
    op_name: "answer",
    started_at: at(n),
    ended_at: at(n + 1),
    attributes: { weave: { kind: n % 3 === 0 ? "tool" : "agent" } },
    inputs: { lang: n % 2 === 0 ? "de" : "en" },
    output: n,
    summary: {},
  }));
  expect(await service.tracing().callsComplete({ entity, project, batch })).toEqual({});
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

test("figures over time and by group are those of the page of the same calls", async () => {
  const selection = {
    project_id: projectId,
    query: { $expr: { $eq: [{ $getField: "inputs.lang" }, { $literal: "de" }] } },
  };
  const page = await service.tracing().callsPage({ ...selection, total: "exact" });
  const found = await service.tracing().callsAggregate({
    ...selection,
    time: { start: at(0), end: at(30), buckets: 3 },
    group_by: ["kind"],
    metrics: ["count", "latency_p95"],
    distributions: [{ field: "output", bins: 2 }],
  });
  expect(found).toMatchObject({
    total: { values: { count: page.total?.value, latency_p95: 1000 }, series: { count: [5, 5, 5] } },
    groups: [
      { key: ["agent"], values: { count: 10, latency_p95: 1000 } },
      { key: ["tool"], values: { count: 5, latency_p95: 1000 } },
    ],
    time: { starts: [0, 10, 20].map((second) => at(second).replace("Z", "000Z")), seconds: 10 },
    distributions: [{ field: "output", count: 15, edges: [0, 14, 28], counts: [7, 8] }],
    exact: true,
  });
  expect(found).not.toHaveProperty("other");
  expect(BigInt(found.seq)).toBeGreaterThan(0n);
});

test("without more, calls are counted", async () => {
  expect(await service.tracing().callsAggregate({ project_id: projectId })).toMatchObject({
    total: { values: { count: 30 } },
    groups: [],
  });
});

test("fields say what calls hold, and of how many", async () => {
  const { fields, ...about } = await service.tracing().callsFields({ project_id: projectId, under: "inputs" });
  expect(about).toEqual({ sampled: 30, of: { value: 30, exact: true }, complete: true });
  expect(fields).toEqual([
    {
      path: "inputs.lang",
      types: ["string"],
      present: 30,
      top: [
        { value: "de", count: 15 },
        { value: "en", count: 15 },
      ],
    },
  ]);
});

test.each([
  ["/calls/aggregate", { metrics: ["speed"] }, 422, ["body", "metrics", 0]],
  ["/calls/aggregate", { metrics: [] }, 422, ["body", "metrics"]],
  ["/calls/aggregate", { group_by: ["op", "kind", "user"] }, 422, ["body", "group_by"]],
  ["/calls/aggregate", { time: { start: at(0), end: "soon" } }, 422, ["body", "time", "end"]],
  ["/calls/aggregate", { time: { start: at(0), end: at(1), buckets: 1001 } }, 422, ["body", "time", "buckets"]],
  ["/calls/aggregate", { distributions: [{ field: "inputs.x", bins: 51 }] }, 422, ["body", "distributions", 0, "bins"]],
  ["/calls/fields", { sample: 20_001 }, 422, ["body", "sample"]],
  ["/calls/fields", { under: "op_name" }, 422, ["body", "under"]],
] as const)("%s refuses %o with the place of the mistake", async (path, more, status, loc) => {
  const response = await service.fetch(`http://in-process${path}`, {
    method: "POST",
    body: JSON.stringify({ project_id: projectId, ...more }),
    headers: { authorization: `Bearer ${service.owner_key}` },
  });
  const { detail } = (await response.json()) as { detail: Array<{ loc: unknown }> };
  expect([response.status, detail[0]?.loc]).toEqual([status, loc]);
});
