import { expect, test } from "vitest";
import { MessageParser, parseMessage } from "./message-parser.js";
import type { MessageOptions } from "./message-parser.js";

const toolCalls = { format: "hermes" as const, tools: [] };
const options: MessageOptions = { opensReasoning: false, toolCalls, oneToolCall: false };
const call = (name: string) => `<tool_call>\n{"name": "${name}", "arguments": {"a": [1, "}"]}}\n</tool_call>`;
const text = `<think>\nhm\n</think>\nI look.\n${call("one")}\n${call("two")}`;

/** The message of a text that arrives in pieces. */
function streamed(pieces: readonly string[], more: Partial<MessageOptions> = {}) {
  const parser = new MessageParser({ ...options, ...more });
  const deltas = [...pieces.map((piece) => parser.push(piece)), parser.end()];
  const calls: string[] = [];
  for (const part of deltas.flatMap(({ toolCalls }) => toolCalls)) {
    calls[part.index] = (calls[part.index] ?? "") + (part.name ?? "") + part.arguments;
  }
  const joined = (key: "content" | "reasoning") => deltas.map((delta) => delta[key]).join("");
  return { content: joined("content"), reasoning: joined("reasoning"), calls };
}

test.each([1, 2, 3, 7, 100_000])("a message in pieces of %i characters is the same as the whole", (size) => {
  const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
  const { content, reasoning, toolCalls: parsed } = parseMessage(text, options);
  expect([content, reasoning]).toEqual(["I look.", "hm"]);
  expect(parsed).toMatchObject([
    { name: "one", arguments: '{"a": [1, "}"]}' },
    { name: "two", arguments: '{"a": [1, "}"]}' },
  ]);
  const calls = parsed.map((each) => each.name + each.arguments);
  expect(streamed(pieces)).toEqual({ content, reasoning, calls });
  expect(streamed(pieces, { oneToolCall: true }).calls).toEqual(calls.slice(0, 1));
});

test("calls stay text where there are no tools, and reasoning may begin in the prompt", () => {
  const plain = parseMessage(`hm</think>${call("one")}`, { ...options, opensReasoning: true, toolCalls: undefined });
  expect(plain).toEqual({ content: call("one"), reasoning: "hm", toolCalls: [] });
});

test("calls and reasoning are read in the format of the model", () => {
  const written = '[THINK]hm[/THINK]I look.[TOOL_CALLS]one[ARGS]{"a": 1}[TOOL_CALLS]two';
  const reasoningTags = { open: "[THINK]", close: "[/THINK]" };
  const toolCalls = { format: "mistral", tools: [] } as const;
  expect(streamed(Array.from(written), { reasoningTags, toolCalls })).toEqual({
    content: "I look.",
    reasoning: "hm",
    calls: ['one{"a": 1}', "two{}"],
  });
});
