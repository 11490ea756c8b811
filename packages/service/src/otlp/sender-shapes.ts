import { AttributeShapes } from "@heddle/trace-model";
import { LRUCache } from "lru-cache";

/** Keys whose shapes are kept. */
const maxSenders = 16;

/** Approximate bytes of the shapes of all senders. */
export const senderShapesBytes = maxSenders * 2e6;

/**
 * The shapes of attributes of the keys that export most recently. Each key has its own: one that sends ever new names
 * does not make the exports of others slower.
 */
export class SenderShapes {
  readonly #byKey = new LRUCache<string, AttributeShapes>({ max: maxSenders });

  of(keyId: string): AttributeShapes {
    const shapes = this.#byKey.get(keyId) ?? new AttributeShapes();
    this.#byKey.set(keyId, shapes);
    return shapes;
  }
}
