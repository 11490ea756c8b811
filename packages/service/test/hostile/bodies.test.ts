import { request } from "node:http";
import { promisify } from "node:util";
import { deflateRawSync, deflateSync, gzip, gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { operations, sampleRequest, toRequest } from "../spec-requests.js";
import { shareOf } from "../search-depth.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

const limit = 32 * 1024 * 1024;

let service: TestService;
let url: string;
beforeAll(async () => {
  service = await openTestService();
  url = await service.listen();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

const bodies = operations.filter(({ body }) => body !== undefined);
const jsonBodies = bodies.filter(({ body }) => body?.kind === "json");

/** One request over the socket, for what the in-process way cannot say. */
async function post(path: string, body: NonNullable<RequestInit["body"]>, headers: Record<string, string> = {}) {
  const init: RequestInit & { duplex: "half" } = {
    method: "POST",
    headers: { authorization: `Bearer ${service.owner_key}`, ...headers },
    body,
    duplex: "half",
  };
  const answer = await fetch(`${url}${path}`, init);
  return { status: answer.status, text: await answer.text() };
}

const callOf = (projectId: string, id: string, inputs: unknown = {}) => ({
  project_id: projectId,
  id,
  trace_id: "t",
  op_name: "op",
  started_at: "2026-04-10T09:00:00Z",
  attributes: {},
  inputs,
});

describe("a body that is not JSON gets a 400 with the position, one that is not an object a 422", () => {
  const malformed = [
    "{",
    "{]",
    '{"a":}',
    '{"a":1,}',
    "{'a':1}",
    '{"a":01}',
    '{"a":"\n"}',
    '{"a":"\\x"}',
    '{"a" 1}',
    "{} {}",
    "nul",
    "undefined",
    "\0",
    "<xml/>",
  ];
  const notObjects = ["", " ", "null", "[]", '""', "1", "true", "NaN", "-Infinity"];

  test.each(shareOf(jsonBodies, 2))("$id", async (operation) => {
    const send = async (body: string | Uint8Array) => {
      const parts = { ...sampleRequest(operation), body };
      const answer = await service.fetch(
        ...toRequest(operation, parts, { authorization: `Bearer ${service.owner_key}` }),
      );
      return [answer.status, (await answer.json()) as Record<string, unknown>] as const;
    };
    const refused = malformed.map(async (body) => {
      const [status, { reason, detail = reason }] = await send(body);
      expect([body, status, detail]).toEqual([body, 400, expect.stringMatching(/position \d+/)]);
    });
    const unprocessable = notObjects.map(async (body) => {
      const [status, { detail }] = await send(body);
      expect([body, status, detail]).toEqual([body, 422, [expect.objectContaining({ loc: ["body"] })]]);
    });
    await Promise.all([...refused, ...unprocessable]);
    expect((await send(Uint8Array.of(0x7b, 0xff, 0x7d)))[0]).toBe(400);
    expect((await send("[".repeat(10_000) + "]".repeat(10_000)))[0]).toBe(413);
    // An unknown member is ignored where none is required, and refused where unknown ones are.
    expect([200, 404, 413, 422]).toContain((await send(`{"unknown":${"[".repeat(100_000)}${"]".repeat(100_000)}}`))[0]);
  });
});

describe("a body beyond the limit gets a 413", () => {
  const tooLarge = Buffer.alloc(limit + 1, " ");

  test("when its length says so, before it is read", async () => {
    const answer = await new Promise<number | undefined>((resolve, reject) => {
      const outgoing = request(`${url}/call/start`, {
        method: "POST",
        headers: { authorization: `Bearer ${service.owner_key}`, "content-length": "9999999999" },
      });
      outgoing.on("response", ({ statusCode }) => {
        resolve(statusCode);
        outgoing.destroy();
      });
      outgoing.on("error", reject);
      outgoing.flushHeaders();
    });
    expect(answer).toBe(413);
  });

  test("when it comes in chunks without a length", async () => {
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new Uint8Array(1_048_576).fill(32));
        if ((sent += 1_048_576) > limit + 1_048_576) controller.close();
      },
    });
    expect(await post("/call/upsert_batch", endless)).toMatchObject({ status: 413, text: /Request too large/ });
  });

  test.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["deflate", deflateRawSync],
  ] as const)("when %s makes it large", async (encoding, compress) => {
    const bomb = compress(tooLarge);
    expect(bomb.length).toBeLessThan(100_000);
    for (const path of ["/call/start", "/otel/v1/traces"]) {
      const headers = { "content-encoding": encoding, "content-type": "application/json" };
      expect(await post(path, bomb, headers)).toMatchObject({ status: 413, text: /Request too large/ });
    }
  });

  test("and one just below it is stored", async () => {
    const projectId = newProject();
    const filler = "x".repeat(limit - 1000);
    const body = JSON.stringify({ start: callOf(projectId, "c", { filler }) });
    expect((await post("/call/start", gzipSync(body, { level: 1 }), { "content-encoding": "gzip" })).status).toBe(200);
    const { text } = await post("/call/read", JSON.stringify({ project_id: projectId, id: "c" }));
    expect(text.includes(filler)).toBe(true);
  });
});

test("a gigabyte in a few kilobytes is refused without being made", async () => {
  const inner = await promisify(gzip)(Buffer.alloc(256 * 1024 * 1024));
  const before = process.memoryUsage().rss;
  for (let round = 0; round < 4; round++) {
    expect((await post("/call/start", inner, { "content-encoding": "gzip" })).status).toBe(413);
  }
  // A bomb inside a bomb is unpacked once, and then it is not JSON.
  expect((await post("/call/start", gzipSync(inner), { "content-encoding": "gzip" })).status).toBe(400);
  expect(process.memoryUsage().rss - before).toBeLessThan(512 * 1024 * 1024);
});

test("data that does not inflate is 400, an unknown encoding 415", async () => {
  const body = JSON.stringify({ start: callOf(newProject(), "c") });
  const whole = gzipSync(body);
  const broken = [
    whole.subarray(0, -6),
    whole.subarray(0, 12),
    Buffer.from(body),
    Buffer.concat([whole, Buffer.from("x")]),
  ];
  const flipped = Buffer.from(whole);
  flipped[20] = (flipped[20] ?? 0) ^ 0xff;
  for (const bytes of [...broken, flipped]) {
    for (const encoding of ["gzip", "deflate"]) {
      const { status } = await post("/call/start", bytes, { "content-encoding": encoding });
      // Trailing bytes after a gzip stream are passed over by some readers and refused by others.
      expect([encoding, status]).toEqual([
        encoding,
        expect.toSatisfy((s: number) => s === 400 || (s === 200 && encoding === "gzip")),
      ]);
    }
  }
  for (const encoding of ["br", "zstd", "gzip, gzip", "x"]) {
    expect((await post("/call/start", whole, { "content-encoding": encoding })).status).toBe(415);
  }
});

describe("the content type does not decide what JSON is, but what multipart and OTLP are", () => {
  const types = [
    "text/plain",
    "application/xml",
    "multipart/form-data",
    "image/png",
    "application/x-www-form-urlencoded",
  ];

  test.each(shareOf(bodies, 3))("$id", async (operation) => {
    const projectId = newProject();
    const parts = JSON.parse(JSON.stringify(sampleRequest(operation)).replaceAll("acme/demo", projectId)) as object;
    const statusOf = async (type: string) => {
      const headers = { authorization: `Bearer ${service.owner_key}`, "content-type": type };
      const answer = await service.fetch(...toRequest(operation, parts, headers));
      await answer.text();
      return answer.status;
    };
    if (operation.body?.kind === "json" && operation.model.interface === "tracing") {
      const expected = await statusOf("application/json");
      expect(await Promise.all(types.map(statusOf))).toEqual(types.map(() => expected));
    } else {
      expect(await Promise.all(types.map(statusOf))).toEqual(types.map(() => 415));
    }
  });
});

describe("protobuf that is cut off, random or of another kind is 400", () => {
  const field = (number: number, bytes: Buffer): Buffer => {
    const length = [];
    for (let rest = bytes.length; ; rest >>= 7) {
      length.push(rest > 127 ? (rest & 127) | 128 : rest);
      if (rest <= 127) break;
    }
    return Buffer.concat([Buffer.from([number * 8 + 2, ...length]), bytes]);
  };
  const time = (number: number) => Buffer.from([number * 8 + 1, 0, 0, 0, 0, 0, 0, 0, 0x18]);
  /** One span of an export, by hand: ids, name, times, and one attribute. */
  const spanOf = (id: number, value: Buffer) =>
    field(
      2,
      Buffer.concat([
        field(1, Buffer.alloc(16, 0xab)),
        field(2, Buffer.alloc(8, id)),
        field(5, Buffer.from("chat")),
        time(7),
        time(8),
        field(9, Buffer.concat([field(1, Buffer.from("key")), field(2, value)])),
      ]),
    );
  const exportOf = (...spans: Buffer[]) => field(1, field(2, Buffer.concat(spans)));
  const whole = exportOf(spanOf(1, field(1, Buffer.from("value"))));

  const sendProtobuf = (bytes: Buffer, projectId: string) =>
    service.fetch("http://in-process/otel/v1/traces", {
      method: "POST",
      headers: { "wandb-api-key": service.owner_key, "content-type": "application/x-protobuf", project_id: projectId },
      body: Uint8Array.from(bytes),
    });

  test("at every length", async () => {
    const projectId = newProject();
    for (let length = 1; length < whole.length; length++) {
      const { status } = await sendProtobuf(whole.subarray(0, length), projectId);
      expect([length, status]).toEqual([length, 400]);
    }
    expect((await sendProtobuf(whole, projectId)).status).toBe(200);
    const { count } = await service.tracing().callsQueryStats({ project_id: projectId });
    expect(count).toBe(1);
  });

  test("with any byte changed nothing breaks", async () => {
    const projectId = newProject();
    const statuses = await Promise.all(
      Array.from(whole, async (_, at) => {
        const changed = Buffer.from(whole);
        changed[at] = 0xff;
        return (await sendProtobuf(changed, projectId)).status;
      }),
    );
    expect(statuses.filter((status) => status !== 200 && status !== 400)).toEqual([]);
  });

  test("an attribute that is nested without end costs what is too deep of it, and no span", async () => {
    const projectId = newProject();
    let deep = field(1, Buffer.from("value"));
    for (let level = 0; level < 5000; level++) deep = field(5, field(1, deep));
    const answer = await sendProtobuf(exportOf(spanOf(1, deep), spanOf(2, field(1, Buffer.from("value")))), projectId);
    expect(answer.status).toBe(200);
    expect(Buffer.from(await answer.arrayBuffer()).toString("latin1")).toMatch(/nest|deep/);
    const { calls } = await service.tracing().callsQuery({ project_id: projectId });
    expect(calls.map(({ id }) => id).toSorted()).toEqual(["01".repeat(8), "02".repeat(8)]);
  });
});

test("a multipart body that is cut off, without parts or with too many is 400", async () => {
  const type = { "content-type": "multipart/form-data; boundary=b" };
  const part = (name: string, value: string) =>
    `--b\r\ncontent-disposition: form-data; name="${name}"${name === "file" ? '; filename="f"' : ""}\r\n\r\n${value}\r\n`;
  const whole = `${part("project_id", newProject())}${part("file", "bytes")}--b--\r\n`;
  expect((await post("/file/create", whole, type)).status).toBe(200);
  for (let length = 0; length < whole.length - 6; length += 7) {
    expect([length, (await post("/file/create", whole.slice(0, length), type)).status]).toEqual([length, 400]);
  }
  expect((await post("/file/create", `${part("x", "y").repeat(1000)}${whole}`, type)).status).toBe(400);
  expect((await post("/file/create", `${part("__proto__", "y")}${whole}`, type)).status).toBe(200);
  expect((await post("/file/create", `${part("project_id", "acme/x")}--b--\r\n`, type)).status).toBe(422);
});
