import { layoutOf } from "./attribute-layout.js";
import type { AttributeLayout } from "./attribute-layout.js";

/** Memory budget of the shapes of a sender, in approximate bytes. */
const maxSize = 2_000_000;

/**
 * The keys of attributes, in order. Spans of one program carry the same few lists of keys, so what follows from the
 * keys alone is computed once and kept with the shape.
 */
export class AttributeShape {
  readonly before: AttributeShape | undefined;
  /** The last key. */
  readonly key: string;
  readonly #budget: { left: number };
  #next: Map<string, AttributeShape> | undefined;
  #likely: AttributeShape | undefined;
  #keyBytes: Uint8Array | undefined;
  #layout: AttributeLayout | undefined;

  constructor(budget: { left: number }, before?: AttributeShape, key = "") {
    this.#budget = budget;
    this.before = before;
    this.key = key;
  }

  /** The shape with one more key. */
  with(key: string): AttributeShape {
    let next = this.#next?.get(key);
    if (next === undefined) {
      next = new AttributeShape(this.#budget, this, key);
      if (!this.#reserve(600 + 4 * key.length)) return next;
      this.#next ??= new Map();
      this.#next.set(key, next);
    }
    this.#likely = next;
    return next;
  }

  /** What came after this shape the last time: spans of one kind often follow each other. */
  get likely(): AttributeShape | undefined {
    return this.#likely;
  }

  /** The last key as UTF-8. */
  get keyBytes(): Uint8Array {
    return (this.#keyBytes ??= new TextEncoder().encode(this.key));
  }

  get layout(): AttributeLayout {
    if (this.#layout !== undefined) return this.#layout;
    const keys = keysOf(this);
    const layout = layoutOf(keys);
    if (this.#reserve(keys.reduce((size, key) => size + 400 + 8 * key.length, 5000))) this.#layout = layout;
    return layout;
  }

  /**
   * Whether the memory budget allows keeping something; once it is spent, the next list of attributes starts from an
   * empty shape.
   */
  #reserve(size: number): boolean {
    this.#budget.left -= size;
    return this.#budget.left >= 0;
  }
}

export function keysOf(shape: AttributeShape): string[] {
  const keys: string[] = [];
  for (let at = shape; at.before !== undefined; at = at.before) keys.push(at.key);
  return keys.toReversed();
}

/** The shapes of the exports of one sender. New keys cannot fill the memory: all shapes are dropped when the budget is spent. */
export class AttributeShapes {
  #budget = { left: maxSize };
  #empty = new AttributeShape(this.#budget);

  /** The shape without keys. */
  get empty(): AttributeShape {
    if (this.#budget.left < 0) {
      this.#budget = { left: maxSize };
      this.#empty = new AttributeShape(this.#budget);
    }
    return this.#empty;
  }
}
