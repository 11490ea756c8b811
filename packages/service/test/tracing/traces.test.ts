import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const ms = (n: number) => new Date(Date.UTC(2026, 3, 10, 9) + n).toISOString();

/** Complete calls of one trace: a root, and the others below the call with a tenth of their number. */
async function storeTrace(projectId: string, count: number) {
  const [entity = "", project = ""] = projectId.split("/");
  const idOf = (n: number) => `call-${n}`;
  const batch = Array.from({ length: count }, (_, n) => ({
    project_id: projectId,
    id: idOf(n),
    trace_id: traceId,
    parent_id: n === 0 ? undefined : idOf(Math.floor(n / 10)),
    op_name: n % 10 === 0 ? "step" : "chat",
    started_at: ms(n),
    ended_at: ms(n + 5),
    attributes: { weave: { kind: n % 10 === 0 ? "agent" : "llm" } },
    inputs: { n },
    output: "",
    summary: {},
  }));
  expect(await service.tracing().callsComplete({ entity, project, batch })).toEqual({});
}

test("a trace of thousands of calls comes as one outline that is small when compressed", async () => {
  const projectId = newProject();
  await storeTrace(projectId, 3000);
  const outline = await service
    .tracing()
    .traceOutline({ project_id: projectId, trace_id: traceId, include: ["costs", "sizes"] });
  expect(outline).toMatchObject({ total: 3000, complete: true, cycles: 0, missing_parents: [] });
  expect(outline.ids.slice(0, 4)).toEqual(["call-0", "call-1", "call-10", "call-100"]);
  expect(outline.parent.slice(0, 4)).toEqual([-1, 0, 1, 2]);
  const { names: _names, missing_parents: _missing, ...columns } = outline;
  for (const column of Object.values(columns)) if (Array.isArray(column)) expect(column).toHaveLength(3000);
  expect(outline.names.toSorted()).toEqual(["chat", "step"]);
  expect(gzipSync(JSON.stringify(outline), { level: 1 }).length).toBeLessThan(3000 * 20);
});

test("one level of a subtree can be read, and then the next", async () => {
  const projectId = newProject();
  await storeTrace(projectId, 200);
  const top = await service.tracing().traceOutline({ project_id: projectId, trace_id: traceId, max_depth: 2 });
  expect([top.ids.length, top.total, top.complete]).toEqual([10, 200, false]);
  const below = await service
    .tracing()
    .traceOutline({ project_id: projectId, trace_id: traceId, root_id: "call-1", max_depth: 2 });
  expect(below.ids[0]).toBe("call-1");
  expect(below.children[0]).toBe(below.ids.length - 1);
});

test.each([
  [{ limit: 0 }, "limit"],
  [{ limit: 100_001 }, "limit"],
  [{ max_depth: 0 }, "max_depth"],
  [{ trace_id: "" }, "trace_id"],
  [{ include: ["payloads"] }, "include"],
  [{ root_id: 7 }, "root_id"],
])("an outline with %o is refused with the name of the field", async (more, field) => {
  const response = await service.fetch("http://in-process/trace/outline", {
    method: "POST",
    body: JSON.stringify({ project_id: newProject(), trace_id: traceId, ...more }),
    headers: { authorization: `Bearer ${service.owner_key}` },
  });
  expect(response.status).toBe(422);
  expect(await response.text()).toContain(`"${field}"`);
});

test("statistics refuse a query and groups, which they do not know", async () => {
  for (const more of [{ query: { $expr: { $literal: true } } }, { group_by: ["status"] }]) {
    const response = await service.fetch("http://in-process/calls/stats", {
      method: "POST",
      body: JSON.stringify({
        project_id: newProject(),
        start: ms(0),
        call_metrics: [{ metric: "call_count" }],
        ...more,
      }),
      headers: { authorization: `Bearer ${service.owner_key}` },
    });
    expect(response.status).toBe(422);
    expect(await response.text()).toContain(Object.keys(more)[0]);
  }
});
