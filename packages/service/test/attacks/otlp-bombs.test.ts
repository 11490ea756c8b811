import { gzipSync } from "node:zlib";
import { protobufField } from "@heddle/trace-model";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

const maxSpans = 20_000;

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

const field = (number: number, ...parts: Buffer[]) => protobufField(number, Buffer.concat(parts));

/** So many bytes of an empty field, two bytes each. */
const emptyFields = (number: number, bytes: number) => Buffer.alloc(bytes, Buffer.from([number * 8 + 2, 0]));
const exportOf = (...spans: Buffer[]) => field(1, field(2, ...spans));

const time = (number: number) => Buffer.from([number * 8 + 1, 0, 0, 0, 0, 0, 0, 0, 0x18]);
function span(id: number, ...more: Buffer[]): Buffer {
  const spanId = Buffer.alloc(8);
  spanId.writeUInt32BE(id, 4);
  const named = field(5, Buffer.from(`chat ${id}`));
  return field(2, field(1, Buffer.alloc(16, 0xab)), field(2, spanId), named, time(7), time(8), ...more);
}

async function send(bytes: Buffer, projectId = newProject(), headers: Record<string, string> = {}) {
  const response = await service.fetch("http://in-process/otel/v1/traces", {
    method: "POST",
    headers: {
      "wandb-api-key": service.owner_key,
      "content-type": "application/x-protobuf",
      "content-encoding": "gzip",
      project_id: projectId,
      ...headers,
    },
    body: Uint8Array.from(gzipSync(bytes)),
  });
  return { status: response.status, text: Buffer.from(await response.arrayBuffer()).toString("latin1") };
}

const refused = { status: 413, text: expect.stringContaining(`at most ${maxSpans} spans (HEDDLE_OTLP_MAX_SPANS)`) };

test.each([
  ["33 MB of empty spans", exportOf(emptyFields(2, 33_000_000))],
  ["a million empty spans", exportOf(emptyFields(2, 2_000_000))],
  ["one span too many", exportOf(...Array.from({ length: maxSpans + 1 }, (_, id) => span(id + 1)))],
  ["empty resources", emptyFields(1, 33_000_000)],
  ["empty scopes", field(1, emptyFields(2, 33_000_000))],
  ["unknown fields", emptyFields(7, 33_000_000)],
])("an export with %s is refused before a span is decoded", async (_, bytes) => {
  expect(await send(bytes)).toEqual(refused);
});

const list = (text: string, bytes: number) => `[${`${text},`.repeat(bytes / (text.length + 1))}${text}]`;
test.each([
  ["spans", `{"resourceSpans":[{"scopeSpans":[{"spans":${list("{}", 3_000_000)}}]}]}`],
  ["resources", `{"resourceSpans":${list("{}", 30_000_000)}}`],
  ["lists", `{"resourceSpans":${"[".repeat(10_000_000)}`],
])("so is one with millions of %s in JSON", async (_, text) => {
  expect(await send(Buffer.from(text), newProject(), { "content-type": "application/json" })).toMatchObject(refused);
});

test.each([
  ["attributes", 9],
  ["events", 11],
  ["links", 13],
])("a span with a million %s is refused alone", async (_, number) => {
  const projectId = newProject();
  const { status, text } = await send(exportOf(span(1, emptyFields(number, 600_000)), span(2)), projectId);
  expect([status, text]).toEqual([200, expect.stringContaining("too many attributes, events and links")]);
  const { calls } = await service.tracing().callsQuery({ project_id: projectId });
  expect(calls.map(({ id }) => id)).toEqual(["0000000000000002"]);
});

test("the right is checked before a span is decoded", async () => {
  const broken = exportOf(field(2, Buffer.from([0xff])), field(2, Buffer.from([0xff])));
  const foreign = await service.key({ entity: "rival", role: "write" });
  const reader = await service.key({ role: "read" });
  for (const key of [foreign, reader]) {
    expect(await send(broken, newProject(), { "wandb-api-key": key })).toMatchObject({ status: 403 });
  }
  const named = field(
    1,
    field(
      1,
      ...["entity", "project"].map((name) => {
        const value = field(2, field(1, Buffer.from(name === "entity" ? "acme" : "p")));
        return field(1, field(1, Buffer.from(`wandb.${name}`)), value);
      }),
    ),
    field(2, field(2, Buffer.from([0xff])), field(2, Buffer.from([0xff]))),
  );
  const own = newProject("rival");
  const mixed = await send(Buffer.concat([named, exportOf(span(1))]), own, { "wandb-api-key": foreign });
  expect(mixed).toEqual({ status: 200, text: expect.stringContaining("2 span(s): this key may not write to acme/p") });
  // Field 1, rejected_spans, says 2.
  expect(mixed.text.slice(2, 4)).toBe("\x08\x02");
});

test("an export in which each span has a name of its own lets other requests run and is stored", async () => {
  const projectId = newProject();
  let turns = 0;
  let running = true;
  const count = () => {
    turns++;
    if (running) setImmediate(count);
  };
  count();
  const bytes = exportOf(...Array.from({ length: 1000 }, (_, id) => span(id + 1)));
  expect(await send(bytes, projectId)).toEqual({ status: 200, text: "" });
  running = false;
  expect(turns).toBeGreaterThan(20);
  expect(await service.tracing().callsQueryStats({ project_id: projectId })).toMatchObject({ count: 1000 });
});
