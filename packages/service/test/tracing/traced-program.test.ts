import { flush, init, trace, wrapOpenAI } from "@heddle/client/trace";
import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { newProject, openTestService, ownerKey } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const responseUsage = { input_tokens: 4, output_tokens: 1, total_tokens: 5 };
const model = "small-1";

/** A model server of canned answers. */
async function answer(url: unknown, request?: { body?: unknown }): Promise<Response> {
  const body = JSON.parse(String(request?.body)) as { stream?: boolean; stream_options?: object; input?: string };
  if (String(url).endsWith("/responses")) return respond(body.stream === true);
  if (body.input !== undefined) {
    return Response.json({ object: "list", model, usage, data: [{ index: 0, embedding: [0.1, 0.2] }] });
  }
  if (!body.stream) {
    const message = { role: "assistant", content: "a part of a loom" };
    return Response.json({ id: "c", model, usage, choices: [{ index: 0, message, finish_reason: "stop" }] });
  }
  const chunks: object[] = ["war", "p"].map((content) => ({ model, choices: [{ index: 0, delta: { content } }] }));
  chunks.push({ model, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
  if (body.stream_options) chunks.push({ model, choices: [], usage });
  const text = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
  return new Response(`${text}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
}

/** Of the API of responses, whose events end with the whole response. */
function respond(streams: boolean): Response {
  const output = [
    { type: "message", id: "m", role: "assistant", content: [{ type: "output_text", text: "warp", annotations: [] }] },
  ];
  const whole = { id: "r", object: "response", model, status: "completed", output, usage: responseUsage };
  if (!streams) return Response.json(whole);
  const events = [
    { type: "response.created", response: { ...whole, status: "in_progress", output: [], usage: null } },
    { type: "response.output_text.delta", item_id: "m", output_index: 0, content_index: 0, delta: "warp" },
    { type: "response.completed", response: whole },
  ];
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

test("responses of the client of OpenAI are recorded whole, streamed or not", async () => {
  const projectId = newProject();
  init({ baseUrl: await service.listen(), apiKey: ownerKey, project: projectId, log: () => undefined });
  const openai = wrapOpenAI(new OpenAI({ apiKey: "k", baseURL: "http://models", fetch: answer }));
  const input = "What holds the warp?";
  expect((await openai.responses.create({ model, input })).output_text).toBe("warp");
  const types: string[] = [];
  for await (const event of await openai.responses.create({ model, input, stream: true })) types.push(event.type);
  expect(types).toEqual(["response.created", "response.output_text.delta", "response.completed"]);
  expect(await flush(30_000)).toBe(true);
  const { calls } = await service.tracing().callsQuery({ project_id: projectId });
  expect(calls).toHaveLength(2);
  for (const call of calls) {
    expect(call).toMatchObject({
      op_name: "openai.responses.create",
      inputs: { model, input },
      output: { id: "r", status: "completed", output: [{ content: [{ text: "warp" }] }], usage: responseUsage },
      summary: { usage: { [model]: { input_tokens: 4, output_tokens: 1, requests: 1 } } },
    });
  }
});

test("a program that traces functions and a client of OpenAI is read back as one tree", async () => {
  const projectId = newProject();
  const log: string[] = [];
  init({ baseUrl: await service.listen(), apiKey: ownerKey, project: projectId, log: (message) => log.push(message) });
  const openai = wrapOpenAI(new OpenAI({ apiKey: "k", baseURL: "http://models", fetch: answer }));
  const messages = [{ role: "user" as const, content: "What is a heddle?" }];

  const tell = trace("tell", async () => {
    const { data, response } = await openai.chat.completions.create({ model, messages }).withResponse();
    return [response.status, data.choices[0]?.message.content];
  });
  const spell = trace("spell", async function* () {
    for await (const chunk of await openai.chat.completions.create({ model, messages, stream: true })) {
      yield chunk.choices[0]!.delta.content ?? "";
    }
  });
  const root = trace("root", async (question: string) => {
    let text = "";
    for await (const part of spell()) text += part;
    await openai.embeddings.create({ model, input: question, encoding_format: "float" });
    return [await tell(), text];
  });
  expect(await root("What?")).toEqual([[200, "a part of a loom"], "warp"]);
  expect(await flush(30_000)).toBe(true);
  expect(log).toEqual([]);

  const { calls } = await service.tracing().callsQuery({ project_id: projectId });
  const top = calls.find(({ op_name }) => op_name === "root")!;
  const outline = await service.tracing().traceOutline({ project_id: projectId, trace_id: top.trace_id });
  expect(outline).toMatchObject({ total: 6, complete: true, missing_parents: [] });
  expect(outline.parent).toEqual([-1, 0, 1, 0, 0, 4]);
  const nameOf = (id: string | null | undefined) => calls.find((call) => call.id === id)?.op_name;
  expect(calls.map(({ op_name, parent_id }) => `${nameOf(parent_id)} > ${op_name}`).toSorted()).toEqual([
    "root > openai.embeddings.create",
    "root > spell",
    "root > tell",
    "spell > openai.chat.completions.create",
    "tell > openai.chat.completions.create",
    "undefined > root",
  ]);
  const [streamed, told] = calls.filter(({ op_name }) => op_name === "openai.chat.completions.create");
  const choice = (content: string) => ({ choices: [{ index: 0, message: { content }, finish_reason: "stop" }] });
  expect(streamed).toMatchObject({ inputs: { messages }, output: { ...choice("warp"), usage } });
  expect(told).toMatchObject({ output: choice("a part of a loom"), inputs: { model, messages } });
  for (const call of calls.filter(({ op_name }) => op_name.startsWith("openai."))) {
    expect(call.summary).toMatchObject({ usage: { [model]: { ...usage, requests: 1 } } });
  }
  expect(calls.find(({ op_name }) => op_name === "spell")?.output).toBe("warp");
});
