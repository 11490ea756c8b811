import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openLargeValues } from "./large-values.js";
import type { LargeValues } from "./large-values.js";

const megabyte = 1_000_000;

describe("a response over the limit is 413 and names what to ask for", () => {
  let large: LargeValues;
  let table: string;
  beforeAll(async () => {
    large = await openLargeValues(megabyte, { HEDDLE_MAX_RESPONSE: "4MB", HEDDLE_WORKING_MEMORY: "16MB" });
    const { service, projectId, text } = large;
    const tracing = service.tracing();
    const rows = Array.from({ length: 6 }, (_, n) => ({ n, text }));
    table = (await tracing.tableCreate({ table: { project_id: projectId, rows } })).digest;
    for (const n of [1, 2, 3, 4]) {
      await tracing.objCreate({ obj: { project_id: projectId, object_id: "large", val: { n, text } } });
    }
  });
  afterEach(() => expect(large.service.unexpected.splice(0)).toEqual([]));
  afterAll(() => large.service.close());

  const tooLarge = (loc: string) => ({
    status: 413,
    start: expect.stringMatching(new RegExp(`${loc}.*more than 4000000 bytes \\(HEDDLE_MAX_RESPONSE\\)`)),
  });
  const good = (megabytes: number) => ({
    status: 200,
    size: expect.toSatisfy((size: number) => Math.round(size / megabyte) === megabytes),
  });

  test("of equal refs, which are read once", async () => {
    expect(await large.post("/refs/read_batch", large.refs(3))).toMatchObject(good(3));
    expect(await large.post("/refs/read_batch", large.refs(80))).toMatchObject(tooLarge(""));
    expect(await large.post("/refs/read_batch", large.refs(1000))).toMatchObject(tooLarge(""));
  });

  test("of objects, before their values are read", async () => {
    expect(await large.post("/objs/query", { limit: 3 })).toMatchObject(good(3));
    expect(await large.post("/objs/query", { metadata_only: true })).toMatchObject(good(0));
    expect(await large.post("/objs/query", {})).toMatchObject(tooLarge("body.limit"));
  });

  test("of table rows, which the stream has all of", async () => {
    expect(await large.post("/table/query", { digest: table, limit: 3 })).toMatchObject(good(3));
    expect(await large.post("/table/query", { digest: table })).toMatchObject(tooLarge("body.limit"));
    expect(await large.post("/table/query_stream", { digest: table })).toMatchObject(good(6));
  });

  test("of calls with expanded refs, which the stream has all of", async () => {
    const expanded = { expand_columns: ["inputs.model"] };
    expect(await large.post("/calls/query", { ...expanded, limit: 3 })).toMatchObject(good(3));
    expect(await large.post("/calls/query", expanded)).toMatchObject(tooLarge("body.limit"));
    expect(await large.post("/calls/stream_query", expanded)).toMatchObject(good(6));
  });
});

test("one key cannot hold all of the memory for responses, and what it holds is free once it has left", async () => {
  const env = { HEDDLE_MAX_RESPONSE: "20MB", HEDDLE_WORKING_MEMORY: "40MB" };
  const large = await openLargeValues(6 * megabyte, env);
  try {
    const greedy = await large.service.key({ role: "read" });
    const other = await large.service.key({ role: "read", entity: "acme" });
    // Half of the memory has room for three.
    const unread = await Promise.all([1, 2, 3].map(() => large.open("/refs/read_batch", large.refs(2), greedy)));
    let fourth: number | undefined;
    const waiting = large.post("/refs/read_batch", large.refs(1), greedy).then(({ status }) => (fourth = status));
    expect(await large.post("/refs/read_batch", large.refs(1), other)).toMatchObject({ status: 200 });
    expect(fourth).toBeUndefined();
    unread[0]?.destroy();
    expect(await waiting).toBe(200);
    for (const response of unread) response.destroy();
  } finally {
    await large.service.close();
  }
});

test("nine readers of one 6 MB object many times, who read nothing, cost little memory", async () => {
  const large = await openLargeValues(6 * megabyte);
  try {
    const before = process.memoryUsage().rss;
    const eighty = await Promise.all(Array.from({ length: 9 }, () => large.post("/refs/read_batch", large.refs(80))));
    expect(eighty.map(({ status }) => status)).toEqual(Array(9).fill(413));
    const unread = await Promise.all(Array.from({ length: 9 }, () => large.open("/refs/read_batch", large.refs(10))));
    expect(unread.map(({ statusCode }) => statusCode)).toEqual(Array(9).fill(200));
    const expanded = { expand_columns: ["inputs.model"] };
    const streams = await Promise.all(
      Array.from({ length: 9 }, () => large.open("/calls/stream_query", { ...expanded, limit: 6 })),
    ).catch(() => []);
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * megabyte);
    for (const response of [...unread, ...streams]) response.destroy();
  } finally {
    await large.service.close();
  }
});
