import { AttributeShapes } from "@heddle/trace-model";

/** Keys whose shapes are kept. */
const maxSenders = 16;

/** Approximate bytes of the shapes of all senders. */
export const senderShapesBytes = maxSenders * 2e6;

/**
 * The shapes of attributes of the keys that export most recently. Each key has its own: one that sends ever new names
 * does not make the exports of others slower.
 */
export class SenderShapes {
  readonly #byKey = new Map<string, AttributeShapes>();

  of(keyId: string): AttributeShapes {
    const shapes = this.#byKey.get(keyId) ?? new AttributeShapes();
    this.#byKey.delete(keyId);
    this.#byKey.set(keyId, shapes);
    const [oldest] = this.#byKey.keys();
    if (this.#byKey.size > maxSenders && oldest !== undefined) this.#byKey.delete(oldest);
    return shapes;
  }
}
