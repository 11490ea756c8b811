import { randomInt } from "node:crypto";

const slotBytes = 17;

/**
 * A compact hash table: the text of a key → a time and a few flags, 17 bytes a slot instead of some 200 in a Map.
 * It keeps 64 bits of a seeded hash and not the key, so a key that was never added is found once in 10^13 tries:
 * what is found must be confirmed by reading the row it belongs to.
 */
export class KeyTable {
  #mask = 1023;
  #low = new Uint32Array(1024);
  #high = new Uint32Array(1024);
  #times = new BigInt64Array(1024);
  /** 0 = free. The lowest bit is always set in a taken slot. */
  #flags = new Uint8Array(1024);
  #size = 0;
  readonly #seed = randomInt(2 ** 32);
  #hashLow = 0;
  #hashHigh = 0;

  /** How many keys a table of so many bytes has at most; it never has less than {@link bytes} of an empty one. */
  static capacityOf(bytes: number): number {
    const slots = 2 ** Math.floor(Math.log2(Math.max(2, bytes / slotBytes)));
    return Math.floor((slots * 2) / 3);
  }

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return (this.#mask + 1) * slotBytes;
  }

  has(key: string): boolean {
    return this.#flags[this.#find(key)] !== 0;
  }

  time(key: string): bigint | undefined {
    const slot = this.#find(key);
    return this.#flags[slot] === 0 ? undefined : this.#times[slot];
  }

  /** The flags given to `set`, 0 when the key is absent. */
  flags(key: string): number {
    return (this.#flags[this.#find(key)] ?? 0) >> 1;
  }

  /** `flags` has seven bits. */
  set(key: string, time: bigint, flags = 0): void {
    let slot = this.#find(key);
    if (this.#flags[slot] === 0) {
      if (this.#size * 3 >= this.#mask * 2) {
        this.#rebuild((this.#mask + 1) * 2);
        slot = this.#find(key);
      }
      this.#size++;
      this.#low[slot] = this.#hashLow;
      this.#high[slot] = this.#hashHigh;
    }
    this.#times[slot] = time;
    this.#flags[slot] = (flags << 1) | 1;
  }

  delete(key: string): void {
    let hole = this.#find(key);
    if (this.#flags[hole] === 0) return;
    this.#size--;
    // Move back what had to step over the hole, so that no search ends there too early.
    for (let slot = (hole + 1) & this.#mask; this.#flags[slot] !== 0; slot = (slot + 1) & this.#mask) {
      const home = (this.#low[slot] ?? 0) & this.#mask;
      if (((slot - home) & this.#mask) >= ((slot - hole) & this.#mask)) {
        this.#move(slot, hole);
        hole = slot;
      }
    }
    this.#flags[hole] = 0;
  }

  clear(): void {
    this.#flags.fill(0);
    this.#rebuild(1024);
  }

  /** Removes what is older than `time`. */
  dropBefore(time: bigint): void {
    this.#rebuild(this.#mask + 1, time);
  }

  /** About the time below which `share` (0 to 1) of the entries lie, from a sample. */
  quantile(share: number): bigint {
    const sample: bigint[] = [];
    const step = Math.max(1, Math.floor(this.#flags.length / 8192));
    for (let slot = 0; slot < this.#flags.length; slot += step) {
      if (this.#flags[slot] !== 0) sample.push(this.#times[slot] ?? 0n);
    }
    sample.sort((a, b) => (a < b ? -1 : Number(a > b)));
    return sample[Math.floor(sample.length * share)] ?? 0n;
  }

  /** The slot of the key, or the free one where it belongs. Leaves the hash for `set`. */
  #find(key: string): number {
    this.#hash(key);
    const low = this.#hashLow;
    const high = this.#hashHigh;
    let slot = low & this.#mask;
    while (this.#flags[slot] !== 0 && (this.#low[slot] !== low || this.#high[slot] !== high)) {
      slot = (slot + 1) & this.#mask;
    }
    return slot;
  }

  /** Two 32-bit hashes over the UTF-16 units, mixed into each other at the end (after cyrb53, public domain). */
  #hash(key: string): void {
    let a = 0xdeadbeef ^ this.#seed;
    let b = 0x41c6ce57 ^ this.#seed;
    for (let index = 0; index < key.length; index++) {
      const unit = key.charCodeAt(index);
      a = Math.imul(a ^ unit, 0x9e3779b1);
      b = Math.imul(b ^ unit, 0x5f356495);
    }
    a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35);
    b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
    this.#hashLow = (a ^ (a >>> 15)) >>> 0;
    this.#hashHigh = (b ^ (b >>> 16)) >>> 0;
  }

  #rebuild(slots: number, from?: bigint): void {
    const old = { low: this.#low, high: this.#high, times: this.#times, flags: this.#flags };
    this.#mask = slots - 1;
    this.#low = new Uint32Array(slots);
    this.#high = new Uint32Array(slots);
    this.#times = new BigInt64Array(slots);
    this.#flags = new Uint8Array(slots);
    this.#size = 0;
    for (let slot = 0; slot < old.flags.length; slot++) {
      if (old.flags[slot] === 0 || (from !== undefined && (old.times[slot] ?? 0n) < from)) continue;
      let free = (old.low[slot] ?? 0) & this.#mask;
      while (this.#flags[free] !== 0) free = (free + 1) & this.#mask;
      this.#low[free] = old.low[slot] ?? 0;
      this.#high[free] = old.high[slot] ?? 0;
      this.#times[free] = old.times[slot] ?? 0n;
      this.#flags[free] = old.flags[slot] ?? 0;
      this.#size++;
    }
  }

  #move(from: number, to: number): void {
    this.#low[to] = this.#low[from] ?? 0;
    this.#high[to] = this.#high[from] ?? 0;
    this.#times[to] = this.#times[from] ?? 0n;
    this.#flags[to] = this.#flags[from] ?? 0;
  }
}
