import { expect, test } from "vitest";
import { endsInReasoning, reasoningStream, reasoningTags, splitReasoning } from "./reasoning.js";

const cases: [string, string, boolean, string | undefined, string][] = [
  ["no think block", "Hello <think>x</think>", false, undefined, "Hello <think>x</think>"],
  ["a block before the answer", "<think>\nhm\n\nwell\n</think>\n\nYes\n", false, "hm\n\nwell", "Yes\n"],
  ["white space before the block", "\n <think>a</think>b", false, "a", "b"],
  ["an empty block", "<think>\n\n</think>\n\nYes", false, "", "Yes"],
  ["a block that never ends", "<think>\nhm </thi\n", false, "hm </thi", ""],
  ["a block that the prompt began", "\nhm\n</think>Yes", true, "hm", "Yes"],
  ["a prompt's block that never ends", "hm", true, "hm", ""],
  ["only the beginning of a tag", "<thin", false, undefined, "<thin"],
  ["nothing", "", false, undefined, ""],
  ["only white space", " \n", false, undefined, " \n"],
];

test.each(cases)("%s", (_, text, open, reasoning, content) => {
  expect(splitReasoning(text, { open })).toEqual({ reasoning, content });
});

test.each(cases)("%s, character by character", (_, text, open, reasoning, content) => {
  const stream = reasoningStream({ open });
  const deltas = [...Array.from(text, (character) => stream.push(character)), stream.end()];
  expect(deltas.map((delta) => delta.reasoning).join("")).toBe(reasoning ?? "");
  expect(deltas.map((delta) => delta.content).join("")).toBe(content);
  expect(stream.hasReasoning).toBe(reasoning !== undefined);
});

const harmony = reasoningTags("<|start|>assistant<|channel|>analysis<|message|>");
const end = "<|end|><|start|>assistant";
const channels: [string, string, string | undefined, string][] = [
  ["reasoning and an answer", `<|channel|>analysis<|message|>hm${end}<|channel|>final<|message|>Yes`, "hm", "Yes"],
  ["an answer alone", "<|channel|>final<|message|>Yes <|end|>", undefined, "Yes <|end|>"],
  ["a text that resembles a channel", "<|channel|>fine", undefined, "<|channel|>fine"],
  ["a text before a call", `<|channel|>commentary<|message|>Look.${end} to=x`, undefined, `Look.${end} to=x`],
  ["reasoning that never ends", "<|channel|>analysis<|message|>hm", "hm", ""],
];

test.each(channels)("gpt-oss: %s", (_, text, reasoning, content) => {
  expect(splitReasoning(text, { tags: harmony })).toEqual({ reasoning, content });
  const stream = reasoningStream({ tags: harmony });
  const deltas = [...Array.from(text, (character) => stream.push(character)), stream.end()];
  expect(deltas.map((delta) => delta.reasoning).join("")).toBe(reasoning ?? "");
  expect(deltas.map((delta) => delta.content).join("")).toBe(content);
});

test("reasoning is streamed, except text that could be the end tag", () => {
  const stream = reasoningStream();
  expect(stream.push("<think>one")).toEqual({ reasoning: "one", content: "" });
  expect(stream.push(" two\n</")).toEqual({ reasoning: " two", content: "" });
  expect(stream.push("b>")).toEqual({ reasoning: "\n</b>", content: "" });
  expect(stream.push("</think>three")).toEqual({ reasoning: "", content: "three" });
});

test("only a think tag at its very end leaves a prompt in the block", () => {
  expect(endsInReasoning("<|im_start|>assistant\n<think>\n")).toBe(true);
  expect(endsInReasoning("what is <think>?<|im_start|>assistant\n")).toBe(false);
  expect(endsInReasoning("<think>\n\n</think>\n\n")).toBe(false);
});

test.each([
  ["{{ '[THINK]' + message.reasoning + '[/THINK]' }}", "[THINK]", "[/THINK]"],
  ["{{ '<seed:think>' }}{{ '</seed:think>' }}", "<seed:think>", "</seed:think>"],
  ["{{ '<|START_THINKING|><|END_THINKING|>' }}", "<|START_THINKING|>", "<|END_THINKING|>"],
  ["{{ message.content.split('</think>') }}", "<think>", "</think>"],
  ["{{ message.content }}", "<think>", "</think>"],
])("the tags of the template %s", (template, open, close) => {
  const tags = reasoningTags(template);
  expect(tags).toEqual({ open, close });
  expect(splitReasoning(`${open}hm${close}Yes`, { tags })).toEqual({ reasoning: "hm", content: "Yes" });
  expect(splitReasoning(`hm${close}Yes`, { tags, open: endsInReasoning(`a${open}`, tags) }).reasoning).toBe("hm");
});
