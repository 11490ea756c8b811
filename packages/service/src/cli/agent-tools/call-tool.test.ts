import { connectTracing } from "@heddle/client/tracing";
import { connectTraining } from "@heddle/client/training";
import { expect, test } from "vitest";
import { agentTools } from "../../generated/agent-tools.js";
import { callTool } from "./call-tool.js";

const limits = { bytes: 1000, streamTime: 60_000 };
const projectId = "local/shop";

/** A call of a tool against a service that responds so. */
async function called(name: string, given: object, response: () => Response, options: { streamTime?: number } = {}) {
  const tool = agentTools.find((each) => each.name === name)!;
  const remote = { baseUrl: "http://service", apiKey: "k", fetch: async () => response() };
  const connections = { tracing: connectTracing(remote), training: connectTraining(remote) };
  const { signal } = new AbortController();
  return callTool(tool, { project_id: projectId, ...given }, connections, { ...limits, ...options }, signal);
}

const bytes = (...parts: (string | Uint8Array<ArrayBuffer>)[]) => new Response(new Blob(parts));
const file = (response: Response) => called("fileContent", { digest: "d1" }, () => response);

test("of a stream that goes on, an agent gets what comes while it waits", async () => {
  const goesOn = () =>
    new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode('{"type":"call","n":1.50}\n')),
      }),
    );
  const { content } = await called("callsTail", { after: "0" }, goesOn, { streamTime: 50 });
  expect(content).toEqual([
    { type: "text", text: '{"type":"call","n":1.5}' },
    { type: "text", text: "[1 item within 0.05 s; the stream goes on.]" },
  ]);
});

test("a stream that breaks off is an error", async () => {
  const { isError, content } = await called("callsQueryStream", {}, () => new Response('{"id":"a"}\n{"id":'));
  expect(isError).toBe(true);
  expect(JSON.stringify(content)).toContain("ended after 1 item");
});

test("pages are read until there are as many items as the limit says", async () => {
  let pages = 0;
  const page = () => {
    pages += 1;
    const data = ["a", "b"].map((id) => ({ id: `${id}${pages}` }));
    return Response.json({ object: "list", data, has_more: true });
  };
  const { content } = await called("listModels", { limit: 3 }, page);
  expect(content).toEqual([
    { type: "text", text: '{"id":"a1"}\n{"id":"b1"}\n{"id":"a2"}' },
    { type: "text", text: "[3 items, as many as the limit says; there are more.]" },
  ]);
});

test("a file is what it is", async () => {
  expect((await file(bytes("köln"))).content).toEqual([{ type: "text", text: "köln" }]);
  expect((await file(bytes("RIFF1234WAVEfmt "))).content).toMatchObject([{ type: "audio", mimeType: "audio/wav" }]);
  expect((await file(bytes(new Uint8Array([0, 255])))).content).toEqual([
    { type: "resource", resource: { uri: "heddle:d1", blob: "AP8=", mimeType: "application/octet-stream" } },
  ]);
  expect((await file(bytes("x".repeat(1001)))).content).toMatchObject([
    { text: "x".repeat(1000) },
    { text: "[Cut: these are the first 1000 of 1001 bytes of the file.]" },
  ]);
  expect((await file(bytes(new Uint8Array(1001)))).content).toMatchObject([
    { text: "[A file of 1001 bytes, application/octet-stream: more than the 1000 bytes that are handed on.]" },
  ]);
});

test("a letter of several bytes is not cut in two", async () => {
  const { content } = await called("callRead", { id: "a" }, () => Response.json({ call: { id: "ü".repeat(600) } }));
  const [first] = content;
  expect(first?.type === "text" && first.text).toMatch(/^\{"call":\{"id":"ü+$/);
});
