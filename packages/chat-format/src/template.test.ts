import { describe, expect, test } from "vitest";
import { locOf } from "@heddle/errors/testing";
import { openChatModel } from "../test/chat-model.js";
import { brackets, chatMl, headers, thinking } from "../test/chat-templates.js";
import { byteLevelTokenizer, chatMerges, chatTokens, temporaryModel } from "../test/text-models.js";
import type { ChatRequest, ChatTemplate, ChatTemplateOptions } from "./template.js";
import { openChatTemplate } from "./template.js";

const config = { bos_token: "<|begin_of_text|>", eos_token: "<|im_end|>" };
const conversation = [
  { role: "system", content: "Be short." },
  { role: "user", content: "hello" },
];

const tokenizer = byteLevelTokenizer(chatMerges, chatTokens);

async function open(template: unknown, options: ChatTemplateOptions = { trusted: true }): Promise<ChatTemplate> {
  await using model = await temporaryModel({
    "tokenizer.json": tokenizer,
    "tokenizer_config.json": { ...config, chat_template: template },
  });
  return await openChatTemplate(model.directory, options);
}

async function render(
  template: unknown,
  request: Partial<ChatRequest>,
  options?: ChatTemplateOptions,
): Promise<string> {
  return (await open(template, options)).renderText({ messages: conversation, ...request });
}

describe("templates of published models", () => {
  test("ChatML with tools, a call and its result", async () => {
    const text = await render(chatMl, {
      messages: [
        ...conversation,
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "1", type: "function", function: { name: "add", arguments: '{"a":1,"b":[2,"é"]}' } }],
        },
        { role: "tool", tool_call_id: "1", name: "add", content: [{ type: "text", text: "3" }] },
      ],
      tools: [{ strict: true, parameters: { type: "object" }, name: "add" }],
    });
    expect(text).toBe(
      `<|im_start|>system\nBe short.\n\nYou may call functions:\n<tools>\n` +
        `{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}, "strict": true}}\n` +
        `</tools><|im_end|>\n<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n<tool_call>\n` +
        `{"name": "add", "arguments": {"a": 1, "b": [2, "é"]}}\n</tool_call><|im_end|>\n` +
        `<|im_start|>user\n<tool_response>\n3\n</tool_response><|im_end|>\n<|im_start|>assistant\n`,
    );
  });

  test("headers with a date and the beginning token", async () => {
    const now = () => new Date(2026, 6, 4, 12);
    const text = await render(headers, {}, { trusted: true, now });
    expect(text).toBe(
      "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nIt is 04 Jul 2026\n\nBe short.<|eot_id|>" +
        "<|start_header_id|>user<|end_header_id|>\n\nhello<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    );
  });

  test("reasoning is kept only after the last question", async () => {
    const messages = [
      { role: "user", content: "a" },
      { role: "assistant", content: "<think>\n  old\n</think>\n\nA" },
      { role: "user", content: "b" },
      { role: "assistant", reasoning: "  new\n", content: "B" },
    ];
    expect(await render(thinking, { messages, addGenerationPrompt: false })).toBe(
      "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n<|im_start|>user\nb<|im_end|>\n" +
        "<|im_start|>assistant\n<think>\n  new\n</think>\n\nB<|im_end|>\n",
    );
    const asked = { messages: messages.slice(0, 1), kwargs: { enable_thinking: false, preserve_thinking: true } };
    expect(await render(thinking, asked)).toMatch(/assistant\n<think>\n\n<\/think>\n\n$/);
  });

  test("in a thread as in the process", async () => {
    for (const template of [chatMl, thinking, headers]) {
      const now = () => new Date(2026, 0, 31, 9);
      expect(await render(template, {}, { now })).toBe(await render(template, {}, { now, trusted: true }));
    }
  });

  test("tokens of the text, control tokens among them", async () => {
    const opened = await openChatModel(chatMl);
    const { text, ids } = await opened.render({ messages: conversation });
    expect(opened.tokenizer.decode(ids)).toBe(text);
    expect([...ids].filter((id) => id === opened.tokenizer.idOf("<|im_start|>"))).toHaveLength(3);
  });
});

test("the form of calls and reasoning is that of the template of the request", async () => {
  const named = [
    { name: "default", template: "{{ '<think></think>' }}" },
    { name: "tool_use", template: "{{ '[TOOL_CALLS]' }}" },
  ];
  const model = await open(named);
  const tools = [{ type: "function", function: { name: "f" } }];
  const think = { open: "<think>", close: "</think>" };
  expect(model.outputFormat({})).toEqual({ toolCalls: undefined, reasoning: think, specialTags: false });
  expect(model.outputFormat({ tools }).toolCalls).toBe("mistral");
  expect(model.outputFormat({ tools, template: "<tool_call>" }).toolCalls).toBe("hermes");
});

test("a template that reads tools from the system message gets those of the request there, as Phi-4-mini expects", async () => {
  const template =
    "{% for m in messages %}{% if m.role == 'system' and 'tools' in m and m['tools'] is not none %}" +
    "<|system|>{{ m.content }}<|tool|>{{ m['tools'] }}<|/tool|>{% else %}<|{{ m.role }}|>{{ m.content }}{% endif %}{% endfor %}";
  const model = await openChatModel(template);
  const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
  const user = { role: "user", content: "Go" };
  const written = '<|tool|>[{"name":"f","parameters":{"type":"object"}}]<|/tool|>';
  const system = { role: "system", content: "Be brief" };
  expect(await model.renderText({ messages: [system, user], tools })).toContain(`Be brief${written}`);
  expect(await model.renderText({ messages: [user], tools })).toContain(`<|system|>${written}`);
  expect(await model.renderText({ messages: [{ ...system, tools: "own" }, user], tools })).toContain("own<|/tool|>");
  expect(await model.renderText({ messages: [user] })).not.toContain("<|tool|>");
  expect(model.outputFormat({ tools }).toolCalls).toBe("tagged-list");
});

test("special tokens are needed to read calls if the tags are such", async () => {
  const template = "{{ '[TOOL_CALLS]' }}";
  const special = [...chatTokens, "[TOOL_CALLS]"];
  const model = await openChatModel(template, byteLevelTokenizer(chatMerges, special));
  const tools = [{ type: "function", function: { name: "f" } }];
  expect(model.outputFormat({ tools }).specialTags).toBe(true);
  expect(model.outputFormat({}).specialTags).toBe(false);
});

describe("where templates come from", () => {
  test("a list with names: the one for tools when there are tools", async () => {
    const named = [
      { name: "default", template: "plain" },
      { name: "tool_use", template: "with tools" },
    ];
    expect(await render(named, {})).toBe("plain");
    expect(await render(named, { tools: [] })).toBe("plain");
    expect(await render(named, { tools: [{ type: "function", function: { name: "f" } }] })).toBe("with tools");
    await expect(render(named.slice(1), {})).rejects.toThrow('named "tool_use"; none of them is "default"');
  });

  test("chat_template.jinja takes precedence over the configuration", async () => {
    await using model = await temporaryModel({
      "tokenizer.json": tokenizer,
      "chat_template.jinja": "from the file",
      "tokenizer_config.json": { chat_template: "from the configuration" },
    });
    const template = await openChatTemplate(model.directory, { trusted: true });
    expect(await template.renderText({ messages: conversation })).toBe("from the file");
  });

  test("a request can bring its own, also for a model without one", async () => {
    await using model = await temporaryModel({ "tokenizer.json": tokenizer });
    const template = await openChatTemplate(model.directory);
    expect(await template.renderText({ messages: conversation, template: "{{ messages | length }}" })).toBe("2");
    await expect(template.renderText({ messages: conversation })).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining("no chat template"),
    });
  });

  test.each([
    ["a number", 5, /chat_template must be text or a list/],
    ["names without templates", [{ name: "a" }], /chat_template\[0\] must have a name and a template/],
    ["endless", "x".repeat(300_000), /more than 262144 characters/],
  ])("refused: %s", async (_, template, reason) => {
    await expect(open(template)).rejects.toMatchObject({ name: "HeddleError", message: expect.stringMatching(reason) });
  });
});

describe("what a conversation may be", () => {
  const lines = "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}";

  test("unsupported roles are mapped to supported ones", async () => {
    const messages = [
      { role: "developer", content: "d" },
      { role: "function", name: "f", content: null },
    ];
    expect(await render(lines, { messages })).toBe("system:d;tool:;");
    expect(await render(`{% set known = "developer" %}${lines}`, { messages })).toBe("developer:d;tool:;");
  });

  test("an old function call is a tool call", async () => {
    const messages = [{ role: "assistant", function_call: { name: "f", arguments: "{}" } }];
    expect(await render("{{ messages[0].tool_calls[0].function.name }}", { messages })).toBe("f");
  });

  const call = (args: unknown) => [{ role: "assistant", tool_calls: [{ function: { name: "f", arguments: args } }] }];
  const given = "messages[0].tool_calls[0].function.arguments";

  test("arguments of calls are objects, with the numbers that the model wrote", async () => {
    const listed = `{% for k, v in ${given}.items() %}{{ k }}={{ v }};{% endfor %}`;
    const written = '{"a": 1, "b": 1.0, "c": 1e3, "d": 12345678901234567890}';
    expect(await render(listed, { messages: call(written) })).toBe("a=1;b=1.0;c=1000.0;d=12345678901234567890;");
    expect(await render(listed, { messages: call(written) }, {})).toBe("a=1;b=1.0;c=1000.0;d=12345678901234567890;");
    expect(await render(listed, { messages: call({ a: true }) })).toBe("a=True;");
    expect(await render(`{{ ${given} | tojson }}`, { messages: call("") })).toBe("{}");
  });

  test.each([
    ["empty, as in vLLM", `{{ ${given} | tojson }}`, "{}"],
    ["text for a template that tests for it", `{{ ${given} if ${given} is string else ${given} | tojson }}`, '{"a": '],
    ["text for a template that only appends text", `{{ "" + ${given} }}`, '{"a": '],
  ])("arguments that are not a JSON object are %s", async (_, template, text) => {
    expect(await render(template, { messages: call('{"a": ') })).toBe(text);
  });

  test("arguments are text for a template that only appends text", async () => {
    expect(await render(`{{ "" + ${given} }}`, { messages: call('{"a":1}') })).toBe('{"a":1}');
    expect(await render(`{{ "" + ${given} }}`, { messages: call({ a: 1 }) })).toBe('{"a":1}');
  });

  test("parts are joined by line breaks, reasoning is separate", async () => {
    const content = [{ type: "thinking", thinking: "hm" }, { type: "text", text: "a" }, "b"];
    const messages = [{ role: "assistant", content }];
    expect(await render("{{ messages[0].reasoning }}|{{ messages[0].content }}", { messages })).toBe("hm|a\nb");
    expect(await render("{{ messages[0].thinking }}|{{ messages[0].reasoning_content }}", { messages })).toBe("hm|hm");
  });

  test("a template that reads parts gets them, except of the results of tools", async () => {
    const parts = [{ type: "text", text: "a" }, "b"];
    const messages = ["user", "tool"].map((role) => ({ role, content: parts }));
    const reading =
      "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}" +
      "{% for part in m.content %}[{{ part.text }}]{% endfor %}{% endif %};{% endfor %}";
    expect(await render(reading, { messages })).toBe("[a][b];a\nb;");
    const open = { messages: messages.slice(0, 1), addGenerationPrompt: false, continueFinalMessage: true };
    expect(await render(`${reading}<end>`, open)).toBe("[a][b");
  });

  test.each([
    ["no list", { messages: { role: "user" } }, "invalid", "messages"],
    ["nothing", { messages: [] }, "invalid", "messages"],
    ["a text", { messages: ["hello"] }, "invalid", "messages.0"],
    ["no role", { messages: [{ content: "a" }] }, "invalid", "messages.0.role"],
    ["a number", { messages: [{ role: "user", content: 5 }] }, "invalid", "messages.0.content"],
    ["a part without kind", { messages: [{ role: "user", content: [{}] }] }, "invalid", "messages.0.content.0"],
    [
      "a picture",
      { messages: [{ role: "user", content: ["look", { type: "image_url", image_url: { url: "x" } }] }] },
      "unsupported",
      "messages.0.content.1",
    ],
    [
      "a sound",
      { messages: [{ role: "user", content: [{ type: "input_audio" }] }] },
      "unsupported",
      "messages.0.content.0",
    ],
    ["calls that are none", { messages: [{ role: "assistant", tool_calls: 1 }] }, "invalid", "messages.0.tool_calls"],
    [
      "a call without name",
      { messages: [{ role: "assistant", tool_calls: [{}] }] },
      "invalid",
      "messages.0.tool_calls.0.function.name",
    ],
    ["a tool without name", { tools: [{ type: "function", function: {} }] }, "invalid", "tools.0.function.name"],
    ["tools that are not a list", { tools: "add" }, "invalid", "tools"],
    ["documents that are not a list", { documents: {} }, "invalid", "documents"],
    ["variables that are none", { kwargs: [] }, "invalid", "kwargs"],
    ["a reserved variable", { kwargs: { messages: [] } }, "invalid", "kwargs.messages"],
    ["both ends", { addGenerationPrompt: true, continueFinalMessage: true }, "invalid", "continueFinalMessage"],
    ["both ends by default", { continueFinalMessage: true }, "invalid", "continueFinalMessage"],
  ])("refused with its location: %s", async (_, request, code, path) => {
    await expect(render(chatMl, request)).rejects.toMatchObject({ name: "HeddleError", code, loc: locOf(path) });
  });

  test("the last message is left open for continuation", async () => {
    const messages = [...conversation, { role: "assistant", content: "Well, " }];
    const open = { messages, addGenerationPrompt: false, continueFinalMessage: true };
    expect(await render(chatMl, open)).toMatch(/<\|im_start\|>assistant\nWell, $/);
    expect(await render(headers, open)).toMatch(/\n\nWell,$/);
    await expect(render("nothing of it", open)).rejects.toThrow("does not contain the last message");
  });
});

test("a template that only allows alternating turns says so", async () => {
  const messages = [
    { role: "user", content: "a" },
    { role: "user", content: "b" },
  ];
  await expect(render(brackets, { messages })).rejects.toThrow("Turns must alternate");
});
