/** The used part of a byte-pair model of the library. */
export interface WordModel {
  /** Pairs of tokens in the order of their ranks. */
  readonly merges: ReadonlyArray<readonly [left: string, right: string]>;
  readonly end_of_word_suffix?: string | null | undefined;
  readonly continuing_subword_suffix?: string | null | undefined;
  /** The tokens of a word. */
  bpe(word: string): string[];
}

/** Units of UTF-16. The library keeps the tokens of shorter words. */
const longWord = 256;

/**
 * Makes the model merge long words on numbers in typed arrays. The library makes objects and texts for each pair, with which
 * one word of a million letters takes several seconds. The tokens are the same.
 */
export function mergeLongWordsFast(model: WordModel): void {
  const { end_of_word_suffix: wordEnd, continuing_subword_suffix: tokenEnd } = model;
  const ofShortWord = model.bpe.bind(model);
  let merges: Merges | undefined;
  model.bpe = (word) => {
    if (word.length < longWord) return ofShortWord(word);
    merges ??= new Merges(model.merges);
    const tokens = merges.tokensOf(word, wordEnd ?? "");
    return tokenEnd ? tokens.map((token, at) => (at < tokens.length - 1 ? token + tokenEnd : token)) : tokens;
  };
}

/** Above every number of a token. */
const tokenRange = 2 ** 26;
/** Above every position in a word. */
const positionRange = 2 ** 23;
const none = -1;

class Merges {
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [];
  /** By the numbers of both tokens. */
  readonly #ranks = new Map<number, number>();
  /** The number of the merged token, by rank. */
  readonly #merged: number[] = [];

  constructor(merges: WordModel["merges"]) {
    for (const [rank, [left, right]] of merges.entries()) {
      this.#ranks.set(this.#numberOf(left) * tokenRange + this.#numberOf(right), rank);
      this.#merged.push(this.#numberOf(left + right));
    }
  }

  #numberOf(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    this.#numbers.set(text, this.#texts.length);
    return this.#texts.push(text) - 1;
  }

  /** Merges the pair of the least rank as long as there is one, of equal ones the first. */
  tokensOf(word: string, wordEnd: string): string[] {
    const characters = Array.from(word);
    characters[characters.length - 1] += wordEnd;
    const { length } = characters;
    const tokens = new Int32Array(length);
    const next = new Int32Array(length);
    const previous = new Int32Array(length);
    for (let at = 0; at < length; at++) {
      tokens[at] = this.#numbers.get(characters[at]!) ?? none;
      next[at] = at + 1 < length ? at + 1 : none;
      previous[at] = at - 1;
    }
    const rankAt = (at: number): number | undefined => {
      const right = next[at]!;
      if (right === none || tokens[at] === none || tokens[right] === none) return undefined;
      return this.#ranks.get(tokens[at]! * tokenRange + tokens[right]!);
    };
    const pairs = new LeastFirst(length);
    const add = (at: number): void => {
      const rank = rankAt(at);
      if (rank !== undefined) pairs.add(rank * positionRange + at);
    };
    for (let at = 0; at < length; at++) add(at);
    for (let pair = pairs.take(); pair !== undefined; pair = pairs.take()) {
      const at = pair % positionRange;
      const rank = Math.floor(pair / positionRange);
      // One of them has been merged with another one since.
      if (rankAt(at) !== rank) continue;
      const right = next[at]!;
      tokens[at] = this.#merged[rank]!;
      tokens[right] = none;
      next[at] = next[right]!;
      if (next[at] !== none) previous[next[at]] = at;
      if (previous[at] !== none) add(previous[at]!);
      add(at);
    }
    const texts: string[] = [];
    for (let at = 0; at !== none; at = next[at]!) {
      texts.push(tokens[at] === none ? characters[at]! : this.#texts[tokens[at]!]!);
    }
    return texts;
  }
}

/** Numbers, of which the least is taken first. */
class LeastFirst {
  #heap: Float64Array;
  #size = 0;

  constructor(capacity: number) {
    this.#heap = new Float64Array(capacity);
  }

  add(value: number): void {
    if (this.#size === this.#heap.length) {
      const larger = new Float64Array(2 * this.#size);
      larger.set(this.#heap);
      this.#heap = larger;
    }
    const heap = this.#heap;
    let at = this.#size++;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (heap[above]! <= value) break;
      heap[at] = heap[above]!;
      at = above;
    }
    heap[at] = value;
  }

  take(): number | undefined {
    if (this.#size === 0) return undefined;
    const heap = this.#heap;
    const least = heap[0];
    const value = heap[--this.#size]!;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= this.#size) break;
      if (below + 1 < this.#size && heap[below + 1]! < heap[below]!) below++;
      if (heap[below]! >= value) break;
      heap[at] = heap[below]!;
      at = below;
    }
    heap[at] = value;
    return least;
  }
}
