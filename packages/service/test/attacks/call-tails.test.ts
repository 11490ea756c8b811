import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
let url: string;
beforeAll(async () => {
  service = await openTestService({ HEDDLE_TAIL_SECONDS: "3600" });
  url = await service.listen();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected).toEqual([]));

const start = async (projectId: string, id: string) =>
  await service.tracing().callStart({
    start: {
      project_id: projectId,
      id,
      trace_id: "t",
      op_name: "answer",
      started_at: "2026-04-10T09:00:00Z",
      attributes: {},
      inputs: {},
    },
  });

const tailOf = async (body: object, { key, signal }: { key: string; signal?: AbortSignal }) =>
  await fetch(`${url}/calls/tail`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });

test("of a thousand tails of one key 20 are served, and writes go on beside readers that do not read", async () => {
  const projectId = newProject();
  const key = await service.key({ role: "read" });
  const leaving = new AbortController();
  const responses = await Promise.all(
    Array.from({ length: 1000 }, () =>
      tailOf({ project_id: projectId, select: ["name"] }, { key, signal: leaving.signal }),
    ),
  );
  const statuses = responses.map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(20);
  expect(statuses.filter((status) => status === 429)).toHaveLength(980);
  for (let n = 0; n < 50; n++) await start(projectId, `c${n}`);
  expect((await service.tracing().callsQueryStats({ project_id: projectId })).count).toBe(50);
  leaving.abort();
  for (;;) {
    const response = await tailOf({ project_id: projectId, seconds: 0 }, { key });
    await response.text();
    if (response.status === 200) break;
    await delay(20);
  }
});
