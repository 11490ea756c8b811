import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { examplesOf, taskNames } from "../scripts/corpus/corpus.js";
import { isPassage } from "../scripts/corpus/example.js";
import type { Renderer } from "../scripts/corpus/render.js";
import { learnBytePairs } from "../scripts/tokenizer/byte-pairs.js";
import { addedTokens, tokenizerFiles } from "../scripts/tokenizer/tokenizer-files.js";
import { batches } from "../scripts/training/batches.js";
import type { Encoder } from "../scripts/training/encode.js";
import { encoder } from "../scripts/training/encode.js";
import { totalWeight } from "../scripts/training/rows.js";
import { chatTemplateSource, starterDirectory, starterRenderer } from "../scripts/training/starter-files.js";
import type { ChatTemplate, Tokenizer } from "@heddle/chat-format";
import { openChatTemplate, openTokenizer } from "@heddle/chat-format";

let tokenizer: Tokenizer;
let template: ChatTemplate;
let encode: Encoder;
let render: Renderer;

beforeAll(async () => {
  tokenizer = await openTokenizer(starterDirectory);
  template = await openChatTemplate(starterDirectory, { trusted: true });
  render = await starterRenderer();
  encode = encoder(tokenizer, render);
});

describe("the starter's tokenizer", () => {
  test("has 1,024 entries and ends a turn with its own token", () => {
    expect(tokenizer.vocabularySize).toBe(1024);
    expect(tokenizer.eosIds).toContain(tokenizer.idOf("<|im_end|>"));
    for (const { content } of addedTokens) expect(tokenizer.encode(content)).toHaveLength(1);
  });

  test.each(["naïve café", "🙂👩‍👩‍👧 漢字", "\u0000\t\r\n  x", "a  b   c\n\n", "12.5e-3", '{"a": [1, 2]}'])(
    "gives back %j",
    (text) => {
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
    },
  );

  test("has the template that its script has", async () => {
    const config = JSON.parse(await readFile(`${starterDirectory}tokenizer_config.json`, "utf8")) as {
      chat_template: string;
    };
    expect(config.chat_template).toBe(await chatTemplateSource());
  });
});

describe("the starter's chat template", () => {
  const messages = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Weather in Rome?" },
    {
      role: "assistant",
      content: "",
      tool_calls: [
        { id: "1", type: "function", function: { name: "get_weather", arguments: '{"city": "Rome"}' } },
        { id: "2", type: "function", function: { name: "get_time", arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "1", content: '{"sky": "sun"}' },
    { role: "assistant", content: "Sun." },
  ];
  const tools = [
    { type: "function", function: { name: "get_weather", description: "Weather of a city", parameters: {} } },
  ];

  test("only appends text when a conversation grows", async () => {
    const texts = await Promise.all(
      messages.map((_, at) =>
        template.renderText({ messages: messages.slice(0, at + 1), tools, addGenerationPrompt: false }),
      ),
    );
    for (const [at, text] of texts.entries()) expect(text.startsWith(texts[at - 1] ?? "")).toBe(true);
  });

  test("lists the tools and writes calls in the Hermes form", async () => {
    const text = await template.renderText({ messages, tools, addGenerationPrompt: false });
    expect(text).toContain("Be brief.\n\n<tools>\n{");
    expect(text).toContain(
      '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>\n<tool_call>\n',
    );
    expect(text).toContain('<|im_start|>tool\n<tool_response>\n{"sky": "sun"}\n</tool_response><|im_end|>\n');
  });

  test("asks for an answer in the role of the assistant", async () => {
    const { text, ids } = await template.render({ messages: [{ role: "user", content: "Hi" }] });
    expect(text).toBe("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
    expect(tokenizer.decode(ids)).toBe(text);
  });
});

describe("the starter's training data", () => {
  test.each(taskNames)("is encoded as the tokenizer encodes it: %s", (task) => {
    const examples = examplesOf(task, "training", 2);
    for (let count = 0; count < 20; count++) {
      const example = examples.next().value;
      const { tokens, answer } = encode(example);
      const { prompt, answer: text } = render(example);
      expect(tokens).toEqual([...tokenizer.encode(prompt + text)]);
      expect(tokens.slice(answer)).toEqual([...tokenizer.encode(text)]);
      expect(tokens.at(-1)).toBe(tokenizer.idOf(isPassage(example) ? "<|endoftext|>" : "<|im_end|>"));
    }
  });

  test("has the same batches when a run is resumed", () => {
    const fromStart = batches(encode, 1, 0);
    const all = Array.from({ length: 8 }, () => fromStart.next().value);
    const resumed = batches(encode, 1, 5);
    expect(Array.from({ length: 3 }, () => resumed.next().value)).toEqual(all.slice(5));
  });

  test("fills its rows, counts answers in full and prompts a little", () => {
    const source = batches(encode, 1, 0);
    for (let count = 0; count < 20; count++) {
      const batch = source.next().value;
      const tokens = batch.reduce((sum, row) => sum + row.tokens.length, 0);
      expect(tokens).toBeGreaterThan(0.5 * 1024);
      expect(tokens).toBeLessThanOrEqual(1024);
      for (const { tokens, mask, weights } of batch) {
        for (const [at, token] of tokens.entries()) {
          if (token === tokenizer.idOf("<|im_start|>") && mask[at] === 1) expect(weights?.[at]).toBe(0.1);
        }
        expect(mask[0]).toBe(0);
      }
      expect(totalWeight(batch)).toBeGreaterThan(0.15 * tokens);
    }
  });
});

describe("learning byte pairs", () => {
  test("merges the most frequent pair first, and words only within themselves", () => {
    const { vocabulary, merges } = learnBytePairs(["low lower lowest", "low"], 259);
    expect(merges).toEqual([
      ["l", "o"],
      ["lo", "w"],
      ["Ġ", "low"],
    ]);
    expect(vocabulary.slice(256)).toEqual(["lo", "low", "Ġlow"]);
  });

  test("stops when no pair is left to merge", () => {
    expect(learnBytePairs(["a", "b"], 300).vocabulary).toHaveLength(256);
  });

  test("numbers added tokens after the merges", () => {
    const files = tokenizerFiles(learnBytePairs(["aa aa"], 257), "", 8);
    expect(files["generation_config.json"]).toMatchObject({ eos_token_id: [260, 257], pad_token_id: 258 });
  });
});
