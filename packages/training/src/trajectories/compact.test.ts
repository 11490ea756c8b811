import { expect, test } from "vitest";
import { compactTrajectory } from "./compact.js";

const entry = (token: string, logprob: number) => ({ token, logprob, bytes: [1], top_logprobs: [{ token, logprob }] });
const choice = (more: object) => ({ finish_reason: "stop", message: { role: "assistant", content: "a" }, ...more });
const compact = (...elements: unknown[]) =>
  (compactTrajectory({ messages_and_choices: elements, logs: ["x"] }) as { messages_and_choices: unknown[] })
    .messages_and_choices;

test("tokens that are given by ids become lists of numbers", () => {
  const entries = [entry("token_id:7", -0.5), entry("token_id:0", -9999)];
  const [message, sampled, named, exact] = compact(
    { role: "user", content: "q" },
    choice({ logprobs: { content: entries } }),
    choice({ logprobs: { content: [entry("ab", -1)] }, token_ids: [3] }),
    choice({ logprobs: { content: entries }, token_ids: [7, 0], art_completion_logprobs: [-0.25, -1] }),
  );
  expect(message).toEqual({ role: "user", content: "q" });
  expect(sampled).toEqual(choice({ token_ids: [7, 0], art_completion_logprobs: [-0.5, -9999] }));
  expect(named).toEqual(choice({ token_ids: [3], art_completion_logprobs: [-1] }));
  expect(exact).toEqual(choice({ token_ids: [7, 0], art_completion_logprobs: [-0.25, -1] }));
});

test("what is not regular is kept, so that its error names where it was sent", () => {
  const without = (token: unknown, logprob: unknown) => ({ token, logprob, bytes: [1] });
  const irregular = [
    { content: [entry("text", -1)] },
    { content: [entry("token_id:7", 0.5)] },
    { content: [entry("token_id:-7", -0.5)] },
  ];
  for (const logprobs of irregular) {
    const [{ token, logprob } = { token: "", logprob: 0 }] = logprobs.content;
    expect(compact(choice({ logprobs }))).toEqual([choice({ logprobs: { content: [without(token, logprob)] } })]);
  }
  expect(compact(choice({ logprobs: null }), 7, { role: "user" })).toEqual([
    choice({ logprobs: null }),
    7,
    { role: "user" },
  ]);
  for (const value of [7, null, { messages_and_choices: 7 }]) expect(compactTrajectory(value)).toEqual(value);
});

test("further histories are compact, too; what training does not read is left out", () => {
  const history = { messages_and_choices: [choice({ logprobs: { content: [entry("token_id:7", -0.5)] } })], tools: [] };
  const trajectory = {
    reward: 1,
    logs: ["a"],
    start_time: "now",
    metrics: { m: 1 },
    additional_histories: [history, 7],
  };
  expect(compactTrajectory(trajectory)).toEqual({
    reward: 1,
    metrics: { m: 1 },
    additional_histories: [
      { messages_and_choices: [choice({ token_ids: [7], art_completion_logprobs: [-0.5] })], tools: [] },
      7,
    ],
  });
});
