/** Rows share slabs of memory: small ones at first, then so long that a request needs few of them. */
const FIRST_SLAB_BYTES = 4 * 1024;
const SLAB_BYTES = 256 * 1024;
/** Up to so many characters a text is written by hand: a call into node costs more. */
const SHORT_CHARS = 24;
/** Beyond so many the bytes are counted first, instead of making room for three per character. */
const LONG_CHARS = 64 * 1024;
const GREATEST_SECOND = 4_294_967_295n;

/**
 * Rows in ClickHouse's RowBinary format: values without names or separators, one after another, each as the type of
 * its column wants it (https://clickhouse.com/docs/interfaces/formats/RowBinary). Nothing needs escapes, and the engine
 * reads it with less work than text.
 */
export class RowWriter {
  #bytes = Buffer.allocUnsafeSlow(FIRST_SLAB_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #from = 0;
  #at = 0;

  /** What was written since it was asked last, a row or a part of one. The writer never touches it again. */
  take(): Buffer {
    const taken = this.#bytes.subarray(this.#from, this.#at);
    this.#from = this.#at;
    return taken;
  }

  /** Fields that are already in this format. */
  fields(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** `String` or `LowCardinality(String)`. Lone surrogates become U+FFFD. Returns the bytes of the text in UTF-8. */
  text(value: string): number {
    const chars = value.length;
    this.#room(10 + (chars > LONG_CHARS ? Buffer.byteLength(value) : 3 * chars));
    if (chars <= SHORT_CHARS && this.#ascii(value)) return chars;
    const guessed = varintBytes(chars);
    const bytes = this.#bytes.write(value, this.#at + guessed);
    const needed = varintBytes(bytes);
    // Wide characters can make the number before them longer.
    if (needed !== guessed) {
      this.#bytes.copyWithin(this.#at + needed, this.#at + guessed, this.#at + guessed + bytes);
    }
    this.#varint(bytes);
    this.#at += bytes;
    return bytes;
  }

  /** `Array(String)`. */
  texts(values: readonly string[]): void {
    this.#count(values.length);
    for (const value of values) this.text(value);
  }

  /** `Map(String, String)`. */
  textMap(entries: ReadonlyArray<readonly [string, string]>): void {
    this.#count(entries.length);
    for (const [key, value] of entries) {
      this.text(key);
      this.text(value);
    }
  }

  /** `UInt8` or the number of an `Enum8`. */
  uint8(value: number): void {
    this.#room(1);
    this.#bytes[this.#at++] = value;
  }

  uint32(value: number): void {
    this.#room(4);
    this.#view.setUint32(this.#at, value, true);
    this.#at += 4;
  }

  /** A number must be a whole one from 0 to 2^53 − 1. */
  uint64(value: bigint | number): void {
    this.#room(8);
    if (typeof value === "bigint") this.#view.setBigUint64(this.#at, value, true);
    else {
      this.#view.setUint32(this.#at, value >>> 0, true);
      this.#view.setUint32(this.#at + 4, Math.floor(value / 2 ** 32), true);
    }
    this.#at += 8;
  }

  /** `Array(UInt64)`. */
  uint64s(values: readonly (bigint | number)[]): void {
    this.#count(values.length);
    for (const value of values) this.uint64(value);
  }

  int64(value: bigint): void {
    this.#room(8);
    this.#view.setBigInt64(this.#at, value, true);
    this.#at += 8;
  }

  /** `DateTime64(6)`: microseconds since 1970, 1900 to 2299. */
  time(us: bigint): void {
    this.int64(us);
  }

  /** `DateTime` (whole seconds, 1970 to 2106) from microseconds since 1970, clamped into that range. */
  second(us: bigint): void {
    const seconds = us < 0n ? 0n : us / 1_000_000n;
    this.uint32(Number(seconds > GREATEST_SECOND ? GREATEST_SECOND : seconds));
  }

  /** A `Nullable` column: NULL, or the value that `write` writes. */
  nullable<T>(value: T | null | undefined, write: (value: T) => void): void {
    const absent = value === null || value === undefined;
    this.uint8(absent ? 1 : 0);
    if (!absent) write(value);
  }

  #ascii(value: string): boolean {
    const from = this.#at + 1;
    for (let index = 0; index < value.length; index++) {
      const code = value.charCodeAt(index);
      if (code > 127) return false;
      this.#bytes[from + index] = code;
    }
    this.#bytes[this.#at] = value.length;
    this.#at = from + value.length;
    return true;
  }

  #count(count: number): void {
    this.#room(10);
    this.#varint(count);
  }

  #varint(value: number): void {
    let rest = value;
    while (rest > 127) {
      this.#bytes[this.#at++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    this.#bytes[this.#at++] = rest;
  }

  /** Makes sure that so many bytes follow; what was not taken yet moves along. */
  #room(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const begun = this.#at - this.#from;
    const usual = Math.min(SLAB_BYTES, 2 * this.#bytes.length);
    const slab = Buffer.allocUnsafeSlow(Math.max(usual, 2 * begun + bytes));
    slab.set(this.#bytes.subarray(this.#from, this.#at));
    this.#bytes = slab;
    this.#view = new DataView(slab.buffer);
    this.#from = 0;
    this.#at = begun;
  }
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) bytes++;
  return bytes;
}
