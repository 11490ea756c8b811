import type { ConstraintSession, ConstraintVocabulary } from "../src/constraints.js";

/** Numbers from 0 to 1, the same ones for a seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function allowedTokens(mask: Int32Array): number[] {
  return Array.from({ length: mask.length * 32 }, (_, token) => token).filter(
    (token) => (((mask[token >>> 5] ?? 0) >>> (token & 31)) & 1) === 1,
  );
}

/**
 * Draws allowed tokens uniformly, but with a preference for closing characters that keeps texts short, until the
 * constraint allows the end. Returns the text without the end-of-text token, or undefined after `maxTokens`.
 */
export async function randomWalk(
  session: ConstraintSession,
  vocabulary: ConstraintVocabulary,
  random: () => number,
  maxTokens = 400,
): Promise<string | undefined> {
  const bytes: Uint8Array[] = [];
  const ends = new Set(vocabulary.eosIds);
  const closing = new Set(Array.from('"}],:', (sign) => sign.charCodeAt(0)));
  for (let step = 0; step < maxTokens; step++) {
    const { mask } = await session.next();
    const allowed = allowedTokens(mask);
    const preferred = allowed.filter((token) => ends.has(token) || (closing.has(token) && step > 3));
    const pool = preferred.length > 0 && random() < 0.35 ? preferred : allowed;
    const token = pool[Math.floor(random() * pool.length)] ?? -1;
    session.accept(token);
    if (ends.has(token)) {
      await session.verify();
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(bytes));
    }
    bytes.push(vocabulary.tokenBytes(token));
  }
  return undefined;
}
