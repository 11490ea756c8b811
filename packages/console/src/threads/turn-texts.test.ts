import { expect, test } from "vitest";
import { saidByAssistant, saidByUser } from "./turn-texts.js";

test("of the inputs of a turn, what the user said in it", () => {
  expect(saidByUser('{"question":"Where is my parcel?","customer":8841}')).toEqual({ text: "Where is my parcel?" });
  const history = '[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]';
  expect(saidByUser(`{"model":"m","messages":${history}}`)).toEqual({ text: "c" });
  const parts = '[{"role":"user","content":[{"type":"text","text":"Look"},{"type":"image_url"},{"text":"here"}]}]';
  expect(saidByUser(`{"messages":${parts}}`)).toEqual({ text: "Look\nhere" });
  expect(saidByUser('{"n":1.0,"words":"only one"}')).toEqual({ text: "only one" });
  expect(saidByUser('{"message":{"content":"hi"}}')).toEqual({ text: "hi" });
});

test("the last message of a conversation of any length", () => {
  const message = (content: string) => `{"role":"user","content":"${content}"}`;
  const history = Array.from({ length: 1200 }, (_, n) => message(`said ${n}`)).join(",");
  expect(saidByUser(`{"messages":[${history}]}`)).toEqual({ text: "said 1199" });
});

test("of its output, what was answered", () => {
  expect(saidByAssistant('"On its way."')).toEqual({ text: "On its way." });
  expect(saidByAssistant('{"choices":[{"message":{"role":"assistant","content":"Yes"}}]}')).toEqual({ text: "Yes" });
  expect(saidByAssistant('{"answer":"It left.","sources":[1,2]}')).toEqual({ text: "It left." });
});

test("what cannot be told apart stays as it was sent, to the digit", () => {
  expect(saidByUser('{"a":"x","b":"y","price":1.0}')).toEqual({ json: '{"a":"x","b":"y","price":1.0}' });
  expect(saidByAssistant("[1.0, 107505301260286111]")).toEqual({ json: "[1.0, 107505301260286111]" });
  expect(saidByAssistant('{"choices":[{}]}')).toEqual({ json: '{"choices":[{}]}' });
  expect([saidByUser("{}"), saidByUser(undefined), saidByAssistant("null")]).toEqual([undefined, undefined, undefined]);
});
