import { deflateSync, gzipSync } from "node:zlib";
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { collectorMethods } from "../../src/otlp/collector.js";
import { call, framed, openSession } from "../grpc-call.js";
import type { CallOptions, GrpcOutcome } from "../grpc-call.js";
import { fuzzRuns } from "../search-depth.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { oddText } from "./raw-texts.js";

// Random and nearly valid calls of the port of gRPC, made from one that is taken.

const randomSeed = Number(process.env["FUZZ_SEED"] ?? 20_260_410);
const runs = 40 * fuzzRuns;

let service: TestService;
let url: string;
const rejections: unknown[] = [];
const note = (reason: unknown) => void rejections.push(reason);
beforeAll(async () => {
  process.on("unhandledRejection", note);
  service = await openTestService();
  url = await service.listenGrpc();
});
afterAll(async () => {
  await service.close();
  process.off("unhandledRejection", note);
});

/** An export of one span below another, with attributes, as the SDK of OpenTelemetry makes it. */
function goodMessage(): Uint8Array {
  const memory = new InMemorySpanExporter();
  const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(memory)] }).getTracer("fuzz");
  const attributes = { "gen_ai.prompt.0.content": "2+2?", "gen_ai.usage.input_tokens": 7, tags: ["a", "b"] };
  for (const name of ["answer", "chat model"]) tracer.startSpan(name, { attributes }).end();
  const message = ProtobufTraceSerializer.serializeRequest(memory.getFinishedSpans());
  if (message === undefined) throw new Error("no message");
  return message;
}

/** The message with a few of its bytes replaced, removed or repeated. */
function nearlyMessage(message: Uint8Array): fc.Arbitrary<Uint8Array> {
  const change = fc.record({
    at: fc.nat(message.length - 1),
    removed: fc.oneof(fc.constant(1), fc.nat(16)),
    added: fc.uint8Array({ maxLength: 4 }),
  });
  const changes = fc.oneof(
    { arbitrary: fc.constant([]), weight: 2 },
    { arbitrary: fc.array(change, { minLength: 1, maxLength: 3 }), weight: 3 },
  );
  return changes.map((all) =>
    all.reduce<Uint8Array>(
      (bytes, { at, removed, added }) =>
        Buffer.concat([bytes.subarray(0, at), Buffer.from(added), bytes.subarray(at + removed)]),
      message,
    ),
  );
}

/** Mostly a message with its prefix, else bytes. */
function bodyOf(message: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Buffer> {
  const compressed = message.chain((bytes) =>
    fc.constantFrom(framed(gzipSync(bytes), true), framed(deflateSync(bytes), true), framed(bytes, true)),
  );
  const flags = fc.tuple(message, fc.nat(255), fc.nat(2 ** 32 - 1)).map(([bytes, flag, length]) => {
    const body = framed(bytes);
    body.writeUInt8(flag, 0);
    if (length % 2 === 0) body.writeUInt32BE(length, 1);
    return body;
  });
  return fc.oneof(
    { arbitrary: message.map((bytes) => framed(bytes)), weight: 4 },
    { arbitrary: compressed, weight: 2 },
    flags,
    fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
    fc.uint8Array({ maxLength: 512 }).map((bytes) => framed(bytes)),
  );
}

const mostly = <T>(usual: T, others: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ arbitrary: fc.constant(usual), weight: 5 }, others);

/** What a header can hold: of others HTTP/2 resets the stream. */
const headerText = oddText.map((text) => text.replaceAll(/[^ -~]/g, "").trim());
const methods = Object.keys(collectorMethods);
const [traces = ""] = methods;
const path = mostly(
  traces,
  fc.oneof(
    fc.constantFrom(...methods, "/", "/v1/traces", `${traces}/`, `${traces}?a=b`, `//x${traces}`, traces.toLowerCase()),
    fc.constantFrom("/__proto__", "/constructor"),
    headerText.map((text) => `/${encodeURIComponent(text)}`),
  ),
);

function headersOf(projectId: string): fc.Arbitrary<NonNullable<CallOptions["headers"]>> {
  const mediaTypes = ["", "application/json", "application/grpc+json", "application/grpc-web", "application/grpcx"];
  return fc
    .record({
      ":method": mostly("POST", fc.constantFrom("GET", "PUT", "OPTIONS", "X")),
      "content-type": mostly(
        "application/grpc",
        fc.oneof(
          fc.constantFrom("application/grpc+proto", "application/grpc;x", "application/x-protobuf", ...mediaTypes),
          headerText,
        ),
      ),
      authorization: mostly(`Bearer ${service.owner_key}`, headerText),
      project_id: mostly(projectId, headerText),
      "grpc-encoding": fc.oneof(fc.constantFrom("gzip", "deflate", "identity", "snappy"), headerText),
      "grpc-timeout": mostly("20S", fc.oneof(fc.constantFrom("1n", "0S", "99999999H", "-1S", "1"), headerText)),
      "content-encoding": mostly("identity", fc.constantFrom("gzip", "br")),
    })
    .map(({ "grpc-encoding": encoding, ...headers }) =>
      encoding === "" ? headers : { ...headers, "grpc-encoding": encoding },
    );
}

const [internal, unknown, unavailable] = [13, 2, 14];

/** A client of gRPC gets to know how the call ended, and why; one of another protocol that this port is not for it. */
function expectFine({ httpStatus, code, message }: GrpcOutcome): void {
  if (code === undefined) expect(httpStatus).toBe(415);
  else {
    expect(httpStatus).toBe(200);
    expect([internal, unknown, unavailable]).not.toContain(code);
    if (code !== 0) expect(message).not.toBe("");
  }
}

test(
  "no call fails for a reason of the service, every call ends with a status, and the port takes the next",
  { timeout: 60_000 + runs * 1000 },
  async () => {
    const [projectId, message] = [newProject(), goodMessage()];
    const calls = fc.record({ path, headers: headersOf(projectId), body: bodyOf(nearlyMessage(message)) });
    const session = openSession(url);
    const codes: (number | undefined)[] = [];
    await fc.assert(
      fc.asyncProperty(fc.array(calls, { minLength: 4, maxLength: 4 }), async (all) => {
        const outcomes = await Promise.all(all.map(async ({ body, ...options }) => await call(session, body, options)));
        expect(service.unexpected.splice(0)).toEqual([]);
        expect(rejections.splice(0)).toEqual([]);
        for (const outcome of outcomes) expectFine(outcome);
        codes.push(...outcomes.map(({ code }) => code));
      }),
      { seed: randomSeed, numRuns: runs, interruptAfterTimeLimit: 30_000 + runs * 500 },
    );
    // Calls that are refused at once search nothing behind it.
    expect(codes.filter((code) => code === 0).length / codes.length).toBeGreaterThan(0.05);
    expect(session.destroyed).toBe(false);

    const after = newProject();
    const headers = { authorization: `Bearer ${service.owner_key}`, project_id: after };
    expect(await call(session, framed(message), { headers })).toMatchObject({ code: 0 });
    session.destroy();
    expect((await service.tracing().callsQueryStats({ project_id: after })).count).toBe(2);
    // What was taken can be read.
    expect((await service.tracing().callsQuery({ project_id: projectId })).calls.length).toBeGreaterThan(0);
  },
);
