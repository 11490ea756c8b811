import { expect, test } from "vitest";
import { isOwnImage, messagesOf } from "./messages.js";

const image = "data:image/png;base64,AAAA";

test("a chat completion with tools, reasoning and an image", () => {
  const inputs = `{"model":"m","messages":[
    {"role":"system","content":"Be brief."},
    {"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"${image}"}}]},
    {"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"look","arguments":"{\\"n\\": 1.0}"}}]},
    {"role":"tool","tool_call_id":"t1","content":"a cat"}]}`;
  const output = `{"choices":[{"message":{"role":"assistant","reasoning_content":"Cats purr.","content":"A cat."}}]}`;
  expect(messagesOf({ inputs, output })).toEqual([
    { role: "system", isOutput: false, parts: [{ kind: "text", text: "Be brief." }] },
    {
      role: "user",
      isOutput: false,
      parts: [
        { kind: "text", text: "What is it?" },
        { kind: "image", url: image },
      ],
    },
    {
      role: "assistant",
      isOutput: false,
      parts: [{ kind: "tool call", name: "look", id: "t1", json: String.raw`"{\"n\": 1.0}"` }],
    },
    { role: "tool", isOutput: false, parts: [{ kind: "tool result", id: "t1", json: '"a cat"' }] },
    {
      role: "assistant",
      isOutput: true,
      parts: [
        { kind: "reasoning", text: "Cats purr." },
        { kind: "text", text: "A cat." },
      ],
    },
  ]);
});

const forms = {
  anthropic: {
    inputs: `{"system":"S","messages":[{"role":"user","content":"Q"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"R"}]}]}`,
    output: `{"role":"assistant","content":[{"type":"thinking","thinking":"T"},{"type":"text","text":"A"},{"type":"tool_use","id":"t","name":"f","input":{"n":1.0}}]}`,
  },
  responses: {
    inputs: `{"model":"m","instructions":"S","input":[{"role":"user","content":[{"type":"input_text","text":"Q"}]},{"type":"function_call_output","call_id":"t","output":"R"}]}`,
    output: `{"output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"T"}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"A"}]},{"type":"function_call","call_id":"t","name":"f","arguments":{"n":1.0}}]}`,
  },
  gemini: {
    inputs: `{"systemInstruction":{"parts":[{"text":"S"}]},"contents":[{"role":"user","parts":[{"text":"Q"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":"R"}}]}]}`,
    output: `{"candidates":[{"content":{"role":"model","parts":[{"text":"A"},{"functionCall":{"name":"f","args":{"n":1.0}}}]}}]}`,
  },
  parts: {
    inputs: `{"input_messages":[{"role":"system","parts":[{"type":"text","content":"S"}]},{"role":"user","parts":[{"type":"text","content":"Q"}]},{"role":"tool","parts":[{"type":"tool_call_response","id":"t","response":"R"}]}]}`,
    output: `{"output_messages":[{"role":"assistant","parts":[{"type":"reasoning","content":"T"},{"type":"text","content":"A"},{"type":"tool_call","id":"t","name":"f","arguments":{"n":1.0}}]}]}`,
  },
};

test.each(Object.entries(forms))("the form of %s has question, result, answer and tool call", (_, call) => {
  const messages = messagesOf(call);
  const all = messages.flatMap(({ parts }) => parts);
  const texts = all.flatMap((part) => (part.kind === "text" ? [part.text] : []));
  expect(texts).toEqual(["S", "Q", "A"]);
  expect(JSON.stringify(all.filter(({ kind }) => kind === "tool result"))).toContain("R");
  expect(all.find(({ kind }) => kind === "tool call")).toMatchObject({ name: "f", json: '{"n":1.0}' });
  expect(messages.at(-1)?.isOutput).toBe(true);
});

test("calls that are none of a model have no messages, whatever they hold", () => {
  for (const inputs of [
    "{}",
    "[]",
    "null",
    '{"messages":1}',
    '{"messages":[1,"x",{}]}',
    '{"input":"text"}',
    '{"system":null}',
  ])
    expect(messagesOf({ inputs, output: '{"content":"x"}' })).toEqual([]);
  expect(messagesOf({ inputs: `{"messages":[{"role":"user","content":"${"x".repeat(2_000_000)}"}]}` })).toEqual([]);
});

test("only images that are drawn and part of the message are shown", () => {
  expect(isOwnImage(image)).toBe(true);
  for (const url of [
    "https://a.example/x.png",
    "data:image/svg+xml;base64,AAAA",
    "data:text/html;base64,AAAA",
    "javascript:1",
  ])
    expect(isOwnImage(url)).toBe(false);
});
