import type { BytePairs } from "./byte-pairs.js";
import { piecePattern } from "./byte-pairs.js";

/**
 * Tokens that no merge produces. As in the Qwen3 family, the tags of tools and thoughts are text, not control tokens.
 */
export const addedTokens = [
  { content: "<|endoftext|>", special: true },
  { content: "<|pad|>", special: true },
  { content: "<|im_start|>", special: true },
  { content: "<|im_end|>", special: true },
  { content: "<tool_call>", special: false },
  { content: "</tool_call>", special: false },
  { content: "<tool_response>", special: false },
  { content: "</tool_response>", special: false },
  { content: "<think>", special: false },
  { content: "</think>", special: false },
] as const;

interface TokenizerFiles {
  "tokenizer.json": object;
  "tokenizer_config.json": object;
  "generation_config.json": object;
}

/** Returns the tokenizer files of a Hugging Face directory. */
export function tokenizerFiles(pairs: BytePairs, chatTemplate: string, contextLength: number): TokenizerFiles {
  const first = pairs.vocabulary.length;
  const added = addedTokens.map(({ content, special }, at) => {
    const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special };
    return { id: first + at, content, ...flags };
  });
  const idOf = (content: (typeof addedTokens)[number]["content"]) =>
    first + addedTokens.findIndex((token) => token.content === content);
  return {
    "tokenizer.json": {
      version: "1.0",
      truncation: null,
      padding: null,
      added_tokens: added,
      normalizer: null,
      pre_tokenizer: {
        type: "Sequence",
        pretokenizers: [
          { type: "Split", pattern: { Regex: piecePattern }, behavior: "Isolated", invert: false },
          { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false },
        ],
      },
      post_processor: null,
      decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
      model: {
        type: "BPE",
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: false,
        vocab: Object.fromEntries(pairs.vocabulary.map((spelling, id) => [spelling, id])),
        merges: pairs.merges.map((merge) => merge.join(" ")),
      },
    },
    "tokenizer_config.json": {
      tokenizer_class: "PreTrainedTokenizerFast",
      added_tokens_decoder: Object.fromEntries(added.map(({ id, ...token }) => [id, token])),
      bos_token: null,
      eos_token: "<|im_end|>",
      pad_token: "<|pad|>",
      unk_token: null,
      clean_up_tokenization_spaces: false,
      model_max_length: contextLength,
      chat_template: chatTemplate,
    },
    "generation_config.json": {
      eos_token_id: [idOf("<|im_end|>"), idOf("<|endoftext|>")],
      pad_token_id: idOf("<|pad|>"),
      do_sample: true,
      temperature: 1,
    },
  };
}
