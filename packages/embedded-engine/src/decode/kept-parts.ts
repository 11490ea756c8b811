import type { SamplingRequest } from "../sampling/sampling-request.js";

type Sharer = NonNullable<SamplingRequest["sharer"]>;

/** A part of prompts that begin alike: what follows the part before it. */
export interface PromptPart {
  readonly parent: PromptPart | undefined;
  /** Its tokens, by which the part before it finds it. */
  readonly name: string;
  /** Keys and values of its positions. */
  readonly block: Float32Array;
  readonly count: number;
  /** What follows a prompt that ends here. */
  readonly outputs: { logits: Float32Array; probabilities: Float32Array } | undefined;
  readonly next: Map<string, PromptPart>;
}

interface KeyParts {
  bytes: number;
  /** Least recently used first. */
  parts: Set<PromptPart>;
}

interface EntityParts {
  bytes: number;
  keys: Map<string | undefined, KeyParts>;
}

/**
 * Counts the bytes of the parts of prompts that keys and entities keep. Where memory is needed, whoever keeps the most
 * gives up what was not used for longest: nobody can evict what others keep by keeping more.
 */
export class KeptParts {
  readonly #entities = new Map<string | undefined, EntityParts>();
  readonly #owners = new Map<PromptPart, Sharer | undefined>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add(part: PromptPart, owner: Sharer | undefined): void {
    this.#owners.set(part, owner);
    this.#count(owner, bytesOf(part));
    this.#keyOf(owner).parts.add(part);
    part.parent?.next.set(part.name, part);
  }

  /** Notes the use of a part and of those before it, which outlive it. */
  use(part: PromptPart): void {
    for (let each: PromptPart | undefined = part; each && this.#owners.has(each); each = each.parent) {
      const { parts } = this.#keyOf(this.#owners.get(each));
      parts.delete(each);
      parts.add(each);
    }
  }

  /** Removes a part and all that follow it. */
  remove(part: PromptPart): void {
    for (const each of part.next.values()) this.remove(each);
    part.parent?.next.delete(part.name);
    if (!this.#owners.has(part)) return;
    const owner = this.#owners.get(part);
    this.#owners.delete(part);
    this.#keyOf(owner).parts.delete(part);
    this.#count(owner, -bytesOf(part));
  }

  /** Removes the part that is given up next, unless it is `except`. Returns whether one was removed. */
  evict(except?: PromptPart): boolean {
    for (;;) {
      const parts = this.#mostKept();
      if (!parts) return false;
      const last = find(parts, ({ next }) => next.size === 0);
      if (last === except && last) return false;
      if (last) {
        this.remove(last);
        return true;
      }
      // All are before parts of others, who keep them from now on.
      for (const part of Array.from(parts)) this.#handOver(part);
    }
  }

  #handOver(part: PromptPart): void {
    let last = part;
    for (let [next] = part.next.values(); next; [next] = next.next.values()) last = next;
    const [from, to] = [this.#owners.get(part), this.#owners.get(last)];
    this.#keyOf(from).parts.delete(part);
    this.#count(from, -bytesOf(part));
    this.#owners.set(part, to);
    this.#count(to, bytesOf(part));
    this.#keyOf(to).parts.add(part);
  }

  #mostKept(): Set<PromptPart> | undefined {
    return most(most(this.#entities.values())?.keys.values() ?? [])?.parts;
  }

  #keyOf(owner: Sharer | undefined): KeyParts {
    const entity = this.#entities.get(owner?.entity) ?? { bytes: 0, keys: new Map() };
    this.#entities.set(owner?.entity, entity);
    const key = entity.keys.get(owner?.key) ?? { bytes: 0, parts: new Set() };
    entity.keys.set(owner?.key, key);
    return key;
  }

  #count(owner: Sharer | undefined, bytes: number): void {
    const key = this.#keyOf(owner);
    const entity = this.#entities.get(owner?.entity);
    key.bytes += bytes;
    if (entity) entity.bytes += bytes;
    this.#bytes += bytes;
    if (key.bytes === 0) entity?.keys.delete(owner?.key);
    if (entity?.bytes === 0) this.#entities.delete(owner?.entity);
  }
}

/** Bytes of a part besides its arrays and its name. */
const partBytes = 256;

export function bytesOf({ name, block, outputs }: Pick<PromptPart, "name" | "block" | "outputs">): number {
  const ofOutputs = outputs ? outputs.logits.byteLength + outputs.probabilities.byteLength : 0;
  return partBytes + block.byteLength + name.length + ofOutputs;
}

function find<T>(items: Iterable<T>, matches: (item: T) => boolean): T | undefined {
  for (const item of items) if (matches(item)) return item;
  return undefined;
}

function most<T extends { bytes: number }>(items: Iterable<T>): T | undefined {
  let best: T | undefined;
  for (const item of items) if (!best || item.bytes > best.bytes) best = item;
  return best;
}
