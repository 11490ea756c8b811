import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { HeddleError } from "@heddle/errors";
import { loadModel } from "../src/runnable-objects/load-model.js";
import { referencedObject } from "../src/objects/referenced-object.js";
import { newProject, openTestService } from "./test-service.js";
import type { TestService } from "./test-service.js";
import { json, startUpstream, writeProviders } from "./upstream.js";

const secret = "sk-very-secret-key";
const projectId = newProject();
const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };

let service: TestService;
let directory: string;
let upstream: Awaited<ReturnType<typeof startUpstream>>;
/** The message of the next response, and why it ends. */
let reply: { message: object; finish_reason?: string };

beforeAll(async () => {
  upstream = await startUpstream({
    "POST /v1/chat/completions": (response) => json(response, { choices: [{ index: 0, ...reply }], usage }),
  });
  directory = mkdtempSync(join(tmpdir(), "heddle-models-"));
  const provider = { baseUrl: `${upstream.url}/v1`, allowPrivate: true, kinds: ["chat-completions"] };
  const file = writeProviders(directory, {
    acme: { ...provider, apiKey: secret, models: ["loom-*"] },
    pictures: { ...provider, kinds: ["images"], models: ["*"] },
    keyless: { ...provider, apiKeyEnv: "HEDDLE_TEST_NO_SUCH_KEY" },
  });
  service = await openTestService({ HEDDLE_PROVIDERS: file });
});
beforeEach(() => {
  upstream.received.length = 0;
  reply = { message: { role: "assistant", content: "hello" } };
});
afterAll(async () => {
  await service.close();
  await upstream.close();
  rmSync(directory, { recursive: true, force: true });
});

let names = 0;

/** Stores an object and returns its ref. */
async function stored(val: object, builtinClass?: string, project = projectId): Promise<string> {
  const name = `object-${names++}`;
  const obj = { project_id: project, object_id: name, val, builtin_object_class: builtinClass };
  const { digest } = await service.tracing().objCreate({ obj });
  return `weave:///${project}/object/${name}:${digest}`;
}

const storedModel = async (params: object) =>
  stored({ llm_model_id: "acme/loom-8b", default_params: params }, "LLMStructuredCompletionModel");

const loaded = async (ref: string) =>
  loadModel(service.services, await referencedObject(service.services, projectId, ref));

async function predict(ref: string, row: unknown, signal = new AbortController().signal) {
  const model = await loaded(ref);
  return model.predict(typeof row === "string" ? row : JSON.stringify(row), signal);
}

const sent = () => JSON.parse(upstream.received.at(-1)?.body ?? "null") as Record<string, unknown>;

async function failure(run: Promise<unknown>): Promise<[code: string, message: string]> {
  const error = await run.then(
    (result) => expect.unreachable(JSON.stringify(result)),
    (caught: unknown) => caught,
  );
  if (!(error instanceof HeddleError)) throw error;
  expect(`${error.message} ${String(error.cause)}`).not.toContain(secret);
  return [error.code, error.message];
}

const user = (content: unknown) => ({ role: "user", content });

test("a row is predicted with the template, the parameters and the model of the object", async () => {
  const ref = await storedModel({
    messages_template: [{ role: "system", content: "Answer in {language}." }, user("{question}")],
    temperature: 0.2,
    max_tokens: 20,
    stop: ["\n"],
    functions: [],
    n_times: 1,
  });
  const predicted = await predict(ref, { language: "French", question: "Hi?", other: 1 });
  expect(predicted).toEqual({ output: '"hello"', usage, model: "acme/loom-8b", latency: expect.any(Number) });
  expect(sent()).toEqual({
    model: "loom-8b",
    messages: [{ role: "system", content: "Answer in French." }, user("Hi?")],
    temperature: 0.2,
    max_tokens: 20,
    stop: ["\n"],
  });
});

test("an object that the weave SDK published works as it is", async () => {
  const classOf = (name: string, bases: string[]) => ({ _type: name, _class_name: name, _bases: bases });
  const unset = { name: null, function_call: null, tool_call_id: null };
  const ref = await stored({
    ...classOf("LLMStructuredCompletionModel", ["Model", "Object", "BaseModel"]),
    name: null,
    description: null,
    llm_model_id: "loom-8b",
    default_params: {
      ...classOf("LLMStructuredCompletionModelDefaultParams", ["BaseModel"]),
      messages_template: [{ ...classOf("Message", ["BaseModel"]), ...unset, ...user("{q}") }],
      temperature: null,
      top_p: 0.5,
      stop: null,
      response_format: "json_object",
    },
    predict: "weave:///shawn/test/op/LLMStructuredCompletionModel.predict:o7NF4oxiEF54Oo0bHxcxsypXFeRgklbtW4MyE2mrigM",
  });
  reply = { message: { role: "assistant", content: ' {"score": 1.0, "id": 9007199254740993}\n' } };
  expect((await predict(ref, { q: "Hi?" })).output).toBe('{"score": 1.0, "id": 9007199254740993}');
  expect(sent()).toEqual({
    model: "loom-8b",
    messages: [user("Hi?")],
    top_p: 0.5,
    response_format: { type: "json_object" },
  });
});

describe("templates", () => {
  test.each([
    ["{a} and {b}", { a: "x", b: { c: [1] } }, 'x and {"c":[1]}'],
    ["{a.b.0}", { a: { b: ["deep"] } }, "deep"],
    ["{a.b}", { "a.b": "whole name", a: { b: "path" } }, "whole name"],
    ["{a}", { a: "{b} {{b}} ${process.exit()}", b: "no" }, "{b} {{b}} ${process.exit()}"],
    ["{a}", { a: null }, "null"],
    ["{a}", '{"a": 1.0}', "1.0"],
    ['Reply as {"score": {"value": 1}}', {}, 'Reply as {"score": {"value": 1}}'],
    ['Reply as {{"score": 1}} for {a}', { a: "x" }, 'Reply as {"score": 1} for x'],
    ["{{a}}", { a: "x" }, "{a}"],
    ["{} { a } {0} {a!r} {__proto__.x", {}, "{} { a } {0} {a!r} {__proto__.x"],
    ["$& {a} $1", { a: "$& $'" }, "$& $& $' $1"],
  ])("%j", async (template, row, content) => {
    await predict(await storedModel({ messages_template: [user(template)] }), row);
    expect(sent()["messages"]).toEqual([user(content)]);
  });

  test("fill the texts in lists of parts", async () => {
    const parts = [
      { type: "text", text: "{a}" },
      { type: "image_url", image_url: { url: "{b}" } },
    ];
    await predict(await storedModel({ messages_template: [user(parts)] }), { a: "x", b: "data:y" });
    expect(JSON.stringify(sent()["messages"])).toContain('"url":"data:y"');
  });

  test("name the variable that the row lacks, and what it has", async () => {
    const ref = await storedModel({ messages_template: [user("{question}")] });
    const [code, message] = await failure(predict(ref, { Question: 1, answer: 2 }));
    expect(code).toBe("invalid");
    expect(message).toBe('the template needs "question", which the row does not have. It has: "Question", "answer"');
    expect((await failure(predict(ref, {})))[1]).toMatch(/It has: nothing$/);
    const wide = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`c${index}`.repeat(100), 1]));
    expect((await failure(predict(ref, wide)))[1].length).toBeLessThan(2000);
    expect(await failure(predict(ref, []))).toEqual(["invalid", "the row must be an object of columns by name"]);
    expect((await failure(predict(await storedModel({ messages_template: [user("{toString}")] }), {})))[0]).toBe(
      "invalid",
    );
    expect(upstream.received).toEqual([]);
  });

  test("do not multiply large values without limit", async () => {
    const ref = await storedModel({ messages_template: [user("{a}".repeat(1000))] });
    const [code, message] = await failure(predict(ref, { a: "x".repeat(100_000) }));
    expect([code, message]).toEqual(["too_large", expect.stringMatching(/longer than 8388608 characters/)]);
  });

  test("can be a prompt object", async () => {
    const prompt = await stored({ messages: [user("{a}?")] });
    await predict(await storedModel({ prompt }), { a: "x" });
    expect(sent()["messages"]).toEqual([user("x?")]);
    const text = await stored({ content: "{a}!" });
    await predict(await storedModel({ prompt: text }), { a: "x" });
    expect(sent()["messages"]).toEqual([user("x!")]);
    const other = await storedModel({ prompt: await stored({ content: 1 }) });
    expect(await failure(predict(other, {}))).toEqual(["invalid", expect.stringMatching(/is not a prompt/)]);
  });
});

describe("the column user_input", () => {
  const system = { role: "system", content: "Be brief." };

  test.each([
    ["Hi", [user("Hi")]],
    [user("Hi"), [user("Hi")]],
    [
      [user("Hi"), { role: "assistant", content: "Yes?" }],
      [user("Hi"), { role: "assistant", content: "Yes?" }],
    ],
  ])("%j follows the template", async (input, messages) => {
    await predict(await storedModel({ messages_template: [system] }), { user_input: input });
    expect(sent()["messages"]).toEqual([system, ...messages]);
  });

  test("is not sent twice", async () => {
    await predict(await storedModel({ messages_template: [user("> {user_input}")] }), { user_input: "Hi" });
    expect(sent()["messages"]).toEqual([user("> Hi")]);
  });

  test("or a template is needed", async () => {
    const ref = await storedModel({});
    expect(await failure(predict(ref, { q: 1 }))).toEqual(["invalid", expect.stringMatching(/no messages_template/)]);
    expect(await failure(predict(ref, { user_input: 1 }))).toEqual([
      "invalid",
      expect.stringMatching(/"user_input" must/),
    ]);
  });
});

describe("a model that returns garbage", () => {
  test.each([
    ["text", "garbage", undefined, /asked for JSON and returned a text that is none: "garbage"/],
    ["cut JSON", '{"a": "b', "length", /is none, and was cut at max_tokens: /],
    ["deep JSON", `${"[".repeat(1000)}${"]".repeat(1000)}`, undefined, /is none/],
    ["no text", null, undefined, /without a text/],
    ["the key", `my key is ${secret}`, undefined, /my key is \*\*\*/],
  ])("%s is an error", async (_, content, finishReason, text) => {
    reply = { message: { role: "assistant", content }, ...(finishReason && { finish_reason: finishReason }) };
    const ref = await storedModel({ messages_template: [user("Hi")], response_format: "json" });
    expect(await failure(predict(ref, {}))).toEqual(["failed", expect.stringMatching(text)]);
  });

  test("is text when no JSON was asked for", async () => {
    reply = { message: { role: "assistant", content: '{"a": "\u0000' } };
    expect((await predict(await storedModel({ messages_template: [user("Hi")] }), {})).output).toBe(
      '"{\\"a\\": \\"\\u0000"',
    );
  });
});

test("a message with calls of tools is the whole output", async () => {
  const message = {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "1", function: { name: "f", arguments: "{}" } }],
  };
  reply = { message };
  const tools = [{ type: "function", function: { name: "f", parameters: {} } }];
  const ref = await storedModel({ messages_template: [user("Hi")], tools, response_format: "json" });
  expect(JSON.parse((await predict(ref, {})).output)).toEqual(message);
  expect(sent()["tools"]).toEqual(tools);
});

test("cancelling ends the prediction", async () => {
  const ref = await storedModel({ messages_template: [user("Hi")] });
  expect((await failure(predict(ref, {}, AbortSignal.abort())))[0]).toBe("aborted");
});

describe("refs that cannot be loaded say why", () => {
  const load = async (ref: string) => failure(loaded(ref));

  test("of other forms and projects", async () => {
    expect(await load("gpt-4o")).toEqual([
      "invalid",
      expect.stringMatching(/"gpt-4o" is not a ref of an object: write weave:/),
    ]);
    expect(await load(`weave:///${projectId}/call/1`)).toEqual([
      "invalid",
      expect.stringMatching(/is not a ref of an object/),
    ]);
    const foreign = newProject();
    const ref = await stored({ llm_model_id: "loom-8b" }, "LLMStructuredCompletionModel", foreign);
    const missing = `weave:///${foreign}/object/none:latest`;
    for (const one of [ref, missing]) {
      expect(await load(one)).toEqual(["invalid", expect.stringMatching(/is a ref of another project than/)]);
    }
  });

  test("of objects that do not exist or were deleted", async () => {
    expect((await load(`weave:///${projectId}/object/none:latest`))[0]).toBe("not_found");
    const ref = await storedModel({});
    const name = ref.split("/").at(-1)?.split(":")[0] ?? "";
    await service.tracing().objDelete({ project_id: projectId, object_id: name });
    expect((await load(ref))[0]).toBe("not_found");
  });

  test("of other classes", async () => {
    const mine = { _type: "Mine", _class_name: "Mine", _bases: ["Model", "Object", "BaseModel"] };
    expect(await load(await stored(mine))).toEqual([
      "invalid",
      expect.stringMatching(/is of class Mine, which only an SDK can run. The service runs models of class LLMStruct/),
    ]);
    expect((await load(await stored({ llm_model_id: "loom-8b" })))[1]).toMatch(/is an object without a class/);
  });

  test.each([
    ["pictures/loom-8b", /llm_model_id "pictures\/loom-8b": no provider is configured for chat-completions/],
    ["gpt-4o", /llm_model_id "gpt-4o": no provider is configured/],
    ["keyless/x", /the provider keyless has no API key: set HEDDLE_TEST_NO_SUCH_KEY/],
  ])("of the model %s", async (name, text) => {
    const ref = await stored({ llm_model_id: name }, "LLMStructuredCompletionModel");
    expect(await load(ref)).toEqual(["invalid", expect.stringMatching(text)]);
  });
});

test.each([
  [{}, /obj.val: .*required property "llm_model_id"/],
  [{ llm_model_id: 1 }, /obj.val: llm_model_id: /],
  [{ llm_model_id: "weave:///acme/demo/object/gpt:v1" }, /llm_model_id must be text as "<provider>\/<model>"/],
  [{ llm_model_id: "m", default_params: { messages_template: [{ content: "x" }] } }, /messages_template.0: .*"role"/],
  [{ llm_model_id: "m", default_params: { temperature: "hot" } }, /default_params.temperature: /],
  [{ llm_model_id: "m", default_params: { n_times: 3 } }, /default_params.n_times: /],
  [{ llm_model_id: "m", default_params: { response_format: "xml" } }, /default_params.response_format: /],
  [{ llm_model_id: "m", default_params: { stream: true } }, /default_params.stream: /],
])("a model that could not run is not created: %j", async (val, text) => {
  await expect(stored(val, "LLMStructuredCompletionModel")).rejects.toMatchObject({
    status: 400,
    message: expect.stringMatching(text) as string,
  });
});
