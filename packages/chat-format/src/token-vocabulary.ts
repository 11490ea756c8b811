import type { PackedVocabulary } from "./packed-vocabulary.js";
import { findPacked, packedText, tokenKinds } from "./packed-vocabulary.js";

/** The tokens of a tokenizer, without what splits a text into them. */
export interface TokenVocabulary {
  /** Highest token id + 1. The output of a model may have more rows (padding). */
  readonly vocabularySize: number;
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

/** Reads a vocabulary that was packed, without making anything for each of its tokens. */
export function readPackedVocabulary(packed: PackedVocabulary): TokenVocabulary {
  const { bytes, spellings, kinds, leadingSpace, eosIds, specialTokens } = packed;
  const specialIds = new Set(packed.specialIds);
  const tokenBytes = (id: number): Uint8Array => packedText(bytes, id);
  const idOfBytes = (wanted: Uint8Array): number | undefined => findPacked(bytes, packed.idsByBytes, wanted);
  return {
    vocabularySize: kinds.length,
    decode(ids, { skipSpecialTokens = false } = {}) {
      const kept = Array.from(ids).filter((id) => !(skipSpecialTokens && specialIds.has(id)));
      const text = textOf(kept.map(tokenBytes));
      const first = kept[0];
      const cut = leadingSpace && first !== undefined && kinds[first] !== tokenKinds.added && text.startsWith(" ");
      return cut ? text.slice(1) : text;
    },
    tokenBytes,
    tokenText: (id) => textOf([tokenBytes(id)]),
    idOf(token) {
      const text = new TextEncoder().encode(token);
      return idOfBytes(text) ?? findPacked(spellings, packed.idsBySpelling, text);
    },
    idOfBytes,
    has: (id) => (kinds[id] ?? tokenKinds.none) !== tokenKinds.none,
    specialIds,
    eosIds,
    specialTokens,
  };
}

function textOf(parts: Uint8Array[]): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(parts));
}
