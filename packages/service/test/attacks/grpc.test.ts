import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { GrpcOptions } from "../../src/otlp/listen-grpc.js";
import { call, framed, openSession } from "../grpc-call.js";
import type { CallOptions } from "../grpc-call.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
let url: string;
beforeAll(async () => {
  service = await openTestService({ HEDDLE_BODY_TIMEOUT: "0.5", HEDDLE_BODY_MEMORY: "64MB" });
  url = await service.listenGrpc();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

const withKey = (projectId = newProject()) => ({ "wandb-api-key": service.owner_key, project_id: projectId });

async function once(body: Uint8Array, options: CallOptions = {}, to = url) {
  const session = openSession(to);
  try {
    return await call(session, body, { ...options, headers: options.headers ?? withKey() });
  } finally {
    session.destroy();
  }
}

/** One span, 46 bytes. */
const span = Buffer.concat([
  Buffer.from([0x0a, 48, 0x12, 46, 0x12, 44, 0x0a, 16]),
  Buffer.alloc(16, 0xab),
  Buffer.from([0x12, 8]),
  Buffer.alloc(8, 0xcd),
  Buffer.from([0x39, 0, 0, 0, 0, 0, 0, 0, 0x18, 0x41, 0, 0, 0, 0, 0, 0, 0, 0x18]).subarray(0, 16),
]);

describe("a body that is not a message is INVALID_ARGUMENT", () => {
  const good = framed(span);
  test.each<[string, Buffer, Record<string, string>?]>([
    ["nothing", Buffer.alloc(0)],
    ["a part of the prefix", Buffer.alloc(3)],
    ["a part of a message", good.subarray(0, -1)],
    ["two messages", Buffer.concat([good, good])],
    ["a length that is beyond all bounds", Buffer.from([0, 0xff, 0xff, 0xff, 0xff])],
    ["no protobuf", framed(Buffer.from("hello"))],
    ["compression without its name", framed(gzipSync(span), true)],
    ["no gzip", framed(span, true), { "grpc-encoding": "gzip" }],
  ])("%s", async (_, body, headers = {}) => {
    const { code, message } = await once(body, { headers: { ...withKey(), ...headers } });
    expect([code, message]).toEqual([3, expect.stringMatching(/./)]);
  });
});

test("other methods, media types and compressions are refused by name", async () => {
  const other = await once(framed(span), { path: "/grpc.health.v1.Health/Check" });
  expect([other.code, other.message]).toEqual([12, "There is no method /grpc.health.v1.Health/Check"]);
  const snappy = await once(framed(span, true), { headers: { ...withKey(), "grpc-encoding": "snappy" } });
  expect([snappy.code, snappy.message]).toEqual([12, expect.stringContaining("snappy")]);
  expect((await once(span, { headers: { ...withKey(), "content-type": "application/json" } })).httpStatus).toBe(415);
  for (const [signal, service] of [
    ["logs", "Logs"],
    ["metrics", "Metrics"],
  ] as const) {
    const path = `/opentelemetry.proto.collector.${signal}.v1.${service}Service/Export`;
    const { code, message } = await once(framed(Buffer.alloc(0)), { path });
    expect([code, message]).toEqual([12, expect.stringContaining(`OTEL_${signal.toUpperCase()}_EXPORTER=none`)]);
  }
});

test("a message that inflates beyond the limit, or is longer, is refused and not to be repeated", async () => {
  const bomb = gzipSync(Buffer.alloc(300_000_000));
  const inflated = await once(framed(bomb, true), { headers: { ...withKey(), "grpc-encoding": "gzip" } });
  expect([inflated.code, inflated.message]).toEqual([3, expect.stringMatching(/too large.*bytes/)]);
  const long = await once(framed(Buffer.alloc(70_000_000)));
  expect([long.code, long.message]).toEqual([3, expect.stringMatching(/too large|Too many request bodies/)]);
});

test("nothing is read of a call without a key", async () => {
  const { code } = await once(Buffer.from([0, 0, 0xff, 0xff, 0xff]), { unfinished: true, headers: {} });
  expect(code).toBe(16);
});

test("an upload that stalls is cut, and its memory is free for others", async () => {
  const session = openSession(url);
  const stalled = Array.from({ length: 20 }, () =>
    call(session, Buffer.concat([Buffer.from([0, 3, 0, 0, 0]), Buffer.alloc(1000)]), {
      headers: withKey(),
      unfinished: true,
    }),
  );
  const outcomes = await Promise.all(stalled);
  expect(outcomes.map(({ code }) => code)).toEqual(outcomes.map(() => 4));
  session.destroy();
  expect(await once(framed(span))).toMatchObject({ code: 0 });
});

test("a call that waits longer than its client has the status that its client expects", async () => {
  const headers = { ...withKey(), "grpc-timeout": "100m" };
  const { code } = await once(Buffer.from([0, 0, 0, 1, 0]), { unfinished: true, headers });
  expect(code).toBe(4);
});

const limited = async (limits: Partial<GrpcOptions>) => await service.listenGrpc(limits);

test("of too many calls those beyond the limit can be repeated later", async () => {
  const to = await limited({ maxCalls: 3 });
  const session = openSession(to);
  const begun = Array.from({ length: 3 }, () =>
    call(session, Buffer.from([0, 0, 0, 1, 0]), { headers: withKey(), unfinished: true }),
  );
  await delay(100);
  const { code, message, details } = await call(session, framed(span), { headers: withKey() });
  expect([code, message]).toEqual([14, "Too many calls: at most 3 at once"]);
  expect(details).toContain("type.googleapis.com/google.rpc.RetryInfo");
  await Promise.all(begun);
  expect(await call(session, framed(span), { headers: withKey() })).toMatchObject({ code: 0 });
  session.destroy();
});

test("connections that do nothing do not keep others out, and are closed", async () => {
  const to = await limited({ maxConnections: 4, headersMs: 1500 });
  const { port } = new URL(to);
  const idle = Array.from({ length: 20 }, () => connect(Number(port), "127.0.0.1"));
  const closed = idle.map(
    (socket) => new Promise<void>((resolve) => void socket.on("error", () => undefined).once("close", resolve)),
  );
  for (const socket of idle) socket.resume();
  await delay(1200);
  expect(await once(framed(span), {}, to)).toMatchObject({ code: 0 });
  await Promise.all(closed);
});

test("a client that speaks another protocol, resets its streams or leaves does not stop others", async () => {
  const http = connect(Number(new URL(url).port), "127.0.0.1");
  http.on("error", () => undefined).resume();
  http.write("POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n");
  const resetting = openSession(url);
  for (let count = 0; count < 300; count++) {
    const stream = resetting.request({ ":method": "POST", ":path": "/x", "content-type": "application/grpc" });
    stream.on("error", () => undefined);
    stream.close(8);
  }
  const leaving = openSession(url);
  const left = call(leaving, framed(span).subarray(0, 20), { headers: withKey(), unfinished: true });
  await delay(50);
  leaving.destroy();
  await left;
  expect(await once(framed(span))).toMatchObject({ code: 0 });
  http.destroy();
  resetting.destroy();
});

test("a client that takes nothing of its response is cut off", async () => {
  const to = await limited({ stallMs: 300 });
  const session = openSession(to);
  session.settings({ initialWindowSize: 0 });
  await delay(50);
  const { code } = await call(session, framed(span), { headers: withKey() });
  expect(code).toBeUndefined();
  session.destroy();
});
