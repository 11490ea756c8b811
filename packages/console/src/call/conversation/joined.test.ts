import { expect, test } from "vitest";
import { joinMessages } from "./joined.js";
import { messagesOf } from "./messages.js";

const user = (text: string) => `{"role":"user","content":"${text}"}`;
const call = (id: string, messages: string[], answer: string) => ({
  id,
  messages: messagesOf({
    inputs: `{"messages":[${messages.join(",")}]}`,
    output: `{"choices":[{"message":${answer}}]}`,
  }),
});

test("the messages of a trace are there once, also where a call is sent what those before it made", () => {
  const response = `{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"t","function":{"name":"f","arguments":"{\\"n\\": 1}"}}]}`;
  const sent = `{"role":"assistant","content":null,"tool_calls":[{"id":"t","function":{"name":"f","arguments":"{\\"n\\":1}"}}]}`;
  const result = `{"role":"tool","tool_call_id":"t","content":"2"}`;
  const { messages: joined } = joinMessages([
    call("a", [user("Q")], response),
    call("b", [user("Q"), sent, result], `{"role":"assistant","content":"A"}`),
  ]);
  expect(joined.map(({ callId, message }) => [callId, message.role, message.parts.at(-1)?.kind])).toEqual([
    ["a", "user", "text"],
    ["a", "assistant", "tool call"],
    ["b", "tool", "tool result"],
    ["b", "assistant", "text"],
  ]);
});

test("the same words said twice are two messages", () => {
  const answer = `{"role":"assistant","content":"A"}`;
  const { messages: joined } = joinMessages([
    call("a", [user("again")], answer),
    call("b", [user("again"), answer, user("again")], answer),
  ]);
  expect(joined.map(({ callId, message }) => `${callId} ${message.role}`)).toEqual([
    "a user",
    "a assistant",
    "b user",
    "b assistant",
  ]);
});

test("what a later part of a long trace was sent of before is not there again", () => {
  const answer = `{"role":"assistant","content":"A"}`;
  const first = joinMessages([call("a", [user("Q")], answer)]);
  const { messages } = joinMessages([call("b", [user("Q"), answer, user("more")], answer)], first.seen);
  expect(messages.map(({ callId, message }) => `${callId} ${message.role}`)).toEqual(["b user", "b assistant"]);
});
