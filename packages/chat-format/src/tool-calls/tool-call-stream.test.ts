import { expect, test } from "vitest";
import { parseToolCalls, toolCallStream } from "./tool-call-stream.js";

function counted(): () => string {
  let calls = 0;
  return () => `id-${calls++}`;
}

const one = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": [2, "}"]}}\n</tool_call>';
const cases: [string, string, string, [name: string, given: string][]][] = [
  ["no call", "Just text <tool", "Just text <tool", []],
  ["one call", one, "", [["add", '{"a": 1, "b": [2, "}"]}']]],
  ["text before a call", `I add.\n${one}`, "I add.", [["add", '{"a": 1, "b": [2, "}"]}']]],
  [
    "text around calls",
    `A ${one}\n${one}\n B C\n`,
    "AB C\n",
    [
      ["add", '{"a": 1, "b": [2, "}"]}'],
      ["add", '{"a": 1, "b": [2, "}"]}'],
    ],
  ],
  [
    "arguments before the name",
    '<tool_call>{"arguments":{"x":"é\\"{"},"name":"f"}</tool_call>',
    "",
    [["f", '{"x":"é\\"{"}']],
  ],
  ["arguments that are null", '<tool_call>{"name":"f","arguments": null}</tool_call>', "", [["f", "{}"]]],
  ["no arguments", '<tool_call>{"name":"now"}</tool_call>', "", [["now", "{}"]]],
  ["other words for arguments", '<tool_call>{"name":"f","parameters":{"a":1}}</tool_call>', "", [["f", '{"a":1}']]],
  [
    "members that mean nothing",
    '<tool_call>{"id":{"name":"no"},"x":null,"name":"f","arguments":{}}</tool_call>',
    "",
    [["f", "{}"]],
  ],
  ["a name with escapes", '<tool_call>{"name":"a\\u0062","arguments":{}}</tool_call>', "", [["ab", "{}"]]],
  [
    "arguments that are text",
    '<tool_call>{"name":"f","arguments":"{\\"a\\":1}"}</tool_call>',
    "",
    [["f", '"{\\"a\\":1}"']],
  ],
  ["arguments that are a number", '<tool_call>{"name":"f","arguments": 12 }</tool_call>', "", [["f", "12"]]],
  [
    "arguments that are not JSON",
    '<tool_call>{"name":"f","arguments":{a: 1, \'b\'}}</tool_call>',
    "",
    [["f", "{a: 1, 'b'}"]],
  ],
  ["arguments without end", '<tool_call>{"name":"f","arguments":{"a": "x</tool_call>', "", [["f", '{"a": "x']]],
  ["a call without end", 'So: <tool_call>{"name":"f","arguments":{"a":1}}', "So:", [["f", '{"a":1}']]],
  [
    "a call without a name",
    'A <tool_call>{"arguments":{}}</tool_call> B',
    'A <tool_call>{"arguments":{}}</tool_call> B',
    [],
  ],
  ["a call that is not an object", "<tool_call>f(1)</tool_call>", "<tool_call>f(1)</tool_call>", []],
  ["an empty call", "<tool_call></tool_call>", "<tool_call></tool_call>", []],
  ["nothing", "", "", []],
];

test.each(cases)("%s", (_, text, content, calls) => {
  const toolCalls = calls.map(([name, given], index) => ({ id: `id-${index}`, name, arguments: given }));
  expect(parseToolCalls(text, { newId: counted() })).toEqual({ content, toolCalls });
});

test.each(cases)("%s, character by character", (_, text, content, calls) => {
  const stream = toolCallStream({ newId: counted() });
  const deltas = [...Array.from(text, (character) => stream.push(character)), stream.end()];
  expect(deltas.map((delta) => delta.content).join("")).toBe(content);
  const pieces = deltas.flatMap((delta) => delta.toolCalls);
  const received = calls.map((_call, index) => pieces.filter((piece) => piece.index === index));
  expect(received.map((list) => [list[0]?.name, list.map((piece) => piece.arguments).join("")])).toEqual(calls);
  expect(received.map((list) => list.map((piece) => piece.id).filter(Boolean))).toEqual(
    calls.map((_call, index) => [`id-${index}`]),
  );
});

test("arguments are passed on as soon as the name is known", () => {
  const stream = toolCallStream({ newId: counted() });
  expect(stream.push('Well <tool_call>{"name": "f", ')).toEqual({ content: "Well", toolCalls: [] });
  expect(stream.push('"arguments": {"a"')).toEqual({
    content: "",
    toolCalls: [{ index: 0, id: "id-0", name: "f", arguments: '{"a"' }],
  });
  expect(stream.push(": 1}}</tool")).toEqual({ content: "", toolCalls: [{ index: 0, arguments: ": 1}" }] });
  expect(stream.push("_call>")).toEqual({ content: "", toolCalls: [] });
  expect(stream.end()).toEqual({ content: "", toolCalls: [] });
});

test("every call gets an id of its own", () => {
  const { toolCalls } = parseToolCalls(one + one);
  expect(new Set(toolCalls.map((call) => call.id)).size).toBe(2);
});
