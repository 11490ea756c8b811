import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import OpenAI, {
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  UnprocessableEntityError,
} from "openai";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { newModel } from "./jobs.js";

// The real client of OpenAI over a socket, with its default settings.

let service: TestService;
let url: string;
let openai: OpenAI;
beforeAll(async () => {
  // A key has two of them.
  service = await openTestService({ HEDDLE_COMPLETION_SLOTS: "4", HEDDLE_COMPLETIONS_WAITING: "1" });
  url = await service.listen();
  openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: service.owner_key });
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
});

const model = "heddle/starter";
const user = (content: string) => ({ role: "user" as const, content });
const ask = { model, messages: [user("Say the word loom.")], max_completion_tokens: 12, temperature: 0, store: false };

test("the client completes, and reads the id of the request", async () => {
  const completion = await openai.chat.completions.create(ask, { headers: { "X-Request-Id": "mine" } });
  expect(completion.choices[0]?.message.content).toMatch(/loom/i);
  expect(completion._request_id).toBe("mine");
  expect(completion.id).toBe("chatcmpl-mine");
});

test("the client lists models", async () => {
  const ids: string[] = [];
  for await (const { id } of openai.models.list()) ids.push(id);
  expect(ids).toEqual(expect.arrayContaining([model, "random:tiny"]));
});

test("the client reads a model by its names", async () => {
  const { models } = openai;
  const training = service.training();
  const name = `${newProject()}/mine`;
  await newModel(training, name.slice(0, name.lastIndexOf("/")), "mine");
  const { data: listed } = await training.listServedModels();
  for (const id of [model, "random:tiny", name]) {
    const expected = listed.find((each) => each.id === id) ?? expect.unreachable(id);
    expect(await models.retrieve(id)).toEqual(expected);
    // As clients of other languages and of earlier versions write it.
    expect(await openai.get(`/models/${id}`)).toEqual(expected);
  }
  expect(await models.retrieve("heddle-starter")).toMatchObject({ id: model });
  expect(await models.retrieve(`${name}@0`)).toMatchObject({ id: `${name}:step0`, checkpoint_step: 0 });
  for (const unknown of [`${name}x`, `${name}:step7`, "a/b/c/d", "%", "é"]) {
    const failure = await models.retrieve(unknown).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(NotFoundError);
    expect(failure).toMatchObject({ param: "model", message: expect.stringMatching(/no model|no such checkpoint/) });
  }
});

test("a model of another entity is unknown to the client", async () => {
  const project = newProject();
  await newModel(service.training(), project, "secret");
  const rival = new OpenAI({ baseURL: `${url}/v1`, apiKey: await service.key({ entity: "rival" }) });
  for (const name of [`${project}/secret`, "secret"])
    await expect(rival.models.retrieve(name)).rejects.toBeInstanceOf(NotFoundError);
});

test("the client's helper puts a stream together to the same completion", async () => {
  const whole = await openai.chat.completions.create({ ...ask, logprobs: true });
  const stream = openai.chat.completions.stream({ ...ask, logprobs: true, stream_options: { include_usage: true } });
  const final = await stream.finalChatCompletion();
  expect(final.choices[0]?.message.content).toBe(whole.choices[0]?.message.content);
  expect(final.choices[0]?.finish_reason).toBe(whole.choices[0]?.finish_reason);
  expect(final.choices[0]?.logprobs?.content?.map(({ token }) => token)).toEqual(
    whole.choices[0]?.logprobs?.content?.map(({ token }) => token),
  );
  expect(final.usage).toEqual(whole.usage);
});

test("the client reads tool calls, streamed and whole", async () => {
  const parameters = {
    type: "object",
    properties: { n: { enum: [1, 2] } },
    required: ["n"],
    additionalProperties: false,
  };
  const tools = [{ type: "function" as const, function: { name: "pick", parameters } }];
  const request = {
    ...ask,
    tools,
    tool_choice: "required" as const,
    parallel_tool_calls: false,
    max_completion_tokens: 60,
  };
  const [call] = (await openai.chat.completions.create(request)).choices[0]?.message.tool_calls ?? [];
  expect(call).toMatchObject({ type: "function", function: { name: "pick" } });
  const streamed = await openai.chat.completions.stream(request).finalMessage();
  expect(streamed.tool_calls).toMatchObject([{ type: "function", function: { name: "pick" } }]);
  // The model reads the result.
  const [first] = streamed.tool_calls ?? [];
  const answer = await openai.chat.completions.create({
    ...ask,
    messages: [...ask.messages, streamed, { role: "tool", tool_call_id: first?.id ?? "", content: "two" }],
    tools,
  });
  expect(answer.choices).toHaveLength(1);
});

test("the client reads structured outputs", async () => {
  const schema = {
    type: "object",
    properties: { ok: { type: "boolean" } },
    required: ["ok"],
    additionalProperties: false,
  };
  const { choices } = await openai.chat.completions.parse({
    ...ask,
    max_completion_tokens: 60,
    response_format: { type: "json_schema", json_schema: { name: "ok", schema, strict: true } },
  });
  expect(choices[0]?.message.parsed).toEqual({ ok: expect.any(Boolean) });
});

describe("errors are those of the client", () => {
  const failure = async (request: object, client = openai) =>
    await client.chat.completions.create({ ...ask, ...request }).catch((error: unknown) => error);

  test("for models, keys and fields", async () => {
    const unknown = await failure({ model: "acme/demo/none" });
    expect(unknown).toBeInstanceOf(NotFoundError);
    expect(unknown).toMatchObject({ status: 404, param: "model", type: "NotFoundError" });
    const other = new OpenAI({ baseURL: `${url}/v1`, apiKey: "x".repeat(40) });
    expect(await failure({}, other)).toBeInstanceOf(AuthenticationError);
    const reader = new OpenAI({ baseURL: `${url}/v1`, apiKey: await service.key({ role: "read" }) });
    expect(await failure({}, reader)).toBeInstanceOf(PermissionDeniedError);
    const many = await failure({ n: 1_000_000 });
    expect(many).toBeInstanceOf(UnprocessableEntityError);
    expect(many).toMatchObject({ param: "n", message: expect.stringContaining("128") });
    const refused = await failure({
      kv_transfer_params: { a: 1 },
      mm_processor_kwargs: { b: 2 },
      vllm_xargs: { c: 3 },
    });
    expect(refused).toBeInstanceOf(BadRequestError);
    expect(refused).toMatchObject({
      message: expect.stringMatching(/mm_processor_kwargs, kv_transfer_params, vllm_xargs: not supported/),
    });
    expect(await failure({ max_completion_tokens: 5000 })).toMatchObject({
      status: 400,
      param: "max_completion_tokens",
      message: expect.stringMatching(/maximum context length is 1024 tokens/),
    });
  });

  test("for a stream that fails before its first chunk, and after it", async () => {
    const early = await failure({ stream: true, model: "none" });
    expect(early).toBeInstanceOf(NotFoundError);
    const { sampler } = service.services.training;
    const generate = vi.spyOn(sampler, "generate").mockImplementationOnce(async (_request, options) => {
      options?.onChunk?.({ index: 0, text: "so", tokens: [] });
      throw new (await import("@heddle/errors")).HeddleError("busy", "the engine restarts");
    });
    const received: unknown[] = [];
    const stream = await openai.chat.completions.create({ ...ask, stream: true });
    const reading = (async () => {
      for await (const { choices } of stream) received.push(choices[0]?.delta);
    })();
    await expect(reading).rejects.toMatchObject({ message: expect.stringContaining("the engine restarts") });
    expect(received).toEqual([{ role: "assistant", content: "" }, { content: "so" }]);
    generate.mockRestore();
  });
});

test("a client that leaves stops the generation, before its response and within it", async () => {
  const generate = vi.spyOn(service.services.training.sampler, "generate");
  const long = { ...ask, max_completion_tokens: 900, ignore_eos: true } as typeof ask;
  const stopped = async () => {
    await expect(generate.mock.results.at(-1)?.value).rejects.toMatchObject({ code: "aborted" });
    generate.mockClear();
  };
  const leave = new AbortController();
  const whole = openai.chat.completions.create(long, { signal: leave.signal });
  await vi.waitFor(() => expect(generate).toHaveBeenCalledTimes(1));
  leave.abort();
  await expect(whole).rejects.toBeInstanceOf(APIUserAbortError);
  await stopped();
  const stream = await openai.chat.completions.create({ ...long, stream: true });
  for await (const _ of stream) break;
  await stopped();
  generate.mockRestore();
});

test("more requests than may wait are refused with 429 and a time to wait", async () => {
  const leave = new AbortController();
  const { sampler } = service.services.training;
  let running = 0;
  const generate = vi.spyOn(sampler, "generate").mockImplementation(async (_, options) => {
    running += 1;
    await new Promise<void>((resolve) => options?.signal?.addEventListener("abort", () => resolve()));
    throw options?.signal?.reason;
  });
  const patient = new OpenAI({ baseURL: `${url}/v1`, apiKey: service.owner_key, maxRetries: 0 });
  const send = () => patient.chat.completions.create(ask, { signal: leave.signal }).catch((error: unknown) => error);
  const [first, second] = [send(), send()];
  await vi.waitFor(() => expect(running).toBe(2));
  const third = send();
  const refused = await vi.waitFor(async () => {
    const error = await patient.chat.completions.create(ask).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(RateLimitError);
    return error as RateLimitError;
  });
  expect(refused.message).toContain("Concurrency limit reached for requests");
  expect(refused.headers?.get("retry-after")).toBe("1");
  leave.abort();
  await Promise.all([first, second, third]);
  generate.mockRestore();
  expect((await openai.chat.completions.create(ask)).choices).toHaveLength(1);
});

test("an unknown path has an error that the client prints", async () => {
  const lost = new OpenAI({ baseURL: `${url}/v1/v1`, apiKey: service.owner_key, maxRetries: 0 });
  const error: unknown = await lost.chat.completions.create(ask).catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(NotFoundError);
  expect((error as NotFoundError).message).not.toContain("status code (no body)");
  expect(error).toMatchObject({ type: "NotFoundError", code: 404, error: { message: expect.any(String) as string } });
});

test("what is not JSON is refused, and the service goes on", async () => {
  const { port } = new URL(url);
  const headers = { authorization: `Bearer ${service.owner_key}`, "content-type": "application/json" };
  const request = httpRequest({ port, path: "//v1//chat/completions", method: "POST", headers });
  request.end('{"model": "heddle/starter", "messages": [');
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const text = (await response.setEncoding("utf8").toArray()).join("");
  expect([response.statusCode, JSON.parse(text)]).toMatchObject([
    400,
    { error: { type: "BadRequestError", code: 400 } },
  ]);
  expect((await openai.chat.completions.create(ask)).choices).toHaveLength(1);
});
