import { expect, test } from "vitest";
import { rewardSources } from "./reward-sources.js";

test("numbers and yes or no of feedback can be rewards, the most given first", () => {
  const sources = rewardSources([
    { feedback_type: "wandb.reaction.1", payload: { emoji: "👍" } },
    { feedback_type: "wandb.runnable.judge", payload: { output: { score: 0.5, why: "late", ok: true }, "a.b": 1 } },
    { feedback_type: "wandb.annotation.good", payload: { value: 1 } },
    { feedback_type: "wandb.annotation.good", payload: { value: true } },
    { feedback_type: "odd", payload: null },
    { feedback_type: "odd", payload: 3 },
    { feedback_type: "deep", payload: { a: { b: { c: { d: { e: 1 } } } } } },
  ]);
  expect(sources.map(({ feedback_type, path }) => `${feedback_type} ${path}`)).toEqual([
    "wandb.annotation.good value",
    "wandb.reaction.1 emoji",
    "wandb.runnable.judge output.score",
    "wandb.runnable.judge output.ok",
  ]);
});

test("thumbs are rewards, other reactions are not", () => {
  const reaction = (emoji: unknown) => ({ feedback_type: "wandb.reaction.1", payload: { emoji } });
  expect(rewardSources([reaction("🎉"), reaction(null)])).toEqual([]);
  expect(rewardSources([reaction("👎🏽"), reaction("🎉")])).toEqual([
    { feedback_type: "wandb.reaction.1", path: "emoji" },
  ]);
});
