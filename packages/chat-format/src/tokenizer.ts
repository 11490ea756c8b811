import { Tokenizer as HuggingFaceTokenizer } from "@huggingface/tokenizers";
import { HeddleError } from "@heddle/errors";
import { readModelJson } from "./model-file.js";
import { isJsonObject } from "@heddle/exact-json";
import { bytesOfToken, addsPrefixSpace, spellingOf, withoutPrefixSpace } from "./token-bytes.js";
import type { Vocabulary } from "./vocabulary.js";
import { readVocabulary } from "./vocabulary.js";

export interface EncodeOptions {
  addSpecialTokens?: boolean | undefined;
  continued?: boolean | undefined;
  maxTokens?: number | undefined;
}

export interface Tokenizer {
  /** Highest token id + 1. The output of a model may have more rows (padding). */
  readonly vocabularySize: number;
  /**
   * Encodes text. The text of an added token (`<|im_end|>`) becomes that token. `addSpecialTokens` (default false) adds
   * the tokenizer's tokens for the beginning and the end. `continued` means that the text follows other text: no space
   * is prepended. Throws `too_large` above `maxTokens`, without encoding a text that is certain to exceed it.
   */
  encode(text: string, options?: EncodeOptions): Int32Array;
  /** Decodes tokens. Bytes that are not UTF-8 become U+FFFD. Ids without a token are ignored. */
  decode(ids: ArrayLike<number>, options?: { skipSpecialTokens?: boolean }): string;
  /** Returns the bytes of a token; empty for an id without a token. The caller must not change them. */
  tokenBytes(id: number): Uint8Array;
  /** Returns the text of one token. An incomplete character becomes U+FFFD. */
  tokenText(id: number): string;
  /** Returns the id of a token by its text (` yes`) or its entry in the vocabulary (`Ġyes`). */
  idOf(token: string): number | undefined;
  /** Returns the token with these bytes, the lowest id if there are several. */
  idOfBytes(bytes: Uint8Array): number | undefined;
  /** Returns whether a token has this id. */
  has(id: number): boolean;
  /** Tokens that `skipSpecialTokens` omits: `<|im_end|>`, not `<tool_call>`. */
  readonly specialIds: ReadonlySet<number>;
  /** End-of-text tokens, each of which ends a completion. The first is the tokenizer's. May be empty. */
  readonly eosIds: readonly number[];
  /** `bos_token`, `eos_token`, `pad_token`… for chat templates. */
  readonly specialTokens: Readonly<Record<string, string>>;
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
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
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
  const library: Encoder = new HuggingFaceTokenizer(definition, config);
  // Created on first use, and only if it would differ: a large vocabulary takes time and memory.
  let continuedLibrary: Encoder | undefined;
  const bytes = vocabulary.tokens.map((token, id) => {
    if (token === undefined) return noBytes;
    return vocabulary.added.has(id) ? new TextEncoder().encode(token) : bytesOfToken(token, spelling);
  });
  const longest = bytes.reduce((limit, { length }) => Math.max(limit, length), 1);
  const specialIds = new Set(vocabulary.special);
  for (const token of Object.values(specialTokens)) {
    const id = vocabulary.ids.get(token);
    if (id !== undefined) specialIds.add(id);
  }

  const tokenBytes = (id: number): Uint8Array => bytes[id] ?? noBytes;
  const tokenText = (id: number): string => textOf([tokenBytes(id)]);
  let idsByBytes: Map<string, number> | undefined;
  const idOfBytes = (wanted: Uint8Array): number | undefined => {
    idsByBytes ??= new Map(bytes.map((each, id) => [key(each), id] as const).toReversed());
    return wanted.length === 0 ? undefined : idsByBytes.get(key(wanted));
  };

  return {
    vocabularySize: vocabulary.tokens.length,
    encode(text, { addSpecialTokens = false, continued = false, maxTokens = Number.POSITIVE_INFINITY } = {}) {
      if (text.length > maxTextLength) {
        throw new HeddleError("too_large", `text of ${text.length} characters; at most ${maxTextLength} are tokenized`);
      }
      const minTokens = Math.ceil(Buffer.byteLength(text) / longest);
      // Twice, because white space around some control tokens is dropped.
      if (minTokens > 2 * maxTokens) throw tooManyTokens(`more than ${minTokens}`, maxTokens);
      if (continued)
        continuedLibrary ??= addsPrefixSpace(definition)
          ? new HuggingFaceTokenizer(withoutPrefixSpace(definition), config)
          : library;
      const { ids } = (continued && continuedLibrary ? continuedLibrary : library).encode(text, {
        add_special_tokens: addSpecialTokens,
      });
      const missing = ids.findIndex((id) => !Number.isInteger(id));
      if (missing >= 0) throw new HeddleError("invalid", "the vocabulary has no token for a part of the text");
      if (ids.length > maxTokens) throw tooManyTokens(String(ids.length), maxTokens);
      return Int32Array.from(ids);
    },
    decode(ids, { skipSpecialTokens = false } = {}) {
      const kept = Array.from(ids).filter((id) => !(skipSpecialTokens && specialIds.has(id)));
      const text = textOf(kept.map(tokenBytes));
      const first = kept[0];
      const cut = spelling.leadingSpace && first !== undefined && !vocabulary.added.has(first) && text.startsWith(" ");
      return cut ? text.slice(1) : text;
    },
    tokenBytes,
    tokenText,
    idOf: (token) => idOfBytes(new TextEncoder().encode(token)) ?? vocabulary.ids.get(token),
    idOfBytes,
    has: (id) => vocabulary.tokens[id] !== undefined,
    specialIds,
    eosIds,
    specialTokens,
  };
}

const noBytes = new Uint8Array();

function tooManyTokens(count: string, limit: number): HeddleError {
  return new HeddleError("too_large", `the text has ${count} tokens; at most ${limit} are allowed`);
}

function key(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

function textOf(parts: Uint8Array[]): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(parts));
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
