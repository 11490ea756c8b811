import { Tokenizer as HuggingFaceTokenizer } from "@huggingface/tokenizers";
import { HeddleError } from "@heddle/errors";
import { mergeLongWordsFast } from "./long-words.js";
import type { WordModel } from "./long-words.js";
import { readModelJson } from "./model-file.js";
import { isJsonObject } from "@heddle/exact-json";
import type { PackedVocabulary } from "./packed-vocabulary.js";
import { packVocabulary } from "./packed-vocabulary.js";
import { addsPrefixSpace, spellingOf, withoutPrefixSpace } from "./token-bytes.js";
import type { TokenVocabulary } from "./token-vocabulary.js";
import { readPackedVocabulary } from "./token-vocabulary.js";
import type { Vocabulary } from "./vocabulary.js";
import { readVocabulary } from "./vocabulary.js";

export interface EncodeOptions {
  addSpecialTokens?: boolean | undefined;
  continued?: boolean | undefined;
  maxTokens?: number | undefined;
  /** Returns only so many tokens, the last ones. */
  lastTokens?: number | undefined;
}

export interface Tokenizer extends TokenVocabulary {
  /** All but `encode`, to be sent to another thread. */
  readonly packed: PackedVocabulary;
  /**
   * Encodes text. The text of an added token (`<|im_end|>`) becomes that token. `addSpecialTokens` (default false) adds
   * the tokenizer's tokens for the beginning and the end. `continued` means that the text follows other text: no space
   * is prepended. Throws `too_large` above `maxTokens`, without encoding a text that is certain to exceed it.
   */
  encode(text: string, options?: EncodeOptions): Int32Array;
}

const maxTokenizerBytes = 128 * 1024 * 1024;
const maxConfigBytes = 16 * 1024 * 1024;
const maxTextLength = 4 * 1024 * 1024;

/**
 * Opens the tokenizer of a Hugging Face directory: `tokenizer.json` (byte-level or SentencePiece BPE) and, if present,
 * `tokenizer_config.json`, `special_tokens_map.json`, `generation_config.json` and `config.json`. Rejects with
 * `not_found` without a tokenizer.json, `invalid` with file and reason, and `unsupported` for other kinds of
 * tokenizers.
 */
export async function openTokenizer(directory: string): Promise<Tokenizer> {
  const definition = await readModelJson(directory, "tokenizer.json", maxTokenizerBytes);
  if (!definition)
    throw new HeddleError("not_found", "there is no tokenizer.json", { details: { file: "tokenizer.json" } });
  const [config = {}, map = {}, generation = {}, model = {}] = await Promise.all(
    ["tokenizer_config.json", "special_tokens_map.json", "generation_config.json", "config.json"].map((name) =>
      readModelJson(directory, name, maxConfigBytes),
    ),
  );
  try {
    const vocabulary = readVocabulary(definition);
    const specialTokens = { ...namedTokens(map), ...namedTokens(config) };
    const eosIds = endIds(vocabulary, specialTokens["eos_token"], generation["eos_token_id"] ?? model["eos_token_id"]);
    return tokenizerOf(definition, config, { vocabulary, specialTokens, eosIds });
  } catch (error) {
    const code = error instanceof HeddleError ? error.code : "invalid";
    const reason = error instanceof Error ? error.message : String(error);
    throw new HeddleError(code, `tokenizer.json: ${reason}`, { details: { file: "tokenizer.json" } });
  }
}

/** The used part of the library. Its declarations import modules by names that this module resolution does not find. */
interface Encoder {
  readonly model: WordModel;
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
}

function openEncoder(definition: Record<string, unknown>, config: Record<string, unknown>): Encoder {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its types do not say what kind of model it has
  const encoder = new HuggingFaceTokenizer(definition, config) as unknown as Encoder;
  mergeLongWordsFast(encoder.model);
  return encoder;
}

function tokenizerOf(
  definition: Record<string, unknown>,
  config: Record<string, unknown>,
  {
    vocabulary,
    specialTokens,
    eosIds,
  }: { vocabulary: Vocabulary; specialTokens: Record<string, string>; eosIds: number[] },
): Tokenizer {
  const spelling = spellingOf(definition);
  if (!spelling) throw new HeddleError("unsupported", "only byte-level and SentencePiece decoders are supported");
  const library = openEncoder(definition, config);
  // Created on first use, and only if it would differ: a large vocabulary takes time and memory.
  let continuedLibrary: Encoder | undefined;
  const packed = packVocabulary(vocabulary, { spelling, specialTokens, eosIds });

  return {
    ...readPackedVocabulary(packed),
    packed,
    encode(
      text,
      { addSpecialTokens = false, continued = false, maxTokens = Number.POSITIVE_INFINITY, lastTokens } = {},
    ) {
      if (text.length > maxTextLength) {
        throw new HeddleError("too_large", `text of ${text.length} characters; at most ${maxTextLength} are tokenized`);
      }
      const minTokens = Math.ceil(Buffer.byteLength(text) / packed.longest);
      // Twice, because white space around some control tokens is dropped.
      if (minTokens > 2 * maxTokens) throw tooManyTokens(`more than ${minTokens}`, maxTokens);
      if (continued)
        continuedLibrary ??= addsPrefixSpace(definition)
          ? openEncoder(withoutPrefixSpace(definition), config)
          : library;
      const { ids } = (continued && continuedLibrary ? continuedLibrary : library).encode(text, {
        add_special_tokens: addSpecialTokens,
      });
      const missing = ids.findIndex((id) => !Number.isInteger(id));
      if (missing >= 0) throw new HeddleError("invalid", "the vocabulary has no token for a part of the text");
      if (ids.length > maxTokens) throw tooManyTokens(String(ids.length), maxTokens);
      return Int32Array.from(lastTokens === undefined ? ids : ids.slice(Math.max(0, ids.length - lastTokens)));
    },
  };
}

function tooManyTokens(count: string, limit: number): HeddleError {
  return new HeddleError("too_large", `the text has ${count} tokens; at most ${limit} are allowed`);
}

/** Returns the text of each token of `{ bos_token: "<s>", eos_token: { content: "</s>", … } }`. */
function namedTokens(config: Record<string, unknown>): Record<string, string> {
  const named: Record<string, string> = {};
  for (const [name, value] of Object.entries(config)) {
    const content = isJsonObject(value) ? value["content"] : value;
    if (/^[a-z_]+_token$/.test(name) && typeof content === "string") named[name] = content;
  }
  return named;
}

function endIds({ ids, tokens }: Vocabulary, own: string | undefined, configured: unknown): number[] {
  const listed = (Array.isArray(configured) ? configured : [configured]).filter(
    (id): id is number => Number.isInteger(id) && tokens[id] !== undefined,
  );
  const ownId = own === undefined ? undefined : ids.get(own);
  return [...new Set([...(ownId === undefined ? [] : [ownId]), ...listed])];
}
