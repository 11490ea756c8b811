import { array, assert, asyncProperty, constantFrom, record, string } from "fast-check";
import { describe, expect, test } from "vitest";
import { openChatModel, trainedTexts } from "../../test/chat-model.js";
import { brackets, chatMl, headers, thinking } from "../../test/chat-templates.js";
import { sentencePieceTokenizer } from "../../test/text-models.js";
import { trajectorySequences, type SequenceOptions } from "./sequences.js";

const model = await openChatModel(chatMl);

const user = (content: string) => ({ role: "user", content });
const ids = (text: string) => [...model.tokenizer.encode(text)];

/** A choice as a chat endpoint gives it: every token with log-probability -0.1, -0.2, … */
function choice(text: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  const content = ids(text).map((id, index) => ({
    token: `token_id:${id}`,
    bytes: null,
    logprob: -(index + 1) / 10,
    top_logprobs: [],
  }));
  const message = { role: "assistant", content: text.replace("<|im_end|>", ""), refusal: null, tool_calls: null };
  return { finish_reason: "stop", index: 0, message, logprobs: { content, refusal: null }, ...more };
}

const recorded = (prompt: string, text: string) =>
  choice(text, { prompt_token_ids: ids(prompt), token_ids: ids(text) });

function sequencesOf(elements: unknown[], options: Partial<SequenceOptions> = {}, more: { tools?: unknown } = {}) {
  const histories = [{ path: "t", messagesAndChoices: elements, tools: more.tools }];
  return trajectorySequences({ histories }, { template: model, ...options });
}

const decoded = ({ tokens }: { tokens: Int32Array }) => model.tokenizer.decode(tokens);
const prompt = "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n";

describe("with recorded token ids", () => {
  test("a turn is its prompt and what was sampled", async () => {
    const { sequences, reasons } = await sequencesOf([
      user("ignored"),
      recorded(prompt, "yes<|im_end|>"),
      user("thanks"),
    ]);
    expect(reasons).toEqual([]);
    expect(sequences).toHaveLength(1);
    const { tokens, mask, oldLogprobs, overLong, path } = sequences[0]!;
    expect([...tokens]).toEqual(ids(`${prompt}yes<|im_end|>`));
    expect([...mask]).toEqual(
      ids(prompt)
        .map(() => 0)
        .concat([1, 1]),
    );
    expect(Array.from(oldLogprobs.subarray(-3))).toEqual([Number.NaN, -0.1, -0.2]);
    expect({ overLong, path }).toEqual({ overLong: false, path: "t.messages_and_choices.1" });
  });

  test("turns whose prompts go on are one sequence, another prompt begins a new one", async () => {
    const second = `${prompt}yes<|im_end|>\n<|im_start|>user\nno<|im_end|>\n<|im_start|>assistant\n`;
    const { sequences } = await sequencesOf([
      user("a"),
      recorded(prompt, "yes<|im_end|>"),
      user("b"),
      recorded(second, "no<|im_end|>"),
      user("c"),
      recorded(`another ${second} prompt`, "he<|im_end|>"),
    ]);
    expect(sequences.map(decoded)).toEqual([`${second}no<|im_end|>`, `another ${second} prompthe<|im_end|>`]);
    expect(sequences.map((each) => trainedTexts(model, each))).toEqual([
      ["yes<|im_end|>", "no<|im_end|>"],
      ["he<|im_end|>"],
    ]);
  });

  test("additional histories are trained as well, each turn once", async () => {
    const main = { path: "t", messagesAndChoices: [recorded(prompt, "yes<|im_end|>")], tools: null };
    const rest = {
      path: "t.additional_histories.0",
      messagesAndChoices: [user("hello"), choice("no<|im_end|>")],
      tools: [],
    };
    const { sequences } = await trajectorySequences({ histories: [main, rest] }, { template: model });
    expect(sequences.map(decoded)).toEqual([`${prompt}yes<|im_end|>`, `${prompt}no<|im_end|>`]);
    expect(sequences[1]?.path).toBe("t.additional_histories.0.messages_and_choices.1");
  });

  test("exact log-probabilities go before those of the tokens, and -9999 is unknown", async () => {
    const exact = choice("yes<|im_end|>", { token_ids: ids("yes<|im_end|>"), art_completion_logprobs: [-9999, -0.5] });
    const { sequences } = await sequencesOf([user("hello"), exact]);
    expect(Array.from(sequences[0]!.oldLogprobs.subarray(-2))).toEqual([Number.NaN, -0.5]);
    expect(Array.from(sequences[0]!.mask.subarray(-2))).toEqual([1, 1]);
  });

  test("the first token of all is never trained", async () => {
    const { sequences } = await sequencesOf([
      choice("yes<|im_end|>", { prompt_token_ids: [], token_ids: ids("yes<|im_end|>") }),
    ]);
    expect([...sequences[0]!.mask]).toEqual([0, 1]);
  });
});

describe("without recorded prompts", () => {
  test("sampled tokens stand where the template shows the turn; an end of turn stands there once", async () => {
    const { sequences, reasons } = await sequencesOf([
      user("hello"),
      choice("yes<|im_end|>"),
      user("b"),
      choice("cut off"),
      user("c"),
      choice("no<|im_end|>"),
      user("left out"),
    ]);
    expect(reasons).toEqual([]);
    expect(sequences.map(decoded)).toEqual([
      `${prompt}yes<|im_end|>\n<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\ncut off<|im_end|>\n` +
        "<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\nno<|im_end|>",
    ]);
    expect(trainedTexts(model, sequences[0]!)).toEqual(["yes<|im_end|>", "cut off", "no<|im_end|>"]);
  });

  test("the tokens are those that were sampled, however the tokenizer would cut the text", async () => {
    const letters = ["y", "e", "s"].map((letter) => `token_id:${model.tokenizer.idOf(letter)}`);
    const logprobs = { content: letters.map((token) => ({ token, logprob: -1 })) };
    const { sequences } = await sequencesOf([user("hello"), choice("", { logprobs })]);
    expect(Array.from(sequences[0]!.tokens.subarray(-3)).map((id) => model.tokenizer.tokenText(id))).toEqual([
      "y",
      "e",
      "s",
    ]);
  });

  test("a turn that called tools is not shown a second time", async () => {
    const call = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>';
    const tool_calls = [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }];
    const elements = [
      user("hello"),
      choice(`${call}<|im_end|>`, { message: { role: "assistant", content: null, tool_calls } }),
      { role: "tool", tool_call_id: "1", content: "3" },
      { role: "assistant", content: "", tool_calls },
      { role: "tool", tool_call_id: "1", content: "4" },
      choice("no<|im_end|>"),
    ];
    const { sequences } = await sequencesOf(elements, {}, { tools: [{ name: "f", parameters: {} }] });
    const text = decoded(sequences[0]!);
    expect(text.split(call)).toHaveLength(3);
    expect(text).toContain('{"type": "function", "function": {"name": "f", "parameters": {}}}');
    expect(trainedTexts(model, sequences[0]!)).toEqual([`${call}<|im_end|>`, "no<|im_end|>"]);
  });

  test("an empty think block of the template makes room for the thoughts that were sampled", async () => {
    const template = await openChatModel(thinking);
    const own = await sequencesOf([user("hello"), choice("<think>\nhm\n</think>\n\nyes<|im_end|>")], { template });
    expect(decoded(own.sequences[0]!)).toBe(`${prompt}<think>\nhm\n</think>\n\nyes<|im_end|>`);
    const none = await sequencesOf([user("hello"), choice("yes<|im_end|>")], { template });
    expect(decoded(none.sequences[0]!)).toBe(`${prompt}<think>\n\n</think>\n\nyes<|im_end|>`);
    expect(trainedTexts(model, none.sequences[0]!)).toEqual(["yes<|im_end|>"]);
  });

  test("what comes after the last trained turn changes nothing", async () => {
    const template = await openChatModel(thinking);
    const elements = [user("hello"), choice("yes<|im_end|>")];
    const later = [...elements, user("b"), { role: "assistant", content: "c" }];
    expect(await sequencesOf(later, { template })).toEqual(await sequencesOf(elements, { template }));
  });

  test("a SentencePiece vocabulary gets no space behind what was sampled", async () => {
    const lines = "{% for m in messages %}{{ m.content }}/{% endfor %}";
    const template = await openChatModel(lines, sentencePieceTokenizer());
    const content = [{ token: " hello", logprob: -1 }];
    const turn = { message: { role: "assistant", content: "hello" }, logprobs: { content } };
    const { sequences } = await sequencesOf([user("a"), turn, user("b"), turn], { template });
    expect(template.tokenizer.decode(sequences[0]!.tokens)).toBe("a/ hello/b/ hello");
  });

  test("tokens given as text are looked up; what is unknown becomes the end-of-text token", async () => {
    const content = [
      { token: "yes", logprob: -1 },
      { token: " world", logprob: -1 },
      { token: "Ġw", logprob: -1 },
      { token: "\uFFFD", bytes: [0xf0], logprob: -1 },
      { token: "nowhere", logprob: -1 },
      { token: "", logprob: -1 },
    ];
    const { sequences } = await sequencesOf([user("hello"), choice("", { logprobs: { content } })]);
    const { tokenizer } = model;
    const end = tokenizer.idOf("<|im_end|>");
    expect(Array.from(sequences[0]!.tokens.subarray(-6))).toEqual([
      ...["yes", " world", " w"].map((text) => tokenizer.idOf(text)),
      tokenizer.idOfBytes(Uint8Array.of(0xf0)),
      end,
      end,
    ]);
  });

  test("log-probabilities on a plain message of the assistant count", async () => {
    const { logprobs } = choice("yes<|im_end|>");
    const { sequences } = await sequencesOf([user("hello"), { role: "assistant", content: "yes", logprobs }]);
    expect(trainedTexts(model, sequences[0]!)).toEqual(["yes<|im_end|>"]);
  });

  test("the tokens of a refusal are trained", async () => {
    const { logprobs } = choice("no<|im_end|>") as { logprobs: { content: unknown } };
    const refused = choice("", { logprobs: { content: null, refusal: logprobs.content } });
    expect(trainedTexts(model, (await sequencesOf([user("hello"), refused])).sequences[0]!)).toEqual(["no<|im_end|>"]);
  });

  test("for any conversation the tokens are those that a recording has", async () => {
    const said = string({ unit: "binary", maxLength: 12 });
    const turn = record({
      asked: said,
      answered: said.filter((text) => text !== ""),
      end: constantFrom("<|im_end|>", ""),
    });
    await assert(
      asyncProperty(array(turn, { minLength: 1, maxLength: 4 }), async (turns) => {
        const { tokenizer } = model;
        const elements: unknown[] = [];
        const withIds: unknown[] = [];
        const sequence: number[] = [];
        for (const { asked, answered, end } of turns) {
          const question = `<|im_start|>user\n${asked}<|im_end|>\n<|im_start|>assistant\n`;
          const before =
            elements.length === 0 ? "" : sequence.at(-1) === tokenizer.idOf("<|im_end|>") ? "\n" : "<|im_end|>\n";
          sequence.push(...tokenizer.encode(before + question));
          const sampled = choice(answered + end);
          elements.push(user(asked), sampled);
          withIds.push(user(asked), { ...sampled, prompt_token_ids: [...sequence], token_ids: ids(answered + end) });
          sequence.push(...ids(answered + end));
        }
        const spliced = await sequencesOf(elements);
        const direct = await sequencesOf(withIds);
        expect([...direct.sequences[0]!.tokens]).toEqual(sequence);
        expect(spliced).toEqual(direct);
      }),
      { numRuns: 30 },
    );
  });
});

describe("training without log-probabilities", () => {
  const answered = [user("hello"), { role: "assistant", content: "yes" }, user("b"), choice("no", { logprobs: null })];

  test("is not done unless asked for", async () => {
    const { sequences, reasons } = await sequencesOf(answered);
    expect(sequences).toEqual([]);
    expect(reasons).toEqual([
      { code: "no_logprobs", path: "t.messages_and_choices.3", message: "the choice has no log-probabilities" },
    ]);
  });

  test("takes the content of every answer, their log-probabilities unknown", async () => {
    const { sequences } = await sequencesOf(answered, { allowTrainingWithoutLogprobs: true });
    expect(trainedTexts(model, sequences[0]!)).toEqual(["yes", "no"]);
    expect(sequences[0]!.oldLogprobs.every((each) => Number.isNaN(each))).toBe(true);
  });

  test("cannot be done for tool calls", async () => {
    const tool_calls = [{ function: { name: "f", arguments: "{}" } }];
    const elements = [user("hello"), { role: "assistant", content: "x", tool_calls }];
    const { sequences, reasons } = await sequencesOf(elements, { allowTrainingWithoutLogprobs: true });
    expect(sequences).toEqual([]);
    expect(reasons).toMatchObject([{ code: "tool_calls", path: "t.messages_and_choices.1" }]);
  });
});

describe("what cannot be trained comes with its reason and place", () => {
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
    expect(reasons).toMatchObject([{ code, path }]);
  });

  test("a template that refuses the conversation", async () => {
    const template = await openChatModel(brackets);
    const { reasons } = await sequencesOf([user("a"), user("b"), choice("c")], { template });
    expect(reasons).toMatchObject([{ code: "template", path: "t", message: /Turns must alternate/ }]);
  });

  test("a template that does not show the turn", async () => {
    for (const source of ["{{ messages[0].content }}", "{{ messages[1].content }}{{ messages[1].content }}"]) {
      const { reasons } = await sequencesOf([user("a"), choice("c")], { template: await openChatModel(source) });
      expect(reasons).toMatchObject([{ code: "template", path: "t.messages_and_choices.1" }]);
    }
  });

  test("a picture in the conversation", async () => {
    const { reasons } = await sequencesOf([{ role: "user", content: [{ type: "image_url" }] }, choice("c")]);
    expect(reasons).toMatchObject([{ code: "template", path: "t.messages_and_choices.0.content.0" }]);
  });

  test("a sequence over the context is flagged", async () => {
    const length = ids(`${prompt}yes<|im_end|>`).length;
    const elements = [user("hello"), choice("yes<|im_end|>")];
    expect((await sequencesOf(elements, { contextLength: length })).sequences[0]?.overLong).toBe(false);
    const { sequences, reasons } = await sequencesOf(elements, { contextLength: length - 1 });
    expect(sequences[0]?.overLong).toBe(true);
    expect(reasons).toMatchObject([
      {
        code: "too_long",
        path: "t.messages_and_choices.1",
        message: `${length} tokens; the model's context has ${length - 1}`,
      },
    ]);
  });
});

describe("wrong values are refused with their place", () => {
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
    ["half an id", choice("yes", { token_ids: [1.5] }), `${at}.token_ids.0`],
    [
      "unknown ids of a prompt",
      choice("yes", { token_ids: ids("yes"), prompt_token_ids: [1, -1] }),
      `${at}.prompt_token_ids.1`,
    ],
  ])("%s", async (_, element, path) => {
    await expect(sequencesOf([user("hello"), element])).rejects.toMatchObject({
      name: "EngineError",
      code: "invalid",
      path,
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

test("headers between special tokens work as ChatML does", async () => {
  const template = await openChatModel(headers);
  const { sequences } = await sequencesOf([user("hello"), choice("yes<|eot_id|>"), user("b"), choice("no<|eot_id|>")], {
    template,
  });
  expect(decoded(sequences[0]!).match(/<\|eot_id\|>/g)).toHaveLength(5);
  expect(trainedTexts(template, sequences[0]!)).toEqual(["yes<|eot_id|>", "no<|eot_id|>"]);
});
