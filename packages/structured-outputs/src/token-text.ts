/** Masks that depend only on the vocabulary. */
export interface TokenBits {
  /** Tokens whose bytes can be part of UTF-8 text, and the end-of-text tokens. */
  usable: Int32Array;
  end: Int32Array;
  /** Tokens that are forbidden after a text whose last byte is the key. */
  notAfter: ReadonlyMap<number, Int32Array>;
}

/**
 * Second bytes that UTF-8 forbids after some first bytes: overlong encodings, surrogates, and values beyond Unicode.
 */
const invalidSecondBytes: ReadonlyMap<number, readonly [first: number, last: number]> = new Map([
  [0xe0, [0x80, 0x9f]],
  [0xed, [0xa0, 0xbf]],
  [0xf0, [0x80, 0x8f]],
  [0xf4, [0x90, 0xbf]],
]);
const isNeverUtf8 = (byte: number) => byte === 0xc0 || byte === 0xc1 || byte >= 0xf5;

/** Computes the masks that exclude invalid UTF-8, which xgrammar allows. */
export function tokenBits(bytes: Uint8Array, ends: Uint32Array, size: number, eosIds: readonly number[]): TokenBits {
  const words = Math.ceil(size / 32);
  const [usable, end] = [new Int32Array(words), new Int32Array(words)];
  const notAfter = new Map([...invalidSecondBytes.keys()].map((byte) => [byte, new Int32Array(words)]));
  for (let token = 0, from = 0; token < ends.length; token++) {
    const text = bytes.subarray(from, ends[token]);
    from = ends[token] ?? from;
    const [first] = text;
    if (first === undefined) continue;
    if (text.every((byte, index) => !isNeverUtf8(byte) && !isInvalidPair(text[index - 1] ?? 0, byte)))
      setBit(usable, token);
    for (const [byte, bits] of notAfter) if (isInvalidPair(byte, first)) setBit(bits, token);
  }
  for (const token of eosIds) {
    setBit(usable, token);
    setBit(end, token);
  }
  return { usable, end, notAfter };
}

function isInvalidPair(first: number, second: number): boolean {
  const invalid = invalidSecondBytes.get(first);
  return invalid !== undefined && second >= invalid[0] && second <= invalid[1];
}

function setBit(mask: Int32Array, token: number): void {
  mask[token >>> 5] = (mask[token >>> 5] ?? 0) | (1 << (token & 31));
}

/** Returns whether a token outside `others` is allowed. */
export function hasOtherBits(mask: Int32Array, others: Int32Array): boolean {
  return mask.some((word, index) => (word & ~(others[index] ?? 0)) !== 0);
}

/** Returns the text of tokens, or undefined if their bytes are not UTF-8. */
export function tokensText(tokens: readonly number[], bytes: Uint8Array, ends: Uint32Array): string | undefined {
  const parts = tokens.map((token) => bytes.subarray(token === 0 ? 0 : ends[token - 1], ends[token] ?? 0));
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(parts));
  } catch {
    return undefined;
  }
}
