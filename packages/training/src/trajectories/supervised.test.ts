import { describe, expect, test } from "vitest";
import { locOf } from "@heddle/errors/testing";
import {
  brackets,
  chatMl,
  headers,
  openChatModel,
  sentencePieceTokenizer,
  thinking,
  trainedTexts,
} from "@heddle/chat-format/testing";
import { supervisedSequence } from "./supervised.js";

const user = (content: string) => ({ role: "user", content });
const assistant = (content: unknown, more: object = {}) => ({ role: "assistant", content, ...more });
const twoTurns = [user("hello"), assistant("yes"), user("hello\n\nhello"), assistant("no")];

async function trained(template: string, messages: unknown[], assistantTurns: "all" | "last", more: object = {}) {
  const model = await openChatModel(template);
  const sequence = await supervisedSequence({ messages, ...more }, { template: model, assistantTurns });
  return { texts: trainedTexts(model, sequence), whole: model.tokenizer.decode(sequence.tokens), model, sequence };
}

describe("every turn of the assistant is trained, its end included", () => {
  test.each([
    ["ChatML", chatMl, "<|im_end|>"],
    ["headers", headers, "<|eot_id|>"],
    ["brackets", brackets, " <|im_end|>"],
  ])("%s", async (_, template, end) => {
    const { texts, whole, model } = await trained(template, twoTurns, "all");
    expect(texts).toEqual([`yes${end}`, `no${end}`]);
    expect(whole).toBe(await model.renderText({ messages: twoTurns, addGenerationPrompt: false }));
  });

  test("reasoning where the template includes it", async () => {
    const messages = [
      user("a"),
      assistant("A", { reasoning_content: "old" }),
      user("b"),
      assistant("<think>\nnew\n</think>\n\nB"),
    ];
    const { texts } = await trained(thinking, messages, "all");
    expect(texts).toEqual(["A<|im_end|>", "<think>\nnew\n</think>\n\nB<|im_end|>"]);
  });

  test("tool calls, and not the results of tools", async () => {
    const toolCalls = [{ function: { name: "f", arguments: '{"a":1}' } }];
    const messages = [
      user("a"),
      assistant(null, { tool_calls: toolCalls }),
      { role: "tool", content: "3" },
      { role: "tool", content: "4" },
      assistant("", { tool_calls: toolCalls }),
      { role: "tool", content: "5" },
      assistant("no"),
    ];
    const { texts } = await trained(chatMl, messages, "all", { tools: [{ name: "f" }] });
    const call = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call><|im_end|>';
    expect(texts).toEqual([call, call, "no<|im_end|>"]);
  });

  test("the channel of an answer, and the end that only earlier turns have, as of gpt-oss", async () => {
    const template = `{%- for m in messages %}
{%- if m.role == "user" %}{{ "<|im_start|>user<|message|>" + m.content + "<|eot_id|>" }}
{%- else %}
{%- if m.thinking and loop.last %}{{ "<|im_start|>assistant<|channel|>analysis<|message|>" + m.thinking + "<|eot_id|>" }}{%- endif %}
{{- "<|im_start|>assistant<|channel|>final<|message|>" + m.content + ("<|im_end|>" if loop.last else "<|eot_id|>") }}
{%- endif %}{%- endfor %}{%- if add_generation_prompt %}{{ "<|im_start|>assistant" }}{%- endif %}`;
    const last = assistant("no", { thinking: "hello" });
    const { texts, whole, model } = await trained(template, twoTurns.with(3, last), "all");
    const final = "<|channel|>final<|message|>";
    const thought = "<|channel|>analysis<|message|>hello<|eot_id|><|im_start|>assistant";
    expect(texts).toEqual([`${final}yes<|eot_id|>`, `${thought}${final}no<|im_end|>`]);
    expect(whole).toBe(await model.renderText({ messages: twoTurns.with(3, last), addGenerationPrompt: false }));
    expect((await trained(template, twoTurns, "last")).texts).toEqual([`${final}no<|im_end|>`]);
  });

  test("calls of tools whose results a template refuses without them, as that of gpt-oss does", async () => {
    const template = `{%- set called = namespace(name=none) %}{%- for m in messages %}
{%- if m.role == "user" %}{{ "<|im_start|>user<|message|>" + m.content + "<|eot_id|>" }}
{%- elif m.role == "tool" %}
{%- if called.name is none %}{{ raise_exception("Message has tool role, but there was no previous assistant message with a tool call!") }}{%- endif %}
{{- "<|im_start|>functions." + called.name + "<|message|>" + m.content|tojson + "<|eot_id|>" }}
{%- elif m.tool_calls %}{%- set called.name = m.tool_calls[0].function.name %}
{{- "<|im_start|>assistant to=functions." + called.name + "<|channel|>commentary json<|message|>" + m.tool_calls[0].function.arguments|tojson + "<|eot_id|>" }}
{%- else %}{%- set called.name = none %}
{{- "<|im_start|>assistant<|channel|>final<|message|>" + m.content + ("<|im_end|>" if loop.last else "<|eot_id|>") }}
{%- endif %}{%- endfor %}{%- if add_generation_prompt %}{{ "<|im_start|>assistant" }}{%- endif %}`;
    const call = (value: string) =>
      assistant(null, { tool_calls: [{ function: { name: "f", arguments: JSON.stringify({ a: value }) } }] });
    const result = { role: "tool", content: "3" };
    const messages = [user("a"), call("b"), result, call("c"), result, assistant("no")];
    const { texts, whole, model } = await trained(template, messages, "all", { tools: [{ name: "f" }] });
    const turn = (value: string) => ` to=functions.f<|channel|>commentary json<|message|>{"a": "${value}"}<|eot_id|>`;
    expect(texts).toEqual([turn("b"), turn("c"), "<|channel|>final<|message|>no<|im_end|>"]);
    const rendered = await model.renderText({ messages, tools: [{ name: "f" }], addGenerationPrompt: false });
    expect(whole).toBe(rendered);
  });

  test("the token of the next turn, where the model ends its own by it, as of GLM", async () => {
    const template = `{%- for m in messages %}
{%- if m.role == "user" %}{{ "<|im_end|>\\n" + m.content }}{%- else %}{{ "<|im_start|>\\n" + m.content }}{%- endif %}
{%- endfor %}{%- if add_generation_prompt %}{{ "<|im_start|>" }}{%- endif %}`;
    expect((await trained(template, twoTurns, "all")).texts).toEqual(["\nyes<|im_end|>", "\nno<|im_end|>"]);
    expect((await trained(template, twoTurns, "last")).texts).toEqual(["\nno<|im_end|>"]);
    const asked = [...twoTurns, user("hello")];
    expect((await trained(template, asked, "all")).texts).toEqual(["\nyes<|im_end|>", "\nno<|im_end|>"]);
    const untrained = twoTurns.with(3, assistant("no", { weight: 0 }));
    expect((await trained(template, untrained, "all")).texts).toEqual(["\nyes<|im_end|>"]);
  });

  test("equal turns, and turns that quote the template, are distinguished", async () => {
    const quote = "<|im_start|>assistant\nyes";
    const messages = [user(quote), assistant("yes"), user("yes"), assistant("yes"), assistant(""), user(quote)];
    const { texts, whole } = await trained(chatMl, messages, "all");
    expect(texts).toEqual(["yes<|im_end|>", "yes<|im_end|>", "<|im_end|>"]);
    expect(whole.endsWith(`user\n${quote}<|im_end|>\n`)).toBe(true);
  });

  test("a token that ends the conversation is not an end of earlier turns", async () => {
    const template = `${chatMl}{%- if not add_generation_prompt %}{{- "<|endoftext|>" }}{%- endif %}`;
    expect((await trained(template, twoTurns, "all")).texts).toEqual(["yes<|im_end|>", "no<|im_end|>\n<|endoftext|>"]);
  });

  test("a template whose generation prompt differs from its assistant header", async () => {
    const other =
      "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant> {% endif %}";
    const messages = [user("assistant> what"), assistant("yes"), user("b"), assistant("no")];
    expect((await trained(other, messages, "all")).texts).toEqual(["yes", "no"]);
  });

  test("a template without control tokens trains the content alone", async () => {
    const plain = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}";
    expect((await trained(plain, twoTurns, "all")).texts).toEqual(["yes", "no"]);
  });
});

describe("turns that say so are not trained", () => {
  const end = "<|im_end|>";
  const flagged = (first: object, second: object = {}) => [
    user("hello"),
    assistant("yes", first),
    user("hello"),
    assistant("no", second),
  ];
  test.each<[string, unknown[], object, string[]]>([
    ["weight", flagged({ weight: 0 }, { weight: 1 }), {}, [`no${end}`]],
    ["train", flagged({ train: false }), {}, [`no${end}`]],
    ["trainable", flagged({}, { trainable: false }), {}, [`yes${end}`]],
    ["loss_mask", flagged({ loss_mask: 1 }, { loss_mask: false }), {}, [`yes${end}`]],
    ["training, of Axolotl", flagged({ training: false }), {}, [`no${end}`]],
    ["loss, of ms-swift", flagged({ loss: true }, { loss: false }), {}, [`yes${end}`]],
    ["a row's loss is data", twoTurns, { loss: 0, training: "night" }, [`yes${end}`, `no${end}`]],
    [
      "names that only look alike",
      flagged({ constraint: 1, glossary: 2 }),
      { train_no: 9, mask: null },
      [`yes${end}`, `no${end}`],
    ],
    ["a list for all messages", twoTurns, { loss_mask: [0, 1, 0, 0] }, [`yes${end}`]],
    ["the row, and one message that differs", flagged({ weight: 1 }), { train: false }, [`yes${end}`]],
    ["null says nothing", flagged({ weight: null, train: null }), { loss_mask: null }, [`yes${end}`, `no${end}`]],
    ["none", flagged({ weight: 0 }, { weight: 0 }), {}, []],
  ])("%s", async (_, messages, row, texts) => {
    const { texts: found, whole, model } = await trained(chatMl, messages, "all", row);
    expect(found).toEqual(texts);
    const plain = messages.map((message) => {
      const { role, content } = message as { role: string; content: string };
      return { role, content };
    });
    expect(whole).toBe(await model.renderText({ messages: plain, addGenerationPrompt: false }));
  });

  test("also of the last turn alone", async () => {
    expect((await trained(chatMl, flagged({}, { weight: 0 }), "last")).texts).toEqual([]);
    expect((await trained(chatMl, flagged({ weight: 1 }), "last")).texts).toEqual([`no${end}\n`]);
  });

  test.each<[string, unknown[], object, string]>([
    ["a part of a turn", flagged({ weight: 0.5 }), {}, "row.messages.1.weight"],
    ["parts of a turn", flagged({ train_detail: [{ train: false }] }), {}, "row.messages.1.train_detail"],
    ["a weight of the loss", flagged({ loss: 0.5 }), {}, "row.messages.1.loss"],
    ["a flag in words", flagged({ train: "yes" }), {}, "row.messages.1.train"],
    ["flags that contradict each other", flagged({ weight: 1, trainable: false }), {}, "row.messages.1.trainable"],
    ["a turn of the user", [{ ...user("hello"), weight: 1 }, assistant("yes")], {}, "row.messages.0"],
    ["a mask of another length", twoTurns, { loss_mask: [1] }, "row.loss_mask"],
    ["a mask with parts", twoTurns, { loss_mask: [0, 0.5, 0, 1] }, "row.loss_mask.1"],
    ["a row that is trained in part", twoTurns, { weight: 2 }, "row.weight"],
    ...["mask", "masked", "loss_weight", "trained", "isTrainable", "train-on-turn", "completion_mask", "learn"].map(
      (name): [string, unknown[], object, string] => [
        `${name}, which is no flag`,
        flagged({ [name]: true }),
        {},
        `row.messages.1.${name}`,
      ],
    ),
    ["a mask of a row that is no flag", twoTurns, { assistant_masks: [0, 1] }, "row.assistant_masks"],
    ["weights of messages", twoTurns, { message_weights: [0, 1] }, "row.message_weights"],
  ])("refused with its location: %s", async (_, messages, row, path) => {
    // Events of jobs have the message without the location.
    const field = path.split(".").findLast((step) => !/^\d+$/.test(step)) ?? "";
    await expect(trained(chatMl, messages, "all", row)).rejects.toMatchObject({
      code: "invalid",
      loc: locOf(path),
      message: expect.stringContaining(field) as string,
    });
  });
});

describe("only the last turn is trained", () => {
  test.each([
    ["ChatML", chatMl, "no<|im_end|>\n"],
    ["headers", headers, "no<|eot_id|>"],
    ["thinking", thinking, "<think>\n\n</think>\n\nno<|im_end|>\n"],
  ])("%s", async (_, template, text) => {
    expect((await trained(template, twoTurns, "last")).texts).toEqual([text]);
  });
});

describe("tokens", () => {
  test("are split at the end of the prompt, as in sampling", async () => {
    const { sequence, model } = await trained(chatMl, [user("a"), assistant("\nb")], "last");
    const prompt = model.tokenizer.encode("<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n");
    expect(Array.from(sequence.tokens.subarray(0, prompt.length))).toEqual([...prompt]);
    expect(sequence.mask.indexOf(1)).toBe(prompt.length);
  });

  test("of a SentencePiece vocabulary have no space put between the pieces", async () => {
    const lines = "{% for m in messages %}{{ m.content }}{{ eos_token if m.role == 'assistant' }}{% endfor %}";
    const model = await openChatModel(lines, sentencePieceTokenizer());
    const row = { messages: [user("hello"), assistant("hello")] };
    const sequence = await supervisedSequence(row, { template: model, assistantTurns: "all" });
    expect([...sequence.tokens].map((id) => model.tokenizer.tokenText(id)).slice(0, 5)).toEqual([
      " hello",
      "he",
      "ll",
      "o",
      "<",
    ]);
    expect(model.tokenizer.decode(sequence.tokens)).toBe("hellohello<|im_end|>");
  });

  test("over the maximum are flagged", async () => {
    const template = await openChatModel(chatMl);
    const { tokens } = await supervisedSequence({ messages: twoTurns }, { template, assistantTurns: "all" });
    for (const [maxTokens, tooLong] of [
      [tokens.length, false],
      [tokens.length - 1, true],
    ] as const) {
      const options = { template, assistantTurns: "all", maxTokens } as const;
      expect(await supervisedSequence({ messages: twoTurns }, options)).toMatchObject({ tooLong });
    }
  });
});

describe("rows that cannot be trained are refused with their location", () => {
  test.each<[string, string, unknown, "all" | "last", string]>([
    ["a list", chatMl, [], "all", "row"],
    ["no messages", chatMl, {}, "all", "row.messages"],
    ["no answer", chatMl, { messages: [user("a")] }, "all", "row.messages"],
    ["the last is not the answer", chatMl, { messages: [...twoTurns, user("a")] }, "last", "row.messages.4"],
    ["nothing before the answer", chatMl, { messages: [assistant("a")] }, "last", "row.messages.0"],
    ["a message without role", chatMl, { messages: [{}, assistant("a")] }, "all", "row.messages.0.role"],
    ["tools that are none", chatMl, { messages: twoTurns, tools: 5 }, "all", "row.tools"],
    ["a turn that is not shown", "{{ messages[0].content }}", { messages: twoTurns }, "all", "row.messages.3"],
    ["a prompt that changes", "{{ messages | length }}", { messages: twoTurns }, "last", "row.messages.3"],
  ])("%s", async (_, source, row, assistantTurns, path) => {
    const template = await openChatModel(source);
    const refused = supervisedSequence(row, { template, assistantTurns });
    await expect(refused).rejects.toMatchObject({ name: "HeddleError", code: "invalid", loc: locOf(path) });
  });
});
