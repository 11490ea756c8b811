import { expect, test } from "vitest";
import { trainRequest } from "./train-request.js";

const reward = { feedback_type: "wandb.reaction.1", path: "emoji" };
const chosen = { model: "m", calls: { limit: 3 }, reward, groupBy: "inputs.messages", least: 0.2 };
const request = { model_id: "m", calls: { limit: 3 } };

test("the least reward means what the kind of training makes of it", () => {
  expect(trainRequest({ ...chosen, kind: "rl" })).toEqual({
    of: "rl",
    body: { ...request, reward, group_by: "inputs.messages" },
  });
  expect(trainRequest({ ...chosen, kind: "sft" })?.body).toEqual({ ...request, reward, min_reward: 0.2 });
  expect(trainRequest({ ...chosen, kind: "dpo" })).toEqual({
    of: "preference",
    body: { ...request, reward, min_margin: 0.2, config: { objective: "dpo" } },
  });
  expect(trainRequest({ ...chosen, kind: "kto" })?.body).toMatchObject({
    min_reward: 0.2,
    config: { objective: "kto" },
  });
});

test("without a reward only examples can be asked for, and nothing with a number that is none", () => {
  const without = { ...chosen, reward: undefined };
  expect(trainRequest({ ...without, kind: "sft" })?.body).toEqual(request);
  for (const kind of ["rl", "dpo", "kto"] as const) expect(trainRequest({ ...without, kind })).toBeUndefined();
  expect(trainRequest({ ...chosen, kind: "dpo", least: Number.NaN })).toBeUndefined();
  expect(trainRequest({ ...chosen, kind: "rl", groupBy: "" })).toBeUndefined();
  expect(trainRequest({ ...chosen, kind: "sft", model: "" })).toBeUndefined();
});
