/* oxlint-disable unicorn/consistent-function-scoping -- a handler reads best inside the test that it serves */
import { deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { Credentials } from "../src/credentials.js";
import { Problem } from "../src/problem.js";
import { rawJson } from "../src/json/raw-json.js";
import { reply } from "../src/response/reply.js";
import type { ServerOptions } from "../src/server.js";
import { drivers } from "./drivers.js";
import type { Send } from "./drivers.js";
import { libraryServer } from "./library.js";
import type { Handler, Incoming } from "./library.js";

// The table of outcomes in README.md, row by row, over each adapter.

const book = { id: "b1", title: "Weaving", notes: rawJson("{}"), added_at: "2026-04-10T09:00:00Z" };
const jsonType = { "content-type": "application/json" };
const bookText = '{"id":"b1","title":"Weaving","notes":{}}';

type Options = ServerOptions<unknown> & { interface?: "tracing" | "training" };

interface Sent {
  status: number;
  headers: Headers;
  text: string;
  /** What the handler got, if it was called. */
  seen: Incoming | undefined;
}

describe.each(Object.entries(drivers))("over the %s adapter", (_, drive) => {
  /** Sends one request to a server with one handler. */
  async function send(
    [operation, handler]: [string, Handler],
    path: string,
    init: RequestInit & { duplex?: "half" } = {},
    options: Options = {},
  ): Promise<Sent> {
    let seen: Incoming | undefined;
    const server = libraryServer(
      {
        [operation]: (request, caller) => {
          seen = request;
          return handler(request, caller);
        },
      },
      { validateResponses: true, ...options },
    );
    let sent: Sent | undefined;
    await drive(server, async (go: Send) => {
      const response = await go(path, init);
      sent = { status: response.status, headers: response.headers, text: await response.text(), seen };
    });
    if (sent === undefined) throw new Error("nothing was sent");
    return sent;
  }

  const create: [string, Handler] = ["bookCreate", () => book];
  const post = (body: RequestInit["body"], headers: RequestInit["headers"] = {}): RequestInit => ({
    method: "POST",
    body,
    headers,
  });

  describe("a request that is fine", () => {
    test("responds with 200, the body of the handler, and headers that restrict browsers", async () => {
      const { status, text, headers } = await send(create, "/books", post(bookText));
      expect(status).toBe(200);
      expect(text).toBe('{"id":"b1","title":"Weaving","notes":{},"added_at":"2026-04-10T09:00:00Z"}');
      expect(Object.fromEntries([...headers].filter(([name]) => /^(content-t|x-|content-s|cache)/.test(name)))).toEqual(
        {
          "cache-control": "no-store",
          "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
          "content-type": "application/json",
          "x-content-type-options": "nosniff",
          "x-request-id": expect.stringMatching(/^[\da-f-]{36}$/),
        },
      );
    });

    test("reaches its handler with defaults filled in and nulls of optional keys dropped", async () => {
      const body = '{"id":"b1","title":"T","notes":{"n":null},"extra":null,"subtitle":null,"price":NaN,"surplus":1}';
      const { seen } = await send(create, "/books", post(body, { "x-retry-id": "r1" }));
      expect(seen?.headers).toEqual({ "X-Retry-Id": "r1" });
      expect(seen?.body).toEqual({
        id: "b1",
        title: "T",
        notes: rawJson('{"n":null}'),
        extra: rawJson("null"),
        kind: "novel",
        copies: 1,
        tags: [],
      });
    });

    test("may name another status and headers", async () => {
      const teapot: Handler = () => reply(202, { text: "later" }, { "x-should-retry": "false" });
      const { status, text, headers } = await send(["bookAsk", teapot], "/books/ask", post('{"question":"?"}'));
      expect([status, text, headers.get("x-should-retry")]).toEqual([202, '{"text":"later"}', "false"]);
    });

    test("responds with 204 without a body where the spec declares it", async () => {
      const { status, text } = await send(["bookDelete", () => undefined], "/shelves/1/books/a", { method: "DELETE" });
      expect([status, text]).toEqual([204, ""]);
    });

    test("is found under aliases, prefixes and doubled slashes", async () => {
      const add: [string, Handler] = ["booksAdd", () => ({ done: [] })];
      for (const path of ["/books/batch", "/traces/books/add_batch", "//books//batch"]) {
        expect((await send(add, path, post('{"batch":[]}'), { prefixes: ["/traces"] })).status, path).toBe(200);
      }
    });

    test("has its parameters decoded after the path was split, and turned into what they are", async () => {
      const path = "/shelves/7/books/a%2Fb%20c?pages=3&scale=1.5e1&cover=true&part=text&part=notes&unknown=1";
      const { seen } = await send(["bookRead", () => book], path);
      expect(seen?.params).toEqual({ shelf: 7, book_id: "a/b c" });
      expect(seen?.query).toEqual({ pages: 3, scale: 15, cover: true, part: ["text", "notes"] });
      expect((await send(["bookRead", () => book], "/shelves/7/books/a")).seen?.query).toEqual({ pages: 20 });
    });

    test("may leave out an optional body", async () => {
      const { status, seen } = await send(["booksStream", () => []], "/books/stream", { method: "POST" });
      expect([status, seen?.body]).toEqual([200, undefined]);
    });

    test("may be HEAD where GET is", async () => {
      const { status, text, headers } = await send(["bookRead", () => book], "/shelves/1/books/a", { method: "HEAD" });
      expect([status, text, headers.get("content-type")]).toEqual([200, "", "application/json"]);
    });

    test("carries JSON under any content-type in the tracing interface", async () => {
      expect((await send(create, "/books", post(bookText, { "content-type": "text/plain" }))).status).toBe(200);
      expect((await send(create, "/books", post(new TextEncoder().encode(bookText)))).status).toBe(200);
    });

    test("may begin with a byte order mark", async () => {
      expect((await send(create, "/books", post(`\ufeff${bookText}`))).status).toBe(200);
    });

    test.each([
      ["gzip", gzipSync(bookText)],
      ["deflate", deflateSync(bookText)],
      ["deflate", deflateRawSync(bookText)],
      ["identity", Buffer.from(bookText)],
    ])("may be compressed: %s", async (encoding, bytes) => {
      expect((await send(create, "/books", post(bytes, { "content-encoding": encoding }))).status).toBe(200);
    });

    test("brings the raw bytes where the operation takes any", async () => {
      const echo: [string, Handler] = ["listsImport", ({ body }) => reply(200, (body as { bytes: Uint8Array }).bytes)];
      const bytes = new Uint8Array([0, 255, 10]);
      const headers = { "content-type": "application/x-protobuf; v=1", "content-encoding": "gzip" };
      const { seen, headers: returned } = await send(echo, "/lists/import", post(gzipSync(bytes), headers));
      expect(seen?.body).toEqual({
        bytes: expect.objectContaining({ length: 3 }),
        mediaType: "application/x-protobuf",
      });
      expect(returned.get("content-type")).toBe("application/x-protobuf");
    });

    test("brings the parts of a form, files as bytes", async () => {
      const form = new FormData();
      form.set("file", new File([new Uint8Array([13, 10, 45, 45, 0])], 'a "b".png', { type: "image/png" }));
      form.set("book_id", "b\u00e4r");
      const { seen } = await send(["coverCreate", () => ({ size: 5 })], "/covers", post(form));
      expect(seen?.body).toEqual({
        file: {
          bytes: expect.objectContaining({ 0: 13, 4: 0, length: 5 }),
          filename: 'a "b".png',
          mediaType: "image/png",
        },
        book_id: "b\u00e4r",
      });
    });

    test("may return bytes, whole or in pieces", async () => {
      const whole = await send(["coverRead", () => new Uint8Array([65, 66])], "/covers/a");
      expect([whole.text, whole.headers.get("content-type")]).toEqual(["AB", "application/octet-stream"]);
      expect(whole.headers.get("content-disposition")).toBe("attachment");
      async function* pieces() {
        yield new Uint8Array([65]);
        yield new Uint8Array([66]);
      }
      expect((await send(["coverRead", pieces], "/covers/a")).text).toBe("AB");
    });
  });

  describe("credentials", () => {
    const asked = async (headers: Record<string, string>) => {
      let received: Credentials | undefined;
      const authenticate = (credentials: Credentials) => void (received = credentials);
      await send(create, "/books", post(bookText, headers), { authenticate });
      return received;
    };

    test("are taken from Basic with any user, Bearer, or wandb-api-key", async () => {
      expect(await asked({ authorization: `Basic ${btoa("api:s3:cret")}` })).toEqual({
        scheme: "basic",
        secret: "s3:cret",
      });
      expect(await asked({ authorization: "bearer s3cret" })).toEqual({ scheme: "bearer", secret: "s3cret" });
      expect(await asked({ "wandb-api-key": "s3cret" })).toEqual({ scheme: "wandb-api-key", secret: "s3cret" });
      expect(await asked({ authorization: "Digest nonsense" })).toEqual({ scheme: "none", secret: "" });
      expect(await asked({ authorization: "Basic !" })).toEqual({ scheme: "none", secret: "" });
    });

    test("make the caller that handlers get", async () => {
      const handler: Handler = (_, caller) => ({ text: String(caller) });
      const { text } = await send(["bookAsk", handler], "/books/ask", post('{"question":"?"}'), {
        authenticate: () => "Ada",
      });
      expect(text).toBe('{"text":"Ada"}');
    });

    test.each([401, 403])("that do not suffice lead to %i before the body is looked at", async (status) => {
      const authenticate = () => {
        throw new Problem(status, "no");
      };
      const response = await send(create, "/books", post("not JSON"), { authenticate });
      expect([response.status, response.text, response.seen]).toEqual([status, '{"reason":"no"}', undefined]);
      expect(response.headers.get("www-authenticate")).toBe(status === 401 ? "Bearer" : null);
    });

    test("are not asked for by public operations", async () => {
      const authenticate = () => {
        throw new Problem(401, "no");
      };
      expect((await send(["readHealth", () => ({})], "/health", {}, { authenticate })).status).toBe(200);
    });
  });

  describe("a request that is wrong", () => {
    test("404: an unknown path", async () => {
      for (const path of ["/nope", "/books/", "/shelves/1/books", "/covers/"]) {
        expect(await send(create, path), path).toMatchObject({ status: 404, text: '{"reason":"no such path"}' });
      }
    });

    test("is passed to the fallback when the path is unknown", async () => {
      const fallback: ServerOptions<unknown>["fallback"] = async ({ target }) => ({
        status: 418,
        headers: {},
        body: target,
      });
      expect(await send(create, "/nope?a=1", {}, { fallback })).toMatchObject({ status: 418, text: "/nope?a=1" });
    });

    test("405: another method on a known path, with what is possible", async () => {
      const response = await send(create, "/shelves/1/books/a", { method: "PUT", body: "{}" });
      expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, DELETE, HEAD"]);
    });

    test("400: a path with a broken percent-encoding", async () => {
      expect(await send(create, "/covers/%E0%A4%A")).toMatchObject({
        status: 400,
        text: '{"reason":"the path holds a broken percent-encoding: \\"%E0%A4%A\\""}',
      });
    });

    test("400: a body that is not JSON, with the position", async () => {
      expect(await send(create, "/books", post('{\n "id": }'))).toMatchObject({
        status: 400,
        text: '{"reason":"the body is not JSON: no JSON value at position 9 (line 2, column 8)"}',
      });
    });

    test("400: free JSON that is not JSON", async () => {
      expect(await send(create, "/books", post('{"notes":{"a":01}}'))).toMatchObject({
        status: 400,
        text: '{"reason":"the body is not JSON: a number with a leading zero at position 14 (line 1, column 15)"}',
      });
    });

    test("400: a body that is not UTF-8", async () => {
      const bytes = Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]);
      expect(await send(create, "/books", post(bytes))).toMatchObject({
        status: 400,
        text: '{"reason":"the body is not valid UTF-8"}',
      });
    });

    test("400: a body that does not inflate", async () => {
      expect(await send(create, "/books", post("plain", { "content-encoding": "gzip" }))).toMatchObject({
        status: 400,
      });
    });

    test("400: a form that breaks off", async () => {
      const headers = { "content-type": "multipart/form-data; boundary=x" };
      const body = '--x\r\ncontent-disposition: form-data; name="book_id"\r\n\r\nb1';
      expect(await send(["coverCreate", () => 0], "/covers", post(body, headers))).toMatchObject({
        status: 400,
        text: '{"reason":"the multipart body is broken: a part that does not end"}',
      });
    });

    test("413: a body over the limit, declared", async () => {
      expect(await send(create, "/books", post(" ".repeat(1_048_577)))).toMatchObject({
        status: 413,
        text: '{"reason":"Request too large: a body has at most 1048576 bytes"}',
      });
    });

    test("413: a body over the limit, of unknown length", async () => {
      const chunk = new Uint8Array(300_000).fill(32);
      let left = 5;
      const body = new ReadableStream<Uint8Array>({
        pull: (controller) => (left-- > 0 ? controller.enqueue(chunk) : controller.close()),
      });
      expect((await send(create, "/books", { method: "POST", body, duplex: "half" })).status).toBe(413);
    });

    test("413: a body that inflates over the limit", async () => {
      const bytes = gzipSync(Buffer.alloc(2_000_000, 32));
      expect(bytes.length).toBeLessThan(10_000);
      expect((await send(create, "/books", post(bytes, { "content-encoding": "gzip" }))).status).toBe(413);
      const headers = { "content-encoding": "deflate" };
      expect((await send(create, "/books", post(deflateRawSync(Buffer.alloc(2_000_000, 32)), headers))).status).toBe(
        413,
      );
    });

    test("413: an operation's own limit", async () => {
      const headers = { "content-type": "application/x-protobuf" };
      expect((await send(["listsImport", () => 0], "/lists/import", post("x".repeat(1025), headers))).status).toBe(413);
    });

    test("413: free JSON nested deeper than 200 levels", async () => {
      const nested = (levels: number) =>
        `{"id":"b1","title":"T","notes":{},"extra":${"[".repeat(levels)}${"]".repeat(levels)}}`;
      expect((await send(create, "/books", post(nested(200)))).status).toBe(200);
      expect(await send(create, "/books", post(nested(201)))).toMatchObject({
        status: 413,
        text: '{"reason":"Request too large: body.extra: Nested deeper than 200 levels"}',
      });
    });

    test("415: a form or bytes of another media type, with what is taken", async () => {
      const cover = await send(["coverCreate", () => 0], "/covers", post("{}", { "content-type": "application/json" }));
      expect([cover.status, cover.headers.get("accept-post")]).toEqual([415, "multipart/form-data"]);
      const lists = await send(["listsImport", () => 0], "/lists/import", post("a", { "content-type": "text/csv" }));
      expect([lists.status, lists.headers.get("accept-post")]).toEqual([
        415,
        "application/x-protobuf, application/json",
      ]);
    });

    test("bytes without a media type are what they begin like", async () => {
      const echo: [string, Handler] = ["listsImport", ({ body }) => reply(200, (body as { bytes: Uint8Array }).bytes)];
      const typeOf = async (text: string) =>
        (await send(echo, "/lists/import", post(Buffer.from(text)))).seen?.body as { mediaType: string };
      expect(await typeOf(' {"a":1}')).toMatchObject({ mediaType: "application/json" });
      expect(await typeOf("\n\u0001")).toMatchObject({ mediaType: "application/x-protobuf" });
    });

    test("415: JSON under another name in the training interface", async () => {
      const options: Options = { interface: "training" };
      expect(await send(create, "/books", post(bookText, { "content-type": "text/plain" }), options)).toMatchObject({
        status: 415,
        text: '{"detail":"text/plain is not supported; send application/json"}',
      });
      for (const type of ["application/json; charset=utf-8", "application/vnd.books+json"]) {
        expect((await send(create, "/books", post(bookText, { "content-type": type }), options)).status).toBe(200);
      }
    });

    test("415: an unknown content-encoding", async () => {
      const response = await send(create, "/books", post(bookText, { "content-encoding": "br" }));
      expect([response.status, response.headers.get("accept-encoding")]).toEqual([415, "gzip, deflate"]);
    });

    test("422: a body that does not fit, with the location", async () => {
      const { status, text } = await send(create, "/books", post('{"id":"b1","title":"T","notes":{},"copies":"2"}'));
      expect([status, JSON.parse(text)]).toEqual([
        422,
        { detail: [{ loc: ["body", "copies"], msg: "Not a valid integer", type: "int_type" }] },
      ]);
    });

    test("422: a body that is missing", async () => {
      for (const body of ["", " \n"]) {
        expect(await send(create, "/books", post(body))).toMatchObject({
          status: 422,
          text: '{"detail":[{"loc":["body"],"msg":"Field required","type":"missing"}]}',
        });
      }
    });

    test("422: free JSON of another type than the spec allows", async () => {
      expect(await send(create, "/books", post('{"id":"b1","title":"T","notes":[]}'))).toMatchObject({
        status: 422,
        text: '{"detail":[{"loc":["body","notes"],"msg":"Not a valid object","type":"dict_type"}]}',
      });
    });

    test.each([
      ["/shelves/x/books/a", ["path", "shelf"], "Not a valid integer"],
      ["/shelves/0/books/a", ["path", "shelf"], "Must be greater than or equal to 1"],
      ["/shelves/1/books/a?pages=101", ["query", "pages"], "Must be less than or equal to 100"],
      ["/shelves/1/books/a?cover=maybe", ["query", "cover"], "Not a valid boolean"],
      ["/shelves/1/books/a?part=text&part=index", ["query", "part", 1], 'Must be one of "text", "notes"'],
    ])("422: a parameter that does not fit: %s", async (path, loc, msg) => {
      const { status, text } = await send(["bookRead", () => book], path);
      expect([status, JSON.parse(text)]).toMatchObject([422, { detail: [{ loc, msg }] }]);
    });

    test("422: a form without a part it needs", async () => {
      const form = new FormData();
      form.set("book_id", "b1");
      const { status, text } = await send(["coverCreate", () => 0], "/covers", post(form));
      expect([status, JSON.parse(text)]).toEqual([
        422,
        { detail: [{ loc: ["body", "file"], msg: "Field required", type: "missing" }] },
      ]);
    });

    test("is not a failure of a list that is lenient: bad items arrive as errors among the good ones", async () => {
      const deep = `{"req":{"book":{"id":"b2","title":"T","notes":{"a":${"[".repeat(10_000)}${"]".repeat(10_000)}}}}}`;
      const body = `{"batch":[{"req":{"id":"b9"}},{"req":{"book":{"id":"B!","title":"T","notes":{}}}},${deep},7,{"req":{"book":{"id":"b3","title":"T","notes":[]}}},{"mode":null,"req":{"book":${bookText}}}]}`;
      const { status, seen } = await send(["booksAdd", () => ({ done: [] })], "/books/add_batch", post(body));
      expect(status).toBe(200);
      expect(seen?.body).toHaveProperty("batch", [
        { req: { id: "b9" } },
        {
          loc: ["body", "batch", 1, "req", "book", "id"],
          msg: "Does not match the pattern ^[a-z0-9]+$",
          type: "string_pattern_mismatch",
        },
        {
          loc: ["body", "batch", 2, "req", "book", "notes"],
          msg: "Nested deeper than 200 levels",
          type: "nested_too_deep",
        },
        { loc: ["body", "batch", 3], msg: "Not a valid object", type: "dict_type" },
        {
          loc: ["body", "batch", 4, "req", "book", "notes"],
          msg: "Not a valid object",
          type: "dict_type",
        },
        { req: { book: { id: "b1", title: "Weaving", notes: rawJson("{}"), kind: "novel", copies: 1, tags: [] } } },
      ]);
    });
  });

  describe("a handler that fails", () => {
    const failing = (error: unknown): [string, Handler] => [
      "bookCreate",
      () => {
        throw error;
      },
    ];

    test("responds with what its Problem says, in the error body of the interface", async () => {
      const problem = new Problem(404, "deleted", { extras: { deleted_at: "2026" }, headers: { "retry-after": "1" } });
      const tracing = await send(failing(problem), "/books", post(bookText, jsonType));
      expect([tracing.status, tracing.text, tracing.headers.get("retry-after")]).toEqual([
        404,
        '{"reason":"deleted","deleted_at":"2026"}',
        "1",
      ]);
      expect((await send(failing(problem), "/books", post(bookText, jsonType), { interface: "training" })).text).toBe(
        '{"detail":"deleted","deleted_at":"2026"}',
      );
    });

    test("422: validation of its own", async () => {
      const problem = Problem.invalid([{ loc: ["body", "id"], msg: "taken", type: "value_error" }]);
      for (const kind of ["tracing", "training"] as const) {
        expect(await send(failing(problem), "/books", post(bookText, jsonType), { interface: kind })).toMatchObject({
          status: 422,
          text: '{"detail":[{"loc":["body","id"],"msg":"taken","type":"value_error"}]}',
        });
      }
    });

    test("500: an unexpected error gives no details", async () => {
      expect(await send(failing(new Error("secret")), "/books", post(bookText))).toMatchObject({
        status: 500,
        text: '{"reason":"Internal server error"}',
      });
    });

    test("is reported to onError, which may map it to a problem", async () => {
      const errors: unknown[] = [];
      const onError = (error: unknown) => {
        errors.push(error);
        return new Problem(503, "busy", { headers: { "retry-after": "2" } });
      };
      const response = await send(failing(new Error("busy")), "/books", post(bookText), { onError });
      expect([response.status, response.headers.get("retry-after"), errors]).toEqual([503, "2", [new Error("busy")]]);
    });

    test("500: a response that does not fit the spec, when responses are checked", async () => {
      const wrong: [string, Handler] = ["bookAsk", () => ({ text: 1 })];
      let reported: unknown;
      const onError = (error: unknown) => void (reported = error);
      const init = post('{"question":"?"}');
      expect((await send(wrong, "/books/ask", init, { onError })).status).toBe(500);
      expect(reported).toEqual(
        new Error("the response of bookAsk does not fit the spec: response.text: Not a valid string"),
      );
      expect((await send(wrong, "/books/ask", init, { validateResponses: false })).status).toBe(200);
    });

    test("501: a handler that is not there", async () => {
      expect(await send(create, "/health")).toMatchObject({
        status: 501,
        text: '{"reason":"readHealth is not implemented here"}',
      });
    });
  });
});
