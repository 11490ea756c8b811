import { layoutOf } from "./attribute-layout.js";
import type { AttributeLayout } from "./attribute-layout.js";

/** What all shapes may take before they are forgotten, in roughly bytes. */
const maxSize = 8_000_000;

/**
 * The keys of attributes, in order. Spans of one program carry the same few lists of keys, so what follows from the
 * keys alone is worked out once and kept with the shape.
 */
export class AttributeShape {
  readonly before: AttributeShape | undefined;
  /** The last key. */
  readonly key: string;
  readonly #room: { left: number };
  #next: Map<string, AttributeShape> | undefined;
  #likely: AttributeShape | undefined;
  #keyBytes: Uint8Array | undefined;
  #layout: AttributeLayout | undefined;

  constructor(room: { left: number }, before?: AttributeShape, key = "") {
    this.#room = room;
    this.before = before;
    this.key = key;
  }

  /** The shape with one more key. */
  with(key: string): AttributeShape {
    let next = this.#next?.get(key);
    if (next === undefined) {
      next = new AttributeShape(this.#room, this, key);
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

  /** Whether there is room to keep something; once there is none, the next list of attributes begins anew. */
  #reserve(size: number): boolean {
    this.#room.left -= size;
    return this.#room.left >= 0;
  }
}

export function keysOf(shape: AttributeShape): string[] {
  const keys: string[] = [];
  for (let at = shape; at.before !== undefined; at = at.before) keys.push(at.key);
  return keys.toReversed();
}

let room = { left: maxSize };
let empty = new AttributeShape(room);

/** The shape without keys. Keys that never end cannot fill the memory: all shapes are forgotten then. */
export function emptyShape(): AttributeShape {
  if (room.left < 0) {
    room = { left: maxSize };
    empty = new AttributeShape(room);
  }
  return empty;
}
