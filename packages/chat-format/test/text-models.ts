import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Files of a model directory in a new temporary directory: text as it is, everything else as JSON. */
export async function temporaryModel(files: Record<string, unknown>): Promise<{ directory: string } & AsyncDisposable> {
  const directory = await mkdtemp(join(tmpdir(), "heddle-text-"));
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(directory, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  return { directory, [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) };
}

const alphabet = Array.from({ length: 256 }, (_, byte) => byte).reduce<{ characters: string[]; others: number }>(
  ({ characters, others }, byte) => {
    const prints = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    characters.push(String.fromCharCode(prints ? byte : 256 + others));
    return { characters, others: prints ? others : others + 1 };
  },
  { characters: [], others: 0 },
).characters;

const wordPattern = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

/**
 * Ids 0..255 are the bytes, then the merges ("h e"), then the added tokens; names that end in ":plain" are not special.
 */
export function byteLevelTokenizer(merges: string[], added: string[]): Record<string, unknown> {
  const vocab = Object.fromEntries(
    [...alphabet, ...merges.map((merge) => merge.replace(" ", ""))].map((token, id) => [token, id]),
  );
  const first = Object.keys(vocab).length;
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: added.map((name, index) => ({
      id: first + index,
      content: name.replace(/:plain$/, ""),
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: !name.endsWith(":plain"),
    })),
    normalizer: null,
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "Split", pattern: { Regex: wordPattern }, behavior: "Isolated", invert: false },
        { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
    post_processor: { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false },
    decoder: { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab,
      merges,
    },
  };
}

/** Enough for ChatML and Llama-3-like headers alike. */
export const chatTokens = [
  "<|endoftext|>",
  "<|im_start|>",
  "<|im_end|>",
  "<|begin_of_text|>",
  "<|start_header_id|>",
  "<|end_header_id|>",
  "<|eot_id|>",
  "<think>:plain",
  "</think>:plain",
  "<tool_call>:plain",
  "</tool_call>:plain",
];

export const chatMerges = [
  "h e",
  "l l",
  "he ll",
  "hell o",
  "Ġ w",
  "o r",
  "Ġw or",
  "l d",
  "Ġwor ld",
  "y e",
  "ye s",
  "n o",
  "u s",
  "us er",
  "e r",
  "Ċ Ċ",
  "m a",
  "a s",
  "Ġ yes",
].toSorted((a, b) => Number(a === "us er") - Number(b === "us er"));

/** As Llama 2 has it: `▁` is a space, bytes that are not a token are `<0xNN>`, the text begins with an added space. */
export function sentencePieceTokenizer(): Record<string, unknown> {
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
  const letters = "▁abcdefghijklmnopqrstuvwxyzé".split("");
  const merges = ["h e", "l l", "▁ he", "▁he ll", "▁hell o"];
  const tokens = ["<unk>", "<s>", "</s>", ...bytes, ...letters, ...merges.map((merge) => merge.replace(" ", ""))];
  return {
    version: "1.0",
    added_tokens: ["<unk>", "<s>", "</s>"].map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: {
      type: "Sequence",
      normalizers: [
        { type: "Prepend", prepend: "▁" },
        { type: "Replace", pattern: { String: " " }, content: "▁" },
      ],
    },
    pre_tokenizer: null,
    post_processor: {
      type: "TemplateProcessing",
      single: [{ SpecialToken: { id: "<s>", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
      pair: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "B", type_id: 1 } }],
      special_tokens: { "<s>": { id: "<s>", ids: [1], tokens: ["<s>"] } },
    },
    decoder: {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: { String: "▁" }, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
        { type: "Strip", content: " ", start: 1, stop: 0 },
      ],
    },
    model: {
      type: "BPE",
      unk_token: "<unk>",
      fuse_unk: true,
      byte_fallback: true,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges,
    },
  };
}
