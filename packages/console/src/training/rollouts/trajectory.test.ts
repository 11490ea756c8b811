import type { Rollout } from "@heddle/client/training";
import { expect, test } from "vitest";
import { groupsOf, ordered } from "./groups.js";
import { tokenLines, turnsOf } from "./trajectory.js";

test("a trajectory is its messages and what was sampled, token by token", () => {
  const sampled = {
    finish_reason: "stop",
    message: { role: "assistant", content: "yes" },
    logprobs: {
      content: [
        { token: "token_id:121", logprob: -0.5, bytes: null },
        { token: "e", logprob: -9000, bytes: [101] },
        { token: "<b>", logprob: "-1" },
      ],
    },
  };
  const trajectory = {
    messages_and_choices: [{ role: "user", content: [{ type: "text", text: "yes?" }, { type: "image_url" }] }, sampled],
    additional_histories: [{ messages_and_choices: [{ role: "tool", content: "42" }] }, null],
  };
  expect(turnsOf(trajectory)).toEqual([
    { role: "user", text: "yes?\n[image_url]", tokens: undefined, finish: undefined },
    {
      role: "assistant",
      text: "yes",
      finish: "stop",
      tokens: [
        { text: "#121", logprob: -0.5 },
        { text: "e", logprob: undefined },
        { text: "<b>", logprob: undefined },
      ],
    },
    { role: "tool", text: "42", tokens: undefined, finish: undefined },
  ]);
});

test.each([null, [], "text", { messages_and_choices: "no list" }])("%j has no turns", (trajectory) => {
  expect(turnsOf(trajectory)).toEqual([]);
});

test("lines have every token once, however long one is", () => {
  const tokens = Array.from({ length: 50_000 }, (_, index) => ({
    text: index === 77 ? "w".repeat(10_000) : "ab",
    logprob: -1,
  }));
  const lines = tokenLines(tokens, 30);
  expect(lines[0]).toEqual([0, 10]);
  expect(lines.at(-1)?.[1]).toBe(50_000);
  expect(lines.every(([first], index) => first === (lines[index - 1]?.[1] ?? 0))).toBe(true);
});

test("groups are added up, and equal ones are known", () => {
  const rollout = (group: number, index: number, reward: number) =>
    ({ id: `${group}.${index}`, group, index, reward, advantage: 0 }) as Rollout;
  const rollouts = [rollout(0, 0, 0), rollout(1, 0, 0.5), rollout(0, 1, 1), rollout(1, 1, 0.5)];
  expect([...groupsOf(rollouts).values()]).toEqual([
    { group: 0, count: 2, mean: 0.5, least: 0, greatest: 1, isEqual: false },
    { group: 1, count: 2, mean: 0.5, least: 0.5, greatest: 0.5, isEqual: true },
  ]);
  expect(ordered(rollouts, "group").map(({ id }) => id)).toEqual(["0.1", "0.0", "1.0", "1.1"]);
  expect(ordered(rollouts, "reward")[0]?.id).toBe("0.1");
});
