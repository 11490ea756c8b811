import { randomUUID } from "node:crypto";
import type { CreateChatCompletionInput, CreateChatCompletionItem } from "@heddle/client/training";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
});

const model = "heddle/starter";
const question = { role: "user", content: "Say the word loom." };
const ask = (more: Partial<CreateChatCompletionInput> = {}): CreateChatCompletionInput => ({
  model,
  messages: [question],
  max_completion_tokens: 12,
  seed: 7,
  ...more,
});
const create = async (more?: Partial<CreateChatCompletionInput>) =>
  await service.training().createChatCompletion({ ...ask(more), stream: false });

/** All chunks of a stream. */
async function streamed(more: Partial<CreateChatCompletionInput> = {}): Promise<CreateChatCompletionItem[]> {
  const chunks: CreateChatCompletionItem[] = [];
  for await (const chunk of service.training().createChatCompletion({ ...ask(more), stream: true })) chunks.push(chunk);
  return chunks;
}

/** A model in a project, with the checkpoint of step 0. */
async function trainedModel(projectId: string, name = `agent-${randomUUID().slice(0, 8)}`): Promise<string> {
  await service.services.control.trainingModels.create({
    id: randomUUID(),
    checkpoint_id: randomUUID(),
    project_id: projectId,
    name,
    base_model: "random:tiny",
    run_id: randomUUID(),
    created_by: "ann",
  });
  return name;
}

test("a base model completes a conversation", async () => {
  const completion = await create({ temperature: 0 });
  expect(completion).toMatchObject({ object: "chat.completion", model, checkpoint_step: null });
  const { choices, usage, id } = completion;
  expect(id).toMatch(/^chatcmpl-[0-9a-f-]{36}$/);
  expect(choices).toMatchObject([
    { index: 0, message: { role: "assistant", content: expect.any(String) }, logprobs: null, stop_reason: null },
  ]);
  expect(choices[0]?.message.content).toMatch(/loom/i);
  expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
  expect(usage.completion_tokens).toBeGreaterThan(0);
});

test("a base model has a name without a slash, and a body needs no content type", async () => {
  const whole = await create({ model: "random:tiny" });
  expect(whole.choices).toHaveLength(1);
  const body = new TextEncoder().encode(JSON.stringify({ ...ask(), model: "heddle-starter", store: false }));
  const headers = { authorization: `Bearer ${service.owner_key}` };
  const response = await service.fetch("http://in-process/v1/chat/completions", { method: "POST", headers, body });
  expect([response.status, await response.json()]).toMatchObject([200, { model: "heddle-starter" }]);
});

test("the path with a slash at its end does the same", async () => {
  const body = JSON.stringify(ask({ temperature: 0 }));
  const headers = { authorization: `Bearer ${service.owner_key}`, "content-type": "application/json" };
  const response = await service.fetch("http://in-process/v1/chat/completions/", { method: "POST", headers, body });
  const { choices } = (await response.json()) as { choices: unknown };
  expect(choices).toEqual((await create({ temperature: 0 })).choices);
});

test("several choices share a prompt, and a seed repeats them", async () => {
  const [one, two] = await Promise.all([create({ n: 3, logprobs: true }), create({ n: 3, logprobs: true })]);
  expect(one.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
  expect(one.choices.map(({ message }) => message)).toEqual(two.choices.map(({ message }) => message));
  const tokens = one.choices.map(({ logprobs }) => logprobs?.content.length ?? 0);
  expect(one.usage.completion_tokens).toBe(tokens.reduce((sum, each) => sum + each, 0));
});

describe("a trained model", () => {
  let projectId: string;
  let name: string;
  beforeAll(async () => {
    projectId = newProject();
    name = await trainedModel(projectId);
  });

  test("has token ids and log-probabilities on every choice by default", async () => {
    const completion = await create({ model: `${projectId}/${name}`, n: 2 });
    expect(completion).toMatchObject({ model: `${projectId}/${name}`, checkpoint_step: 0 });
    expect(completion.prompt_token_ids).toHaveLength(completion.usage.prompt_tokens);
    for (const { token_ids, logprobs } of completion.choices) {
      expect(logprobs?.content.map(({ token }) => token)).toEqual(token_ids?.map((id) => `token_id:${id}`));
      expect(logprobs?.content.every(({ logprob }) => logprob <= 0)).toBe(true);
      expect(logprobs?.content.every(({ top_logprobs }) => top_logprobs.length === 0)).toBe(true);
    }
    const plain = await create({ model: `${projectId}/${name}`, logprobs: false, return_token_ids: false });
    expect(plain.choices[0]).toMatchObject({ logprobs: null, token_ids: null, prompt_token_ids: null });
  });

  test("has the ids of its prompt on every choice, and in the first chunk of every choice", async () => {
    const options = { model: `${projectId}/${name}`, n: 2 };
    const completion = await create(options);
    expect(completion.prompt_token_ids?.length).toBeGreaterThan(0);
    const chunks = await streamed(options);
    for (const { index, prompt_token_ids } of completion.choices) {
      expect(prompt_token_ids).toEqual(completion.prompt_token_ids);
      const parts = chunks.flatMap(({ choices }) => choices.filter((choice) => choice.index === index));
      expect(parts.map((part) => part.prompt_token_ids)).toEqual([
        completion.prompt_token_ids,
        ...parts.slice(1).map(() => undefined),
      ]);
    }
    const untrained = await create({ return_token_ids: true });
    expect(untrained.choices[0]).toMatchObject({ prompt_token_ids: null });
  });

  test("is found by every form of its name", async () => {
    const forms = [
      name,
      `${name}@0`,
      `${projectId}/${name}:step0`,
      `${projectId}/${name}@0`,
      `wandb-artifact:///${projectId}/${name}`,
      `wandb-artifact://${projectId}/${name}:step0`,
      `heddle-artifact:///${projectId}/${name}:latest`,
    ];
    for (const form of forms) {
      const { checkpoint_step, model: named } = await create({ model: form, max_completion_tokens: 1 });
      expect([form, checkpoint_step]).toEqual([named, 0]);
    }
  });

  test("that does not exist, a step that does not, and one of others look the same", async () => {
    const key = await service.key({ entity: "rival" });
    const request = async (named: string, apiKey?: string) =>
      await service
        .training(apiKey)
        .createChatCompletion({ ...ask({ model: named }), stream: false })
        .catch((error: { status: number; body: unknown }) => [error.status, error.body]);
    for (const [named, apiKey] of [
      [`${projectId}/missing`, undefined],
      ["missing", undefined],
      [`${projectId}/${name}`, key],
      [name, key],
      [`wandb-artifact:///${projectId}/${name}`, key],
    ] as const) {
      const message = `body.model: there is no model "${named}"`;
      const error = { message, type: "NotFoundError", param: "model", code: 404 };
      expect(await request(named, apiKey)).toEqual([404, { error, detail: message }]);
    }
    for (const selector of [":step1", "@99", ":v3"]) {
      expect(await request(`${projectId}/${name}${selector}`)).toMatchObject([404, { error: { param: "model" } }]);
    }
  });

  test("is listed with base models, to those who may read it", async () => {
    const listed = async (apiKey?: string) => {
      const { data } = await service.training(apiKey).listServedModels();
      return data.map(({ id }) => id);
    };
    expect(await listed()).toEqual(expect.arrayContaining([model, "random:tiny", `${projectId}/${name}`]));
    const foreign = await listed(await service.key({ entity: "rival" }));
    expect(foreign).toContain(model);
    expect(foreign).not.toContain(`${projectId}/${name}`);
  });

  test("needs its project where two have the same name", async () => {
    const other = newProject();
    await trainedModel(other, name);
    const message = new RegExp(`several models have this name, use one of ${other}/${name}, ${projectId}/${name}`);
    await expect(create({ model: name })).rejects.toThrow(message);
    await service.services.control.trainingModels
      .find(other, name)
      .then((model) => service.services.control.trainingModels.delete(model?.id ?? ""));
  });
});

describe("a stream", () => {
  test("has the same tokens, log-probabilities and text as a response without one", async () => {
    const options = { n: 2, logprobs: true, return_token_ids: true, stop: ["."] };
    const completion = await create(options);
    const chunks = await streamed({ ...options, stream_options: { include_usage: true } });
    for (const choice of completion.choices) {
      const parts = chunks.flatMap(({ choices }) => choices.filter(({ index }) => index === choice.index));
      expect(parts[0]).toMatchObject({ delta: { role: "assistant", content: "" }, finish_reason: null });
      expect(parts.map(({ delta }) => delta.content ?? "").join("")).toBe(choice.message.content);
      expect(parts.flatMap(({ token_ids }) => token_ids ?? [])).toEqual(choice.token_ids);
      const logprobs = parts.flatMap((part) => part.logprobs?.content ?? []);
      expect(logprobs.map(({ token }) => token)).toEqual(choice.logprobs?.content.map(({ token }) => token));
      for (const [index, { logprob }] of logprobs.entries()) {
        expect(logprob).toBeCloseTo(choice.logprobs?.content[index]?.logprob ?? NaN, 4);
      }
      const ends = parts.filter(({ finish_reason }) => finish_reason !== null);
      expect(ends).toMatchObject([{ finish_reason: choice.finish_reason, stop_reason: choice.stop_reason }]);
    }
    expect(chunks[0]?.prompt_token_ids).toEqual(completion.prompt_token_ids);
    expect(chunks.slice(1).every(({ prompt_token_ids }) => prompt_token_ids === undefined)).toBe(true);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: completion.usage });
  });

  test("has usage only where it is asked for", async () => {
    expect((await streamed()).every(({ usage }) => usage === undefined)).toBe(true);
    const every = await streamed({ stream_options: { continuous_usage_stats: true } });
    expect(every.map(({ usage }) => usage?.completion_tokens ?? NaN)).toEqual(
      every.map(({ usage }) => usage?.completion_tokens ?? 0).toSorted((a, b) => a - b),
    );
  });

  test("that nobody reads any more stops generating", async () => {
    const generate = vi.spyOn(service.services.training.sampler, "generate");
    const stream = service
      .training()
      .createChatCompletion({ ...ask({ max_completion_tokens: 900, ignore_eos: true }), stream: true });
    for await (const _ of stream) break;
    const [, options] = generate.mock.lastCall ?? [];
    await vi.waitFor(() => expect(options?.signal?.aborted).toBe(true));
    await expect(generate.mock.results.at(-1)?.value).rejects.toMatchObject({ code: "aborted" });
    generate.mockRestore();
  });
});

describe("the prompt", () => {
  test("is continued where the last message is left open, and may be echoed", async () => {
    const messages = [question, { role: "assistant", content: "The word is" }];
    const open = { messages, continue_final_message: true, add_generation_prompt: false, temperature: 0 };
    const [plain, echoed] = [await create(open), await create({ ...open, echo: true })];
    expect(echoed.choices[0]?.message.content).toBe(`The word is${plain.choices[0]?.message.content}`);
    await expect(create({ ...open, add_generation_prompt: true })).rejects.toThrow("body.continue_final_message");
  });

  test("keeps its last tokens where it is to be truncated", async () => {
    const { prompt_token_ids: whole } = await create({ return_token_ids: true, max_completion_tokens: 1 });
    const cut = await create({ return_token_ids: true, max_completion_tokens: 1, truncate_prompt_tokens: 5 });
    expect(cut.prompt_token_ids).toEqual(whole?.slice(-5));
    const long = { messages: [{ role: "user", content: "loom ".repeat(1000) }] };
    await expect(create(long)).rejects.toThrow(/body.messages: the maximum context length is 1024 tokens/);
    const fits = await create({ ...long, truncate_prompt_tokens: -1 });
    expect(fits.usage.prompt_tokens).toBe(1024 - 12);
  });

  test("has log-probabilities if they are asked for", async () => {
    const { prompt_logprobs, usage } = await create({ prompt_logprobs: 1, max_completion_tokens: 1 });
    expect(prompt_logprobs).toHaveLength(usage.prompt_tokens);
    expect(prompt_logprobs?.[0]).toBeNull();
    for (const entries of prompt_logprobs?.slice(1) ?? []) {
      const ranks = Object.values(entries ?? {}).map(({ rank }) => rank);
      expect(ranks).toContain(1);
    }
  });

  test("may come from a template of the request", async () => {
    const template = "{% for m in messages %}{{ m.content }}{% endfor %}{{ mood }}";
    const short = await create({
      chat_template: template,
      chat_template_kwargs: { mood: "!" },
      return_token_ids: true,
    });
    expect(short.usage.prompt_tokens).toBeLessThan((await create()).usage.prompt_tokens);
  });
});

describe("an output", () => {
  const content = async (more: Partial<CreateChatCompletionInput>) =>
    (await create({ max_completion_tokens: 60, ...more })).choices[0]?.message.content ?? "";

  test("follows a schema, an expression, a choice or a grammar", async () => {
    const schema = {
      type: "object",
      properties: { sum: { type: "integer", maximum: 99 } },
      required: ["sum"],
      additionalProperties: false,
    };
    const format = { type: "json_schema" as const, json_schema: { name: "sum", schema } };
    expect(JSON.parse(await content({ response_format: format }))).toEqual({
      sum: expect.any(Number),
    });
    expect(await content({ structured_outputs: { regex: "[0-9]{3}-[a-c]" } })).toMatch(/^[0-9]{3}-[a-c]$/);
    expect(["red", "blue"]).toContain(await content({ structured_outputs: { choice: ["red", "blue"] } }));
    expect(await content({ structured_outputs: { grammar: 'root ::= "ye" "s"+ | "no"' } })).toMatch(/^(yes+|no)$/);
    expect(JSON.parse(await content({ structured_outputs: { json: JSON.stringify(schema) } }))).toHaveProperty("sum");
  });

  test("follows constraints under the names of earlier servers", async () => {
    const schema = {
      type: "object",
      properties: { sum: { const: 7 } },
      required: ["sum"],
      additionalProperties: false,
    };
    expect(JSON.parse(await content({ guided_json: schema }))).toEqual({ sum: 7 });
    expect(await content({ guided_json: JSON.stringify(schema), guided_whitespace_pattern: "" })).toBe('{"sum":7}');
    expect(await content({ guided_regex: "[0-9]{3}-[a-c]" })).toMatch(/^[0-9]{3}-[a-c]$/);
    expect(["red", "blue"]).toContain(await content({ guided_choice: ["red", "blue"] }));
    expect(await content({ guided_grammar: 'root ::= "ye" "s"+ | "no"' })).toMatch(/^(yes+|no)$/);
    const tag = { format: { type: "const_string", value: "tagged" } };
    expect(await content({ structural_tag: JSON.stringify(tag) })).toBe("tagged");
    await expect(content({ guided_choice: ["a"], guided_regex: "a" })).rejects.toMatchObject({
      status: 400,
      body: { error: { param: "guided_regex" } },
    });
    await expect(content({ guided_regex: "a", structured_outputs: { regex: "b" } })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("guided_regex") as string,
    });
  });

  test("of a schema that no grammar can hold is refused by the keyword", async () => {
    const schema = { type: "object", properties: { a: { not: { type: "string" } } } };
    const loc = async (more: Partial<CreateChatCompletionInput>): Promise<string> =>
      await content(more).then(
        () => "",
        (error: Error) => error.message,
      );
    const format = { type: "json_schema" as const, json_schema: { name: "a", schema, strict: true } };
    expect(await loc({ response_format: format })).toContain("response_format.json_schema.schema.properties.a.not");
    expect(await loc({ structured_outputs: { json: schema } })).toContain("structured_outputs.json.properties.a.not");
    const tool = { type: "function" as const, function: { name: "f", parameters: schema } };
    const good = { type: "function" as const, function: { name: "good", parameters: { type: "object" } } };
    for (const choice of ["required" as const, { type: "function" as const, function: { name: tool.function.name } }]) {
      const message = await loc({ tools: [good, tool], tool_choice: choice });
      expect(message).toMatch(/ body\.tools\.1\.function\.parameters\S*: .*"not" is not supported/);
    }
  });

  test("of JSON has little white space", async () => {
    const schema = { type: "object", properties: { a: { const: 1 }, b: { const: 2 } }, required: ["a", "b"] };
    const format = { type: "json_schema" as const, json_schema: { name: "a", schema } };
    const text = await content({ response_format: format, temperature: 0, max_completion_tokens: 200 });
    expect(JSON.parse(text)).toEqual({ a: 1, b: 2 });
  });

  test("of an empty list of tools is text", async () => {
    expect(await content({ tools: [], tool_choice: "auto", guided_choice: ["text"] })).toBe("text");
    await expect(content({ tools: [], tool_choice: "required" })).rejects.toMatchObject({ status: 400 });
  });

  test("of more tokens than it may have is refused", async () => {
    const tooMany = { min_tokens: 5, max_completion_tokens: 4 };
    await expect(content(tooMany)).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(/min_tokens: is 5, and at most 4 tokens/) as string,
    });
    await content({ min_tokens: 4, max_completion_tokens: 4 });
  });

  test("of functions, which tools replaced, is refused by name", async () => {
    for (const field of [{ functions: [{ name: "f" }] }, { function_call: "auto" as const }]) {
      await expect(content(field)).rejects.toMatchObject({
        status: 400,
        message: expect.stringMatching(
          /functions: not supported; use tools|function_call: .*use tool_choice/,
        ) as string,
      });
    }
    expect(await content({ functions: [], function_call: "none", guided_choice: ["text"] })).toBe("text");
  });

  test("under a constraint that other servers have another name for is refused by name, never without it", async () => {
    const fields = [{ regex: "a+" }, { ebnf: 'root ::= "a"' }, { grammar: 'root ::= "a"' }, { format: "json" }];
    for (const field of [...fields, { json_schema: { type: "boolean" } }]) {
      const [name = ""] = Object.keys(field);
      await expect(content(field)).rejects.toMatchObject({
        status: 400,
        message: expect.stringMatching(new RegExp(`${name}: not supported; use .*structured_outputs\\.`)) as string,
      });
    }
    const text = await content({ guided_json_object: true, temperature: 0, max_completion_tokens: 200 });
    expect(text).toMatch(/^\{/);
  });

  test("of fields of other servers is refused by all their names, and harmless ones change nothing", async () => {
    const more = { modalities: ["text", "audio"], audio: { voice: "alloy" }, nvext: { top_k: 5 }, mirostat: 0 };
    await expect(content(more)).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(
        /modalities: not supported; audio: not supported; nvext: .*use the fields/,
      ) as string,
      body: { error: { param: "modalities" } },
    });
    await expect(content({ guided_choices: ["a"], extra_body: { top_k: 1 } })).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(
        /guided_choices: .*use structured_outputs; extra_body: .*use its members/,
      ) as string,
    });
    const misspelt = { structured_outputs: { regexp: "a" } } as object;
    await expect(content(misspelt)).rejects.toMatchObject({
      status: 422,
      message: expect.stringMatching(/structured_outputs\.regexp: Unknown key; did you mean regex\?/) as string,
    });
    const harmless = { prediction: { type: "content", content: "x" }, service_tier: "auto", modalities: ["text"] };
    expect(await content({ ...harmless, guided_choice: ["text"], verbosity: "medium" })).toBe("text");
  });

  test("of tools that are required is calls of them", async () => {
    const tools = ["weather", "time"].map((name) => ({
      type: "function" as const,
      function: {
        name,
        parameters: {
          type: "object",
          properties: { city: { enum: ["Rome", "Oslo"] } },
          required: ["city"],
          additionalProperties: false,
        },
      },
    }));
    const { choices } = await create({
      tools,
      tool_choice: "required",
      parallel_tool_calls: false,
      max_completion_tokens: 80,
    });
    expect(choices[0]).toMatchObject({ finish_reason: "tool_calls", message: { content: null } });
    const [call] = choices[0]?.message.tool_calls ?? [];
    expect(["weather", "time"]).toContain(call?.function.name);
    expect(JSON.parse(call?.function.arguments ?? "")).toEqual({ city: expect.stringMatching(/^(Rome|Oslo)$/) });

    const named = {
      tools,
      tool_choice: { type: "function" as const, function: { name: "time" } },
      max_completion_tokens: 80,
    };
    expect((await create(named)).choices[0]).toMatchObject({
      finish_reason: "stop",
      message: { tool_calls: [{ type: "function", function: { name: "time" } }] },
    });
    const chunks = await streamed(named);
    const parts = chunks.flatMap(({ choices: some }) => some.flatMap(({ delta }) => delta.tool_calls ?? []));
    expect(parts[0]).toMatchObject({ index: 0, id: expect.any(String), type: "function", function: { name: "time" } });
    expect(JSON.parse(parts.map((part) => part.function.arguments ?? "").join(""))).toHaveProperty("city");

    const allowedTo = (name: string, mode: "auto" | "required") => ({
      type: "allowed_tools" as const,
      allowed_tools: { mode, tools: [{ type: "function" as const, function: { name } }] },
    });
    const some = { tools, max_completion_tokens: 80, parallel_tool_calls: false };
    for (const name of ["time", "weather"]) {
      const { choices: ofSome } = await create({ ...some, tool_choice: allowedTo(name, "required") });
      expect(ofSome[0]?.message.tool_calls?.map((each) => each.function.name)).toEqual([name]);
    }
    await create({ ...some, tool_choice: allowedTo("time", "auto"), max_completion_tokens: 1 });
    await expect(create({ ...some, tool_choice: allowedTo("missing", "auto") })).rejects.toThrow(
      'body.tool_choice.allowed_tools.tools.0.function.name: no tool has the name "missing"',
    );
  });

  test("has alternatives, stop texts and biases", async () => {
    const { choices } = await create({ logprobs: true, top_logprobs: 3, max_completion_tokens: 2 });
    expect(choices[0]?.logprobs?.content.map(({ top_logprobs }) => top_logprobs.length)).toEqual([3, 3]);
    const whole = await content({ temperature: 0 });
    const stop = whole.slice(2, 4);
    const stopped = (await create({ temperature: 0, max_completion_tokens: 60, stop })).choices[0];
    expect([stopped?.message.content, stopped?.stop_reason]).toEqual([whole.slice(0, whole.indexOf(stop)), stop]);
    const forced = await create({ allowed_token_ids: [65], max_completion_tokens: 3, return_token_ids: true });
    expect(forced.choices[0]?.token_ids).toEqual([65, 65, 65]);
    const biased = await create({ logit_bias: { 66: 100 }, max_completion_tokens: 2, return_token_ids: true });
    expect(biased.choices[0]?.token_ids).toEqual([66, 66]);
    const repeated = { allowed_token_ids: [65], repetition_detection: { max_pattern_size: 1, min_count: 3 } };
    expect((await create(repeated)).choices[0]).toMatchObject({
      finish_reason: "repetition",
      stop_reason: "repetition_detected",
    });
  });

  test("may be found by beam search, streamed or not", async () => {
    const beams = { use_beam_search: true, n: 2, max_completion_tokens: 4, return_token_ids: true };
    const { choices } = await create(beams);
    const chunks = await streamed(beams);
    for (const { index, token_ids } of choices) {
      const parts = chunks.flatMap((chunk) => chunk.choices.filter((choice) => choice.index === index));
      expect(parts.flatMap((part) => part.token_ids ?? [])).toEqual(token_ids);
    }
  });
});

describe("a completion is recorded as a call", () => {
  const callOf = async (projectId: string) =>
    await vi.waitFor(async () => {
      const { calls } = await service.tracing().callsQuery({ project_id: projectId });
      expect(calls).toHaveLength(1);
      return calls[0];
    });
  const send = async (body: unknown, headers: Record<string, string> = {}) =>
    await service.fetch("http://in-process/v1/chat/completions", {
      method: "POST",
      headers: { authorization: `Bearer ${service.owner_key}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });

  test("in the project of the trained model, with what training needs", async () => {
    const projectId = newProject();
    const name = await trainedModel(projectId);
    const response = await send(ask({ model: name, logprobs: false, metadata: { task: "greet" } }));
    const call = await callOf(projectId);
    expect(call).toMatchObject({
      id: response.headers.get("x-heddle-call-id"),
      op_name: "heddle.chat.completions",
      inputs: { model: name, messages: [question], seed: 7 },
      attributes: { task: "greet", heddle: { base_model: "random:tiny", checkpoint_step: 0 } },
      output: { choices: [{ logprobs: { content: expect.any(Array) }, token_ids: expect.any(Array) }] },
    });
    const { usage } = (await response.json()) as { usage: object };
    expect(call?.summary).toMatchObject({ usage: { [`${projectId}/${name}`]: { requests: 1, ...usage } } });
  });

  test("in the project that the request names for a base model, streams too", async () => {
    const projectId = newProject();
    const response = await send(ask({ stream: true }), { "openai-project": projectId });
    const text = await response.text();
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    expect(await callOf(projectId)).toMatchObject({
      id: response.headers.get("x-heddle-call-id"),
      output: { object: "chat.completion", choices: [{ finish_reason: expect.any(String) }] },
      exception: null,
    });
  });

  test("unless the request says otherwise", async () => {
    const response = await send(ask({ store: false }));
    expect([response.status, response.headers.get("x-heddle-call-id")]).toEqual([200, null]);
    const refused = await service
      .training(await service.key({}))
      .createChatCompletion({ ...ask(), stream: false, "OpenAI-Project": "rival/demo" })
      .catch((error: { status: number; body: unknown }) => [error.status, error.body]);
    expect(refused).toMatchObject([403, { error: { type: "PermissionDeniedError" }, detail: "Forbidden" }]);
    const unclear = await send(ask(), { "openai-project": "a/" });
    expect([unclear.status, await unclear.json()]).toMatchObject([422, { error: { param: "OpenAI-Project" } }]);
  });

  test("with its id from the request", async () => {
    const response = await send(ask({ store: false }), { "x-request-id": "rollout-7" });
    expect(response.headers.get("x-request-id")).toBe("rollout-7");
    expect(await response.json()).toMatchObject({ id: "chatcmpl-rollout-7" });
    expect((await create({ request_id: "rollout-8" })).id).toBe("chatcmpl-rollout-8");
  });
});
