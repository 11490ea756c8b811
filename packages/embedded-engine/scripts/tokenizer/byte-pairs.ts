/** Pieces of text before merging: a word with the space before it, one digit, a run of punctuation, white space. */
export const piecePattern = String.raw` ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

/**
 * The character that represents each byte in tokenizer files, as in GPT-2: itself if it is printable, else the next
 * unused one from U+0100.
 */
const byteCharacters: readonly string[] = (() => {
  const visible = (byte: number) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(visible(byte) ? byte : next++));
})();

export interface BytePairs {
  /** Tokens by id. The first 256 are the bytes. */
  vocabulary: string[];
  /** Merges in the order of their application. */
  merges: [left: string, right: string][];
}

interface Piece {
  count: number;
  ids: number[];
}

/**
 * Learns byte-pair merges until there are `size` tokens. Of equally frequent pairs, the one with lower ids is merged
 * first.
 */
export function learnBytePairs(texts: Iterable<string>, size: number): BytePairs {
  const pieces = countPieces(texts);
  const vocabulary = [...byteCharacters];
  const merges: BytePairs["merges"] = [];
  const pairs = new PairCounts(pieces);
  while (vocabulary.length < size) {
    const best = pairs.mostFrequent();
    if (!best) break;
    const [left, right] = best;
    const merged = vocabulary.length;
    const spelling: [string, string] = [vocabulary[left] ?? "", vocabulary[right] ?? ""];
    vocabulary.push(spelling.join(""));
    merges.push(spelling);
    pairs.merge(left, right, merged);
  }
  return { vocabulary, merges };
}

function countPieces(texts: Iterable<string>): Piece[] {
  const counts = new Map<string, number>();
  const pattern = new RegExp(piecePattern, "gu");
  for (const text of texts) {
    for (const [piece] of text.matchAll(pattern)) counts.set(piece, (counts.get(piece) ?? 0) + 1);
  }
  return [...counts].map(([piece, count]) => ({ count, ids: [...new TextEncoder().encode(piece)] }));
}

/** The frequency of each pair of adjacent tokens, and the pieces that contain it. */
class PairCounts {
  readonly #counts = new Map<number, number>();
  readonly #places = new Map<number, Set<Piece>>();

  constructor(pieces: Piece[]) {
    for (const piece of pieces) this.#add(piece, 1);
  }

  mostFrequent(): [left: number, right: number] | undefined {
    let best: number | undefined;
    let highest = 1;
    for (const [pair, count] of this.#counts) {
      if (count > highest || (count === highest && best !== undefined && pair < best)) [best, highest] = [pair, count];
    }
    return best === undefined ? undefined : [Math.floor(best / 65536), best % 65536];
  }

  merge(left: number, right: number, merged: number): void {
    for (const piece of this.#places.get(left * 65536 + right) ?? []) {
      this.#add(piece, -1);
      const ids: number[] = [];
      for (let at = 0; at < piece.ids.length; at++) {
        const here = piece.ids[at] ?? 0;
        const both = here === left && piece.ids[at + 1] === right;
        ids.push(both ? merged : here);
        if (both) at++;
      }
      piece.ids = ids;
      this.#add(piece, 1);
    }
    this.#counts.delete(left * 65536 + right);
  }

  #add(piece: Piece, sign: 1 | -1): void {
    for (let at = 1; at < piece.ids.length; at++) {
      const pair = (piece.ids[at - 1] ?? 0) * 65536 + (piece.ids[at] ?? 0);
      this.#counts.set(pair, (this.#counts.get(pair) ?? 0) + sign * piece.count);
      const places = this.#places.get(pair) ?? new Set();
      if (sign === 1) this.#places.set(pair, places.add(piece));
    }
  }
}
