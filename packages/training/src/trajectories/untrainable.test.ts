import { describe, expect, test } from "vitest";
import { trajectorySequences } from "./sequences.js";
import { locOf } from "@heddle/errors/testing";
import { choice, ids, model, prompt, sequencesOf, user } from "../../test/chat-histories.js";
import { brackets, openChatModel, trainedTexts } from "@heddle/chat-format/testing";

describe("untrainable data is reported with its reason and location", () => {
  test.each([
    ["only messages", [user("hello"), { role: "assistant", content: "yes" }], "no_choices", "t"],
    ["nothing", [], "no_choices", "t"],
    [
      "nothing sampled",
      [user("hello"), choice("", { token_ids: [], art_completion_logprobs: [] })],
      "no_tokens",
      "t.messages_and_choices.1",
    ],
  ])("%s", async (_, elements, code, path) => {
    const { sequences, reasons } = await sequencesOf(elements);
    expect(sequences).toEqual([]);
    expect(reasons).toMatchObject([{ code, loc: locOf(path) }]);
  });

  test("turns that say that they are not trained are context", async () => {
    const history = [user("hello"), choice("yes", { weight: 0 }), user("hello"), choice("no<|im_end|>")];
    const { sequences, reasons } = await sequencesOf(history);
    expect(sequences.map((sequence) => trainedTexts(model, sequence))).toEqual([["no<|im_end|>"]]);
    expect(reasons).toMatchObject([{ code: "excluded", loc: locOf("t.messages_and_choices.1") }]);
    const message = { role: "assistant", content: "yes", trainable: false };
    const none = await sequencesOf([user("hello"), choice("yes", { message })]);
    expect([none.sequences, none.reasons]).toMatchObject([[], [{ code: "excluded" }]]);
  });

  test("completions that were cut off, where they are not to be trained", async () => {
    const cut = { finish_reason: "length" };
    const history = [user("hello"), choice("yes", cut), user("hello"), choice("no<|im_end|>")];
    expect((await sequencesOf(history)).reasons).toEqual([]);
    const { sequences, reasons } = await sequencesOf(history, { withoutTruncated: true });
    expect(sequences.map((sequence) => trainedTexts(model, sequence))).toEqual([["no<|im_end|>"]]);
    expect(reasons).toMatchObject([{ code: "truncated", loc: locOf("t.messages_and_choices.1") }]);
    const last = await sequencesOf([user("hello"), choice("yes", cut)], { withoutTruncated: true });
    expect([last.sequences, last.reasons]).toMatchObject([[], [{ code: "truncated" }]]);
  });

  test("turns that weights sampled which are too old", async () => {
    const turn = (step?: number) => [user("hello"), choice("no<|im_end|>", { checkpoint_step: step })];
    const found = async (elements: unknown[], initialPolicyVersion?: number) => {
      const histories = [{ loc: ["t"], messagesAndChoices: elements, tools: null }];
      const read = await trajectorySequences({ histories, initialPolicyVersion }, { template: model, oldestStep: 4 });
      return read.reasons.map(({ code, message }) => `${code}: ${message}`);
    };
    const old = "off_policy: it was sampled at step 3; at least 4 is trained";
    expect(await found([...turn(3), ...turn(4), ...turn(7), ...turn()])).toEqual([old]);
    expect(await found([...turn(), ...turn(5)], 3)).toEqual([old]);
    expect(await found(turn(), 4)).toEqual([]);
  });

  test("a template that refuses the conversation", async () => {
    const template = await openChatModel(brackets);
    const { reasons } = await sequencesOf([user("a"), user("b"), choice("c")], { template });
    expect(reasons).toMatchObject([{ code: "template", loc: ["t"], message: /Turns must alternate/ }]);
  });

  test("a template that omits the turn", async () => {
    for (const source of ["{{ messages[0].content }}", "{{ messages[1].content }}{{ messages[1].content }}"]) {
      const { reasons } = await sequencesOf([user("a"), choice("c")], { template: await openChatModel(source) });
      expect(reasons).toMatchObject([{ code: "template", loc: ["t", "messages_and_choices", 1] }]);
    }
  });

  test("an image in the conversation", async () => {
    const { reasons } = await sequencesOf([{ role: "user", content: [{ type: "image_url" }] }, choice("c")]);
    expect(reasons).toMatchObject([{ code: "template", loc: ["t", "messages_and_choices", 0, "content", 0] }]);
  });

  test("a sequence over the maximum is flagged", async () => {
    const length = ids(`${prompt}yes<|im_end|>`).length;
    const elements = [user("hello"), choice("yes<|im_end|>")];
    expect((await sequencesOf(elements, { maxTokens: length })).sequences[0]?.tooLong).toBe(false);
    const { sequences, reasons } = await sequencesOf(elements, { maxTokens: length - 1 });
    expect(sequences[0]?.tooLong).toBe(true);
    expect(reasons).toMatchObject([
      {
        code: "too_long",
        loc: ["t", "messages_and_choices", 1],
        message: `${length} tokens; at most ${length - 1} can be trained`,
      },
    ]);
  });
});

describe("wrong values are refused with their location", () => {
  const at = "t.messages_and_choices.1";
  const entry = (change: object) =>
    choice("yes", { logprobs: { content: [{ token: "yes", logprob: -1, ...change }] } });
  test.each<[string, unknown, string]>([
    ["a text", "hello", at],
    ["no role", { content: "a" }, `${at}.role`],
    ["a choice without message", { message: null }, `${at}.message`],
    ["a choice of the user", choice("a", { message: { role: "user", content: "a" } }), `${at}.message.role`],
    ["log-probabilities that are none", choice("a", { logprobs: [] }), `${at}.logprobs`],
    ["a list that is none", choice("a", { logprobs: { content: {} } }), `${at}.logprobs.content`],
    ["a token that is none", entry({ token: 5 }), `${at}.logprobs.content.0.token`],
    ["an unknown id", entry({ token: "token_id:99999" }), `${at}.logprobs.content.0.token`],
    ["a negative id", entry({ token: "token_id:-1" }), `${at}.logprobs.content.0.token`],
    ["an id that is none", entry({ token: "token_id:x" }), `${at}.logprobs.content.0.token`],
    ["no log-probability", entry({ logprob: undefined }), `${at}.logprobs.content.0.logprob`],
    ["a log-probability that is NaN", entry({ logprob: Number.NaN }), `${at}.logprobs.content.0.logprob`],
    ["a probability", entry({ logprob: 0.5 }), `${at}.logprobs.content.0.logprob`],
    ["fewer log-probabilities", choice("yes", { token_ids: [1, 2, 3] }), `${at}.logprobs.content`],
    ["fewer exact ones", choice("yes", { art_completion_logprobs: [-1, -2] }), `${at}.art_completion_logprobs`],
    ["ids that are none", choice("yes", { token_ids: "1" }), `${at}.token_ids`],
    ["a fractional id", choice("yes", { token_ids: [1.5] }), `${at}.token_ids.0`],
    [
      "unknown ids of a prompt",
      choice("yes", { token_ids: ids("yes"), prompt_token_ids: [1, -1] }),
      `${at}.prompt_token_ids.1`,
    ],
  ])("%s", async (_, element, path) => {
    await expect(sequencesOf([user("hello"), element])).rejects.toMatchObject({
      name: "HeddleError",
      code: "invalid",
      loc: locOf(path),
    });
  });

  test("ids between the tokenizer's and the model's are the model's", async () => {
    const { vocabularySize } = model.tokenizer;
    const padding = choice("a", { logprobs: { content: [{ token: `token_id:${vocabularySize}`, logprob: -1 }] } });
    await expect(sequencesOf([user("a"), padding])).rejects.toThrow("not a token id");
    const { sequences } = await sequencesOf([user("a"), padding], { vocabularySize: vocabularySize + 8 });
    expect(sequences[0]?.tokens.at(-1)).toBe(vocabularySize);
  });
});
