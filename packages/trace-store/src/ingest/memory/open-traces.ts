import { createHash } from "node:crypto";
import { keyText } from "../../stored-calls/call-key.js";
import { KeyTable } from "./key-table.js";

/**
 * Which traces have running calls. They are known by a hash, so a trace without any may, hardly ever, be taken for one:
 * a read of it looks for running calls and finds none.
 */
export class OpenTraces {
  /** The hash of each call's trace. */
  readonly #traces = new KeyTable();
  /** How many calls each hash has. */
  readonly #calls = new KeyTable();

  get bytes(): number {
    return this.#traces.bytes + this.#calls.bytes;
  }

  has(projectId: string, traceId: string): boolean {
    return this.#calls.has(String(hashOf(projectId, traceId)));
  }

  /** `key` is the text of the call's key. */
  set(key: string, projectId: string, traceId: string): void {
    this.delete(key);
    const hash = hashOf(projectId, traceId);
    this.#traces.set(key, hash);
    this.#add(hash, 1n);
  }

  delete(key: string): void {
    const hash = this.#traces.time(key);
    if (hash === undefined) return;
    this.#traces.delete(key);
    this.#add(hash, -1n);
  }

  clear(): void {
    this.#traces.clear();
    this.#calls.clear();
  }

  #add(hash: bigint, change: bigint): void {
    const key = String(hash);
    const calls = (this.#calls.time(key) ?? 0n) + change;
    if (calls > 0n) this.#calls.set(key, calls);
    else this.#calls.delete(key);
  }
}

function hashOf(projectId: string, traceId: string): bigint {
  return createHash("sha256")
    .update(keyText({ project_id: projectId, id: traceId }))
    .digest()
    .readBigInt64LE();
}
