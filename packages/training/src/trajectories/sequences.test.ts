import { array, assert, asyncProperty, constantFrom, record, string } from "fast-check";
import { describe, expect, test } from "vitest";
import { choice, ids, model, prompt, sequencesOf, user } from "../../test/chat-histories.js";
import { headers, openChatModel, sentencePieceTokenizer, thinking, trainedTexts } from "@heddle/chat-format/testing";
import { trajectorySequences } from "./sequences.js";

const recorded = (prompt: string, text: string) =>
  choice(text, { prompt_token_ids: ids(prompt), token_ids: ids(text) });

const decoded = ({ tokens }: { tokens: Int32Array }) => model.tokenizer.decode(tokens);

describe("with recorded token ids", () => {
  test("a turn is its prompt and what was sampled", async () => {
    const { sequences, reasons } = await sequencesOf([
      user("ignored"),
      recorded(prompt, "yes<|im_end|>"),
      user("thanks"),
    ]);
    expect(reasons).toEqual([]);
    expect(sequences).toHaveLength(1);
    const { tokens, mask, oldLogprobs, tooLong, loc } = sequences[0]!;
    expect([...tokens]).toEqual(ids(`${prompt}yes<|im_end|>`));
    expect([...mask]).toEqual(
      ids(prompt)
        .map(() => 0)
        .concat([1, 1]),
    );
    expect(Array.from(oldLogprobs.subarray(-3))).toEqual([Number.NaN, -0.1, -0.2]);
    expect({ tooLong, loc }).toEqual({ tooLong: false, loc: ["t", "messages_and_choices", 1] });
  });

  test("turns that extend the previous prompt share a sequence, another prompt starts a new one", async () => {
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
    const main = { loc: ["t"], messagesAndChoices: [recorded(prompt, "yes<|im_end|>")], tools: null };
    const rest = {
      loc: ["t", "additional_histories", 0],
      messagesAndChoices: [user("hello"), choice("no<|im_end|>")],
      tools: [],
    };
    const { sequences } = await trajectorySequences({ histories: [main, rest] }, { template: model });
    expect(sequences.map(decoded)).toEqual([`${prompt}yes<|im_end|>`, `${prompt}no<|im_end|>`]);
    expect(sequences[1]?.loc).toEqual(["t", "additional_histories", 0, "messages_and_choices", 1]);
  });

  test("exact log-probabilities take precedence over those of the tokens, and -9999 is unknown", async () => {
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
  test("sampled tokens replace the turn in the template; an end of turn is included once", async () => {
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

  test("the tokens are the sampled ones, also if the tokenizer would split the text differently", async () => {
    const letters = ["y", "e", "s"].map((letter) => `token_id:${model.tokenizer.idOf(letter)}`);
    const logprobs = { content: letters.map((token) => ({ token, logprob: -1 })) };
    const { sequences } = await sequencesOf([user("hello"), choice("", { logprobs })]);
    expect(Array.from(sequences[0]!.tokens.subarray(-3)).map((id) => model.tokenizer.tokenText(id))).toEqual([
      "y",
      "e",
      "s",
    ]);
  });

  test("the tool calls of a turn are included once", async () => {
    const call = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>';
    const toolCalls = [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }];
    const elements = [
      user("hello"),
      choice(`${call}<|im_end|>`, { message: { role: "assistant", content: null, tool_calls: toolCalls } }),
      { role: "tool", tool_call_id: "1", content: "3" },
      { role: "assistant", content: "", tool_calls: toolCalls },
      { role: "tool", tool_call_id: "1", content: "4" },
      choice("no<|im_end|>"),
    ];
    const { sequences } = await sequencesOf(elements, {}, { tools: [{ name: "f", parameters: {} }] });
    const text = decoded(sequences[0]!);
    expect(text.split(call)).toHaveLength(3);
    expect(text).toContain('{"type": "function", "function": {"name": "f", "parameters": {}}}');
    expect(trainedTexts(model, sequences[0]!)).toEqual([`${call}<|im_end|>`, "no<|im_end|>"]);
  });

  test("an empty think block of the template is replaced by sampled reasoning", async () => {
    const template = await openChatModel(thinking);
    const own = await sequencesOf([user("hello"), choice("<think>\nhm\n</think>\n\nyes<|im_end|>")], { template });
    expect(decoded(own.sequences[0]!)).toBe(`${prompt}<think>\nhm\n</think>\n\nyes<|im_end|>`);
    const none = await sequencesOf([user("hello"), choice("yes<|im_end|>")], { template });
    expect(decoded(none.sequences[0]!)).toBe(`${prompt}<think>\n\n</think>\n\nyes<|im_end|>`);
    expect(trainedTexts(model, none.sequences[0]!)).toEqual(["yes<|im_end|>"]);
  });

  test("messages after the last trained turn have no effect", async () => {
    const template = await openChatModel(thinking);
    const elements = [user("hello"), choice("yes<|im_end|>")];
    const later = [...elements, user("b"), { role: "assistant", content: "c" }];
    expect(await sequencesOf(later, { template })).toEqual(await sequencesOf(elements, { template }));
  });

  test("a SentencePiece vocabulary adds no space after sampled tokens", async () => {
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

  test("log-probabilities on a message of the assistant are used", async () => {
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

  test("is off by default", async () => {
    const { sequences, reasons } = await sequencesOf(answered);
    expect(sequences).toEqual([]);
    expect(reasons).toEqual([
      { code: "no_logprobs", loc: ["t", "messages_and_choices", 3], message: "the choice has no log-probabilities" },
    ]);
  });

  test("trains the content of every answer, with unknown log-probabilities", async () => {
    const { sequences } = await sequencesOf(answered, { allowTrainingWithoutLogprobs: true });
    expect(trainedTexts(model, sequences[0]!)).toEqual(["yes", "no"]);
    expect(sequences[0]!.oldLogprobs.every((each) => Number.isNaN(each))).toBe(true);
  });

  test("cannot be done for tool calls", async () => {
    const toolCalls = [{ function: { name: "f", arguments: "{}" } }];
    const elements = [user("hello"), { role: "assistant", content: "x", tool_calls: toolCalls }];
    const { sequences, reasons } = await sequencesOf(elements, { allowTrainingWithoutLogprobs: true });
    expect(sequences).toEqual([]);
    expect(reasons).toMatchObject([{ code: "tool_calls", loc: ["t", "messages_and_choices", 1] }]);
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
