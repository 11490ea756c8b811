import { describe, expect, test } from "vitest";
import { toolCallFormat } from "./detect-format.js";
import type { ToolCallFormat } from "./tool-call.js";
import { parseToolCalls, toolCallStream } from "./tool-call-stream.js";

const tools = [
  {
    type: "function",
    function: {
      name: "f",
      parameters: {
        type: "object",
        properties: {
          text: { type: "string" },
          count: { type: "integer" },
          ratio: { type: ["number", "null"] },
          flag: { type: "boolean" },
          list: { anyOf: [{ type: "array" }, { type: "string" }] },
        },
      },
    },
  },
];

type Call = [name: string, given: string];

const cases: Record<ToolCallFormat, [title: string, text: string, content: string, calls: Call[]][]> = {
  hermes: [["a call", 'Hi <tool_call>{"name":"f","arguments":{"a":1}}</tool_call>', "Hi", [["f", '{"a":1}']]]],
  deepseek: [
    [
      "calls in fences, of type function",
      'Look.\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{"a": 1}\n```<｜tool▁call▁end｜>\n' +
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
      "Look.",
      [
        ["f", '{"a": 1}'],
        ["g", "{}"],
      ],
    ],
    [
      "calls without fences",
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": "<x>"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
      "",
      [["f", '{"a": "<x>"}']],
    ],
    ["no arguments", "<｜tool▁call▁begin｜>f<｜tool▁sep｜><｜tool▁call▁end｜>", "", [["f", "{}"]]],
    ["a call without end", 'A <｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": 1}', "A", [["f", '{"a": 1}']]],
    [
      "malformed arguments",
      "A <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{a<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
      "A <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{a<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
      [],
    ],
    ["no name", "<｜tool▁call▁begin｜>{}<｜tool▁call▁end｜>", "<｜tool▁call▁begin｜>{}<｜tool▁call▁end｜>", []],
  ],
  mistral: [
    [
      "a list",
      '[TOOL_CALLS] [{"name": "f", "arguments": {"a": [1, "]"]}}, {"name": "g", "arguments": {}, "id": "abc"}]',
      "",
      [
        ["f", '{"a": [1, "]"]}'],
        ["g", "{}"],
      ],
    ],
    [
      "names before arguments",
      'Look.[TOOL_CALLS]f[ARGS]{"a": 1}[TOOL_CALLS]g[CALL_ID]x1[ARGS]{}[TOOL_CALLS]h{"b": 2}',
      "Look.",
      [
        ["f", '{"a": 1}'],
        ["g", "{}"],
        ["h", '{"b": 2}'],
      ],
    ],
    ["no arguments", "[TOOL_CALLS]f", "", [["f", "{}"]]],
    ["a list without end", '[TOOL_CALLS][{"name": "f"', '[TOOL_CALLS][{"name": "f"', []],
    ["malformed arguments", 'A[TOOL_CALLS]f[ARGS]{"a": ', 'A[TOOL_CALLS]f[ARGS]{"a": ', []],
    ["text in a list", '[TOOL_CALLS][{"name": "f"}, x]', '[TOOL_CALLS][{"name": "f"}, x]', []],
  ],
  "tagged-list": [
    [
      "the list of Granite, without an end",
      'Look. <|tool_call|>[{"name": "f", "arguments": {"a": "]"}}, {"arguments": {}, "name": "g"}]',
      "Look.",
      [
        ["f", '{"a": "]"}'],
        ["g", "{}"],
      ],
    ],
    [
      "the list of Phi-4-mini",
      '<|tool_call|>[{"name": "f", "parameters": {"a": 1}}]<|/tool_call|>',
      "",
      [["f", '{"a": 1}']],
    ],
    ["a list that is cut off", '<|tool_call|>[{"name": "f"', '<|tool_call|>[{"name": "f"', []],
    ["no list", "<|tool_call|>f<|/tool_call|>", "<|tool_call|>f<|/tool_call|>", []],
  ],
  functools: [
    [
      "a list",
      'functools[{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]',
      "",
      [
        ["f", '{"a": 1}'],
        ["g", "{}"],
      ],
    ],
    ["the module", "functools is a module", "functools is a module", []],
    ["a subscript", "functools[0]", "functools[0]", []],
  ],
  harmony: [
    [
      "a recipient after the channel",
      '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>',
      "",
      [["f", '{"a": 1}']],
    ],
    [
      "a recipient before the channel, as templates write it",
      ' to=functions.g<|channel|>commentary json<|message|>{"a": "<|x|>"}',
      "",
      [["g", '{"a": "<|x|>"}']],
    ],
    [
      "a call after a text",
      "Look.<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
      "Look.",
      [["f", "{}"]],
    ],
    ["malformed arguments", "to=functions.f<|message|>{a<|call|>", "to=functions.f<|message|>{a<|call|>", []],
    ["a text without a message", "to=functions.f", "to=functions.f", []],
  ],
  "llama-json": [
    ["an object", '{"name": "f", "parameters": {"a": 1}}', "", [["f", '{"a": 1}']]],
    ["after the tag", '<|python_tag|>{"name": "f", "parameters": {"a": "}"}}', "", [["f", '{"a": "}"}']]],
    [
      "several",
      '{"name": "f", "parameters": {}}; {"name": "g", "parameters": null}\n',
      "",
      [
        ["f", "{}"],
        ["g", "{}"],
      ],
    ],
    ["code", "<|python_tag|>print(1)", "<|python_tag|>print(1)", []],
    ["an object that is not a call", '{"answer": 42}', '{"answer": 42}', []],
    ["an object after text", 'So: {"name": "f"}', 'So: {"name": "f"}', []],
    ["text after an object", '{"name": "f"} is it', '{"name": "f"} is it', []],
    ["an object without end", '{"name": "f", "parameters": {', '{"name": "f", "parameters": {', []],
  ],
  "argument-tags": [
    [
      "values of the declared types",
      "Look.\n<tool_call>f\n<arg_key>text</arg_key>\n<arg_value>12</arg_value>\n<arg_key>count</arg_key>\n<arg_value>12</arg_value>\n" +
        "<arg_key>ratio</arg_key>\n<arg_value>1.0</arg_value>\n<arg_key>list</arg_key>\n<arg_value>[1]</arg_value>\n</tool_call>",
      "Look.",
      [["f", '{"text": "12", "count": 12, "ratio": 1.0, "list": [1]}']],
    ],
    [
      "values of unknown types",
      '<tool_call>g<arg_key>a</arg_key><arg_value>x "y"\n</arg_value><arg_key>b</arg_key><arg_value>{"c": 1}</arg_value></tool_call>',
      "",
      [["g", '{"a": "x \\"y\\"\\n", "b": {"c": 1}}']],
    ],
    ["no arguments", "<tool_call>g\n</tool_call>", "", [["g", "{}"]]],
    [
      "a key without value",
      "<tool_call>g<arg_key>a</arg_key></tool_call>",
      "<tool_call>g<arg_key>a</arg_key></tool_call>",
      [],
    ],
    ["a sentence", "<tool_call>not a call</tool_call>", "<tool_call>not a call</tool_call>", []],
  ],
  "function-tags": [
    [
      "values of the declared types",
      "<tool_call>\n<function=f>\n<parameter=text>\n<b>\nTrue\n</parameter>\n<parameter=flag>\nTrue\n</parameter>\n" +
        "<parameter=ratio>\nNone\n</parameter>\n<parameter=list>\nx\n</parameter>\n</function>\n</tool_call>",
      "",
      [["f", '{"text": "<b>\\nTrue", "flag": true, "ratio": null, "list": "x"}']],
    ],
    ["no arguments", "<tool_call>\n<function=g>\n</function>\n</tool_call>", "", [["g", "{}"]]],
    [
      "text inside",
      "<tool_call><function=g>x</function></tool_call>",
      "<tool_call><function=g>x</function></tool_call>",
      [],
    ],
  ],
  pythonic: [
    [
      "calls",
      "[f(text='it\\'s', count=-3, ratio=1.50, flag=True, list=[None, (1, 2), {'a': \"b\"}]), pkg.g()]",
      "",
      [
        ["f", '{"text": "it\'s", "count": -3, "ratio": 1.50, "flag": true, "list": [null, [1, 2], {"a": "b"}]}'],
        ["pkg.g", "{}"],
      ],
    ],
    ["a list that is not a call", "[1, 2]", "[1, 2]", []],
    ["an empty list", "[]", "[]", []],
    ["positional arguments", "[f(1)]", "[f(1)]", []],
    ["text after the list", "[f()] is it", "[f()] is it", []],
    ["a list without end", "[f(a=1)", "[f(a=1)", []],
    ["code", "[f(a=__import__('os'))]", "[f(a=__import__('os'))]", []],
  ],
  "tagged-pythonic": [
    [
      "calls",
      'Look.<|tool_call_start|>[f(text="é\\n", count=1e3), g()]<|tool_call_end|> Done.',
      "Look.Done.",
      [
        ["f", '{"text": "é\\n", "count": 1e3}'],
        ["g", "{}"],
      ],
    ],
    ["no list", "<|tool_call_start|>f()<|tool_call_end|>", "<|tool_call_start|>f()<|tool_call_end|>", []],
  ],
};

const all = Object.entries(cases).flatMap(([format, list]) =>
  list.map(([title, text, content, calls]) => ({ format: format as ToolCallFormat, title, text, content, calls })),
);

test.each(all)("$format: $title", ({ format, text, content, calls }) => {
  const parsed = parseToolCalls(text, { format, tools });
  expect(parsed.content).toBe(content);
  expect(parsed.toolCalls.map((call) => [call.name, call.arguments])).toEqual(calls);
});

test.each(all)("$format: $title, character by character", ({ format, text, content, calls }) => {
  const stream = toolCallStream({ format, tools });
  const deltas = [...Array.from(text, (character) => stream.push(character)), stream.end()];
  expect(deltas.map((delta) => delta.content).join("")).toBe(content);
  const found: string[][] = [];
  for (const { index, name = "", arguments: piece } of deltas.flatMap((delta) => delta.toolCalls)) {
    const [known, given] = found[index] ?? [name, ""];
    found[index] = [known ?? "", given + piece];
  }
  expect(found).toEqual(calls);
});

test("a long malformed text remains text", () => {
  const texts: [ToolCallFormat, string][] = [
    ["argument-tags", `<tool_call>f${"<arg_key>a</arg_key><arg_value>".repeat(30_000)}`],
    ["function-tags", `<tool_call><function=f>${"<parameter=a>".repeat(30_000)}`],
    ["llama-json", `{"${'\\"'.repeat(300_000)}`],
    ["pythonic", `[f(a="${"\\".repeat(600_001)}`],
    ["deepseek", `<｜tool▁call▁begin｜>f<｜tool▁sep｜>${"```json".repeat(30_000)}`],
    ["deepseek", `<｜tool▁call▁begin｜>f<｜tool▁sep｜>\n\`\`\`json${" ".repeat(300_000)}x\`\`\``],
    ["mistral", `[TOOL_CALLS]f${" ".repeat(300_000)}x`],
  ];
  for (const [format, text] of texts)
    expect(parseToolCalls(text, { format, tools })).toEqual({ content: text, toolCalls: [] });
});

test("a call is returned as soon as it is complete", () => {
  const stream = toolCallStream({ format: "deepseek", newId: () => "id" });
  expect(stream.push("A <｜tool▁call▁begin｜>f<｜tool▁sep｜>{}")).toEqual({ content: "A", toolCalls: [] });
  expect(stream.push("<｜tool▁call▁end｜>").toolCalls).toEqual([{ index: 0, id: "id", name: "f", arguments: "{}" }]);
});

describe("the format is detected from the template", () => {
  test.each([
    ["hermes", "{{ '<tool_call>' ~ call | tojson }}"],
    ["function-tags", "{{ '<tool_call><function=' ~ name ~ '><parameter=' ~ key }}"],
    ["argument-tags", "{{ '<tool_call>' ~ name ~ '<arg_key>' ~ key }}"],
    ["mistral", "{{ '[TOOL_CALLS]' ~ name ~ '[ARGS]' }}"],
    ["deepseek", "{{ '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' }}"],
    ["llama-json", `{% if role == "ipython" %}{% endif %}{{ '{"name": "' ~ name ~ '", "parameters": ' }}`],
    ["pythonic", "Use the format [func_name1(a=1), func_name2()]"],
    ["tagged-pythonic", "{{ '<|tool_call_start|>[' ~ name ~ '(' }}"],
    ["tagged-list", "Respond only with <|tool_call|> followed by a JSON list of tools used."],
    ["tagged-list", "{{ '<|tool|>' + message['tools'] + '<|/tool|>' }}"],
    ["functools", "functools[{name: function name, arguments: dictionary of argument name and its value}]"],
    ["harmony", `{{ "<|start|>assistant to=functions." ~ name ~ "<|channel|>commentary json<|message|>" }}`],
    [undefined, "{{ message.content }}"],
  ])("%s", (format, template) => {
    expect(toolCallFormat(template)).toBe(format);
  });
});
