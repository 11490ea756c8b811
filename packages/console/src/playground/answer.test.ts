import { expect, test } from "vitest";
import { messageOf, noAnswer, withChunk } from "./answer.js";

const chunk = (delta: unknown, rest: object = {}) => ({ choices: [{ index: 0, delta, ...rest }] });

test("text, reasoning and tool calls grow chunk by chunk", () => {
  const tool = (index: number, name: string, given: string) => ({
    tool_calls: [{ index, ...(name !== "" && { id: `id-${name}` }), function: { name, arguments: given } }],
  });
  const answer = [
    chunk({ role: "assistant", content: "It " }),
    chunk({ content: "left.", reasoning_content: "Hm" }),
    chunk(tool(0, "get", '{"a"')),
    chunk(tool(0, "", ": 1}")),
    chunk(tool(1, "put", "{}")),
    chunk({}, { finish_reason: "tool_calls" }),
    { choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } },
  ].reduce(withChunk, noAnswer);
  expect(answer).toEqual({
    choices: [
      {
        text: "It left.",
        reasoning: "Hm",
        tools: [
          { id: "id-get", name: "get", arguments: '{"a": 1}' },
          { id: "id-put", name: "put", arguments: "{}" },
        ],
        finish: "tool_calls",
      },
    ],
    tokens: { prompt: 3, completion: 4 },
  });
  expect(JSON.parse(messageOf(answer.choices[0] as never))).toMatchObject({ tool_calls: [{ id: "id-get" }, {}] });
});

test.each([null, 1, "text", [], {}, { choices: "none" }])("%j is not a chunk, and that is said", (garbage) => {
  expect(() => withChunk(noAnswer, garbage)).toThrow("something else than a chunk");
});

test("garbage inside of a chunk changes nothing and takes no memory", () => {
  for (const choices of [
    [null, 1, "x"],
    [{ index: 1e9, delta: { content: "x" } }],
    [{ index: -1, delta: { content: "x" } }],
    [{ index: 0.5, delta: { content: "x" } }],
  ])
    expect(withChunk(noAnswer, { choices }).choices).toEqual([]);
  const odd = withChunk(noAnswer, chunk({ content: 5, tool_calls: [null, { index: 1e9 }] }));
  expect(odd.choices).toEqual([{ text: "", reasoning: "", tools: [], finish: "" }]);
});
