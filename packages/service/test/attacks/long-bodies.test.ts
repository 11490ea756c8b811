import { setImmediate } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
let key: string;
beforeAll(async () => {
  service = await openTestService();
  key = await service.key({ role: "write" });
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
});

const repeated = (piece: string, units = 20_000_000) => piece.repeat(Math.floor(units / piece.length));
const start = (inputs: string, more = "") =>
  `{"start":{"project_id":"${newProject()}","id":"c","trace_id":"t","op_name":"op","started_at":"2026-04-10T09:00:00Z","attributes":{},"inputs":${inputs}}${more}}`;
const item = `{"mode":"end","req":{"end":{"project_id":"${newProject()}","id":"c","ended_at":"2026-04-10T09:00:00Z","summary":{}}}}`;

test.each<[string, path: string, body: string, status: number]>([
  ["free JSON", "/call/start", start(`{"a":[${repeated("{},", 9_000_000)}{}]}`), 200],
  ["escapes", "/call/start", start(`{"a":"${repeated("\\u00e4", 9_000_000)}"}`), 200],
  ["a batch", "/call/upsert_batch", `{"batch":[${repeated(`${item},`)}${item}]}`, 413],
  ["wrong items", "/call/upsert_batch", `{"batch":[${repeated("{},")}{}]}`, 413],
  ["unknown members", "/call/start", start("{}", `,"more":[${repeated("[],")}1]`), 200],
  [
    "unknown members that are refused",
    "/call/read",
    `{"project_id":"${newProject()}","id":"c","more":[${repeated("[],")}1]}`,
    413,
  ],
  ["nothing that ends", "/call/start", start(`{"a":[${repeated("1,")}`), 400],
])("requests of others are answered while a long body is read: %s", async (_what, path, body, status) => {
  const headers = { authorization: `Bearer ${key}`, "content-encoding": "gzip" };
  const reading = { isDone: false };
  const sent = service
    .fetch(new Request(`http://in-process${path}`, { method: "POST", headers, body: gzipSync(body, { level: 1 }) }))
    .finally(() => (reading.isDone = true));
  let answered = 0;
  while (!reading.isDone) {
    expect((await service.fetch("http://in-process/health")).status).toBe(200);
    answered += 1;
    await setImmediate();
  }
  expect(answered).toBeGreaterThan(8);
  expect((await sent).status).toBe(status);
});
