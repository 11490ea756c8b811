import type { CreateChatCompletionInput } from "@heddle/client/training";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService({ HEDDLE_RECORD_COMPLETIONS: "off" });
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
});

const ask = { model: "heddle/starter", messages: [{ role: "user", content: "loom" }], max_completion_tokens: 2 };
/** The status, the field at fault and the message of a request that is refused. */
const refusal = async (more: Partial<CreateChatCompletionInput>) => {
  const request = { ...ask, ...more, stream: false as const };
  const error: unknown = await service
    .training()
    .createChatCompletion(request)
    .catch((cause: unknown) => cause);
  const { status, body } = error as { status: number; body: { error: { param: string; message: string } } };
  return [status, body.error.param, body.error.message];
};

const nested = (depth: number): object => (depth === 0 ? {} : { properties: { a: nested(depth - 1) } });

test.each<[string, Partial<CreateChatCompletionInput>, unknown[]]>([
  [
    "a template without an end",
    { chat_template: "{% for i in range(100000000) %}x{% endfor %}" },
    [400, "chat_template"],
  ],
  ["a template that grows", { chat_template: "{% set a = 'x' * 100000000 %}{{ a }}" }, [400, "chat_template"]],
  [
    "a template that reaches out",
    { chat_template: "{{ ''.constructor.constructor('return process')() }}" },
    [400, "chat_template"],
  ],
  ["a template that fails", { chat_template: "{{ raise_exception('no') }}" }, [400, "chat_template"]],
  ["a template that is none", { chat_template: "{% if" }, [400, "chat_template"]],
  [
    "a variable that hides the messages",
    { chat_template_kwargs: { messages: [] } },
    [400, "chat_template_kwargs.messages"],
  ],
  [
    "a schema that refers to itself only",
    { structured_outputs: { json: { $ref: "#" } } },
    [400, expect.stringContaining("structured_outputs.json")],
  ],
  [
    "a schema that nothing fits",
    { response_format: { type: "json_schema", json_schema: { name: "x", schema: { not: {} } } } },
    [400, expect.stringContaining("response_format")],
  ],
  [
    "a deep schema",
    { structured_outputs: { json: nested(90) as Record<string, never> } },
    [400, expect.stringContaining("structured_outputs")],
  ],
  ["a schema that is not JSON", { structured_outputs: { json: "{" } }, [400, "structured_outputs.json"]],
  [
    "an expression that explodes",
    { structured_outputs: { regex: "((a{1,999}){1,999}){1,999}" } },
    [413, expect.stringContaining("structured_outputs.regex")],
  ],
  [
    "an expression that is none",
    { structured_outputs: { regex: "(" } },
    [400, expect.stringContaining("structured_outputs.regex")],
  ],
  [
    "a grammar without an end",
    { structured_outputs: { grammar: "root ::= root" } },
    [400, expect.stringContaining("structured_outputs.grammar")],
  ],
  ["two constraints", { structured_outputs: { regex: "a", choice: ["a"] } }, [400, "structured_outputs"]],
  [
    "two constraints in two fields",
    { structured_outputs: { regex: "a" }, response_format: { type: "json_object" } },
    [400, "structured_outputs.regex"],
  ],
  ["a schema without a schema", { response_format: { type: "json_schema" } }, [400, "response_format.json_schema"]],
  ["a million choices", { n: 1_000_000 }, [422, "n"]],
  ["a million tokens", { max_completion_tokens: 1_000_000 }, [400, "max_completion_tokens"]],
  [
    "a prompt beyond the context",
    { messages: [{ role: "user", content: "a b ".repeat(1_000_000) }] },
    [400, "messages"],
  ],
  ["no messages", { messages: [] }, [422, "messages"]],
  ["a picture", { messages: [{ role: "user", content: [{ type: "image_url" }] }] }, [400, "messages.0.content.0"]],
  ["too many stops", { stop: Array.from({ length: 65 }, String) }, [422, "stop"]],
  ["a bias of no token", { logit_bias: { loom: 1 } }, [400, "logit_bias.loom"]],
  [
    "a bias of a token that does not exist",
    { logit_bias: { 999999: 1 } },
    [400, expect.stringContaining("logit_bias")],
  ],
  ["a bias without a bound", { logit_bias: { 1: 1e9 } }, [422, "logit_bias.1"]],
  ["an id with a line break", { request_id: "a\r\nb: c" }, [422, "request_id"]],
  ["alternatives without log-probabilities", { top_logprobs: 2 }, [400, "top_logprobs"]],
  ["prompt log-probabilities of a stream's options", { stream_options: {} }, [400, "stream_options"]],
  ["a tool choice without tools", { tool_choice: "required" }, [400, "tool_choice"]],
  [
    "a tool that is not there",
    { tools: [{ function: { name: "a" } }] as never, tool_choice: { type: "function", function: { name: "b" } } },
    [400, "tool_choice.function.name"],
  ],
  [
    "beams with everything",
    { use_beam_search: true, top_p: 0.5, stop: "x", structured_outputs: { regex: "a" } },
    [400, "top_p", expect.stringContaining("top_p, stop, structured_outputs: not possible")],
  ],
  ["a model without a name", { model: undefined }, [422, "model"]],
  ["a model with a name of another language", { model: "..//../\u0000" }, [404, "model"]],
])("%s is refused with the field", async (_, request, expected) => {
  const found = await refusal(request);
  expect(found).toEqual([
    ...expected,
    ...[expect.any(Number), expect.anything(), expect.any(String)].slice(expected.length),
  ]);
});

test("a request that is refused costs the next one nothing", async () => {
  const { choices } = await service.training().createChatCompletion({ ...ask, stream: false });
  expect(choices).toHaveLength(1);
});
