import type { Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import "reflect-metadata";
import { Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { NestExpressApplication } from "@nestjs/platform-express";
import express from "express";
import express4 from "express4";
import fastify from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { toNodeListener } from "../src/node/node.js";
import { libraryServer } from "./library.js";

// Body parsers that have read a request before the listener gets it.

const json = "application/json";
const notes = '{"x" : 1.0,"n":12345678901234567890}';
const free = `{"id":"b1","title":"T","notes":${notes}}`;
const remedy = [500, expect.stringContaining("ahead of the body parser")];
/** The response of a handler that got this, as JSON text. */
const seen = (text: string) => [200, `{"seen":${text}}`];

/** Handlers that show what they get. */
const listener = toNodeListener(
  libraryServer({
    bookCreate: ({ body }) => ({ seen: (body as { notes: unknown }).notes }),
    bookAsk: ({ body }) => ({ seen: (body as { question: string }).question }),
    booksStream: () => [{ seen: "no body" }],
    listsImport: ({ body }) => ({ seen: Buffer.from((body as { bytes: Uint8Array }).bytes).toString("hex") }),
  }),
);

type Send = (
  path: string,
  body: RequestInit["body"],
  contentType: string,
  encoding?: string,
) => Promise<[status: number, text: string]>;

async function sendTo(server: Server): Promise<Send> {
  if (!server.listening) await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return async (path, body, contentType, encoding) => {
    const headers = { "content-type": contentType, ...(encoding !== undefined && { "content-encoding": encoding }) };
    const response = await fetch(`http://127.0.0.1:${port}/library${path}`, {
      method: "POST",
      body,
      headers,
      duplex: "half",
    });
    return [response.status, await response.text()];
  };
}

describe.each([
  ["Express 5", express],
  ["Express 4", express4],
])("%s", (_, framework) => {
  type Parser = ReturnType<typeof express.json>;
  const behind = async (...parsers: Parser[]) => {
    const app = framework();
    for (const parser of parsers) app.use(parser);
    app.use("/library", listener);
    const server = app.listen(0, "127.0.0.1");
    await once(server, "listening");
    return sendTo(server);
  };

  test("behind json(), a request without free JSON is served, one with it gets 500 and the remedy", async () => {
    const send = await behind(framework.json());
    expect(await send("/books/ask", '{"question":"why?"}', json)).toEqual(seen('"why?"'));
    expect(await send("/books/ask", gzipSync('{"question":"zipped?"}'), json, "gzip")).toEqual(seen('"zipped?"'));
    expect(await send("/books/ask", '{"question":1}', json)).toEqual([
      422,
      expect.stringContaining('"loc":["body","question"]'),
    ]);
    expect(await send("/books", free, json)).toEqual(remedy);
    expect(await send("/lists/import", "{}", json)).toEqual(remedy);
  });

  test("behind json() that keeps the bytes as rawBody, free JSON is as it was sent", async () => {
    const verify = (request: object, _response: object, rawBody: Buffer) => void Object.assign(request, { rawBody });
    const send = await behind(framework.json({ verify }));
    expect(await send("/books", free, json)).toEqual(seen(notes));
    expect(await send("/books", gzipSync(free), json, "gzip")).toEqual(seen(notes));
  });

  test("what json() leaves unread is read: other types, and no body", async () => {
    const send = await behind(framework.json());
    expect(await send("/books", free, "text/plain")).toEqual(seen(notes));
    expect(await send("/lists/import", new Uint8Array([8, 255]), "application/x-protobuf")).toEqual(seen('"08ff"'));
    expect(await send("/books/stream", "", json)).toEqual([200, '{"seen":"no body"}\n']);
  });

  test("an empty body in chunks that json() has read is not a body", async () => {
    const send = await behind(framework.json());
    const empty = new ReadableStream({ start: (controller) => controller.close() });
    expect(await send("/books/stream", empty, json)).toEqual([200, '{"seen":"no body"}\n']);
  });

  test("behind urlencoded(), JSON under its type gets 500 and the remedy", async () => {
    const send = await behind(framework.urlencoded({ extended: true }));
    expect(await send("/books/ask", '{"question":"why?"}', "application/x-www-form-urlencoded")).toEqual(remedy);
  });

  test("behind text(), free JSON is as it was sent, and bytes get 500 and the remedy", async () => {
    const send = await behind(framework.text({ type: "*/*" }));
    expect(await send("/books", free, json)).toEqual(seen(notes));
    expect(await send("/books", gzipSync(free), json, "gzip")).toEqual(seen(notes));
    expect(await send("/lists/import", new Uint8Array([8, 255]), "application/x-protobuf")).toEqual(remedy);
  });

  test("behind raw(), every body is as it was sent", async () => {
    const send = await behind(framework.raw({ type: "*/*" }));
    const long = "x".repeat(80_000);
    expect(await send("/books", gzipSync(free), json, "gzip")).toEqual(seen(notes));
    expect(await send("/lists/import", new Uint8Array([8, 255]), "application/x-protobuf")).toEqual(seen('"08ff"'));
    expect(await send("/books/ask", `{"question":"${long}"}`, json)).toEqual(seen(`"${long}"`));
  });
});

test("Fastify: a handler of a route is behind its parser and gets 500 and the remedy", async () => {
  const app = fastify();
  app.all("/library/*", (request, reply) => {
    reply.hijack();
    request.raw.url = request.raw.url!.replace("/library", "");
    listener(request.raw, reply.raw);
  });
  await app.listen({ port: 0 });
  const send = await sendTo(app.server);
  expect(await send("/books", free, json)).toEqual(remedy);
  expect(await send("/books/ask", '{"question":"why?"}', json)).toEqual(remedy);
});

class AppModule {
  readonly name = "application";
}
Module({})(AppModule);

describe("Nest, mounted behind its own parser", () => {
  const behind = async (options: { rawBody?: boolean }) => {
    const app = await NestFactory.create<NestExpressApplication>(AppModule, { logger: false, ...options });
    app.useBodyParser("json");
    app.use("/library", listener);
    await app.init();
    return sendTo(app.getHttpServer());
  };

  test("gives 500 and the remedy for free JSON", async () => {
    const send = await behind({});
    expect(await send("/books", free, json)).toEqual(remedy);
    expect(await send("/books/ask", '{"question":"why?"}', json)).toEqual(seen('"why?"'));
  });

  test("with rawBody, free JSON is as it was sent", async () => {
    const send = await behind({ rawBody: true });
    expect(await send("/books", free, json)).toEqual(seen(notes));
  });
});

test("a request whose client has left before the listener got it ends at once", async () => {
  const server = libraryServer({ bookCreate: () => 0 });
  const app = express();
  const status = new Promise((resolve) => {
    const late = toNodeListener(async (request) => {
      const response = await server(request);
      resolve(response.status);
      return response;
    });
    app.use("/library", (request, response) => {
      request.on("error", () => {});
      request.once("close", () => late(request, response));
      request.socket.destroy();
    });
  });
  const send = await sendTo(app.listen(0, "127.0.0.1"));
  await expect(send("/books", free, json)).rejects.toThrow();
  expect(await status).toBe(400);
});
