import { expect } from "vitest";
import { ownerKey } from "../test-service.js";
import type { TestService } from "../test-service.js";

export interface NewCall {
  id?: string;
  name?: string;
  trace?: string;
  parent?: string;
  at?: number;
  ms?: number;
  inputs?: string;
  attributes?: string;
  summary?: string;
  thread?: string;
  turn?: string;
  output?: string;
  exception?: string;
}

/** Writes calls as text, so that numbers are what the test says. One without `ms` runs. */
export async function writeCalls(
  service: TestService,
  projectId: string,
  calls: NewCall[],
  /** From when `at` counts, in milliseconds from now; and by whose key. */
  { since = -60_000, key = ownerKey }: { since?: number; key?: string } = {},
): Promise<void> {
  const started = Date.now() + since;
  const items = calls.flatMap(
    ({ id = crypto.randomUUID(), name = "greet", trace = id, parent, at = 0, ms, ...call }) => {
      const common = `"project_id":${JSON.stringify(projectId)},"id":${JSON.stringify(id)}`;
      const time = (after: number) => JSON.stringify(new Date(started + after).toISOString());
      const above = parent === undefined ? "" : `,"parent_id":${JSON.stringify(parent)}`;
      const { inputs = "{}", output = "null", attributes = "{}", summary = "{}", exception, thread, turn } = call;
      const failed = exception === undefined ? "" : `,"exception":${JSON.stringify(exception)}`;
      const during = turn === undefined ? "" : `,"turn_id":${JSON.stringify(turn)}`;
      const within = thread === undefined ? "" : `,"thread_id":${JSON.stringify(thread)}`;
      const start = `{"mode":"start","req":{"start":{${common},"trace_id":${JSON.stringify(trace)}${above},"op_name":${JSON.stringify(name)},"started_at":${time(at)},"attributes":${attributes}${within}${during},"inputs":${inputs}}}}`;
      if (ms === undefined) return [start];
      const end = `{"mode":"end","req":{"end":{${common},"ended_at":${time(at + ms)},"output":${output},"summary":${summary}${failed}}}}`;
      return [start, end];
    },
  );
  const response = await service.fetch("http://in-process/call/upsert_batch", {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: `{"batch":[${items.join(",")}]}`,
  });
  expect([response.status, response.ok ? "" : await response.text()]).toEqual([200, ""]);
}
