import { bytesOfToken } from "./token-bytes.js";
import type { Spelling } from "./token-bytes.js";
import type { Vocabulary } from "./vocabulary.js";

/** The tokens of a tokenizer as plain data, which a thread makes and another one reads as it is. */
export interface PackedVocabulary {
  /** Of all ids. */
  bytes: PackedTexts;
  /** The entries of the vocabulary, in UTF-8. */
  spellings: PackedTexts;
  /** Ids plus one by hash, 0 where there is none. */
  idsByBytes: Int32Array;
  idsBySpelling: Int32Array;
  /** By id: whether there is a token, and whether it is an added one. */
  kinds: Uint8Array;
  specialIds: readonly number[];
  eosIds: readonly number[];
  specialTokens: Readonly<Record<string, string>>;
  /** Decoding removes the space that encoding has put before the text. */
  leadingSpace: boolean;
  /** Bytes of the longest token. */
  longest: number;
}

interface PackedTexts {
  bytes: Uint8Array;
  /** Where the text of an id ends; that of the next one begins there. */
  ends: Uint32Array;
}

export const tokenKinds = { none: 0, ordinary: 1, added: 2 } as const;

export function packVocabulary(
  { tokens, ids, added, special }: Vocabulary,
  { spelling, specialTokens, eosIds }: { spelling: Spelling; specialTokens: Record<string, string>; eosIds: number[] },
): PackedVocabulary {
  const parts = tokens.map((token, id) => {
    if (token === undefined) return new Uint8Array();
    return added.has(id) ? encoder.encode(token) : bytesOfToken(token, spelling);
  });
  const bytes = packed(parts);
  const spellings = packed(tokens.map((token) => encoder.encode(token ?? "")));
  const named = Object.values(specialTokens).map((token) => ids.get(token));
  return {
    bytes,
    spellings,
    idsByBytes: hashTable(bytes, tokens.keys()),
    idsBySpelling: hashTable(spellings, ids.values()),
    kinds: Uint8Array.from(tokens, (token, id) => {
      if (token === undefined) return tokenKinds.none;
      return added.has(id) ? tokenKinds.added : tokenKinds.ordinary;
    }),
    specialIds: [...new Set([...special, ...named.filter((id) => id !== undefined)])],
    eosIds,
    specialTokens,
    leadingSpace: spelling.leadingSpace,
    longest: parts.reduce((most, { length }) => Math.max(most, length), 1),
  };
}

/** The bytes of an id; empty for one without a token. A view, which must not be changed. */
export function packedText({ bytes, ends }: PackedTexts, id: number): Uint8Array {
  const end = ends[id];
  return end === undefined ? noBytes : bytes.subarray(id === 0 ? 0 : ends[id - 1], end);
}

/** The id with this text: the first one that was entered into the table. */
export function findPacked(texts: PackedTexts, table: Int32Array, wanted: Uint8Array): number | undefined {
  if (wanted.length === 0) return undefined;
  const id = table[slotOf(texts, table, wanted)]! - 1;
  return id < 0 ? undefined : id;
}

const encoder = new TextEncoder();
const noBytes = new Uint8Array();

function packed(parts: readonly Uint8Array[]): PackedTexts {
  const ends = new Uint32Array(parts.length);
  let end = 0;
  for (const [id, { length }] of parts.entries()) ends[id] = end += length;
  const bytes = new Uint8Array(end);
  for (const [id, part] of parts.entries()) bytes.set(part, ends[id]! - part.length);
  return { bytes, ends };
}

/** At most half full, so that a search soon finds an empty place. */
function hashTable(texts: PackedTexts, ids: Iterable<number>): Int32Array {
  const table = new Int32Array(2 ** Math.ceil(Math.log2(2 * texts.ends.length + 2)));
  for (const id of ids) {
    const text = packedText(texts, id);
    if (text.length === 0) continue;
    const slot = slotOf(texts, table, text);
    if (table[slot] === 0) table[slot] = id + 1;
  }
  return table;
}

/** Where a text is, or where it would be entered. */
function slotOf(texts: PackedTexts, table: Int32Array, wanted: Uint8Array): number {
  let slot = hashOf(wanted) & (table.length - 1);
  while (table[slot] !== 0 && !equal(packedText(texts, table[slot]! - 1), wanted))
    slot = (slot + 1) & (table.length - 1);
  return slot;
}

/** FNV-1a; its high bits are mixed into the low ones, which alone are used. */
function hashOf(bytes: Uint8Array): number {
  let hash = 0x811c_9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x0100_0193);
  return (hash ^ (hash >>> 15)) >>> 0;
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}
