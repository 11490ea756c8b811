import { escaped, quoted } from "./tab-separated.js";

/** Rows share slabs of memory: small ones at first, then large ones, so that a request needs few. */
const firstSlabBytes = 4 * 1024;
const slabBytes = 256 * 1024;
/** Up to this length a text is copied in JavaScript: a call into Node costs more. */
const shortChars = 40;
/** Beyond this length the bytes are counted first, instead of reserving three per character. */
const longChars = 64 * 1024;
const tab = 9;
const lineFeed = 10;
const backslash = 92;
const upperN = 78;
const [space, dot, zero, colon] = [32, 46, 48, 58] as const;
/** Of a time, and its tab. */
const timeChars = 27;
const maxSecond = 4_294_967_295n;

/**
 * Rows in ClickHouse's TabSeparated format: one line per row, fields separated by tabs. They are written as bytes, outside
 * the heap, where the garbage collector does not copy them while they wait for a commit. Tabs and line feeds inside a
 * field are escaped, so that no text of a user can end it: the embedded engine takes what follows an empty line of the
 * data as a statement. Lone surrogates become U+FFFD.
 */
export class RowWriter {
  #bytes = Buffer.allocUnsafeSlow(firstSlabBytes);
  #from = 0;
  #at = 0;
  #isWriting = false;

  /**
   * The fields that `write` writes, for `fields` of this or another writer. Nothing remains of a `write` that threw. Throws
   * within another `write` of this writer: their fields would mix.
   */
  fieldsOf(write: () => void): Buffer {
    if (this.#isWriting) throw new Error("The writer is in the middle of other fields");
    this.#isWriting = true;
    this.#from = this.#at;
    try {
      write();
    } finally {
      this.#isWriting = false;
    }
    return this.#bytes.subarray(this.#from, this.#at);
  }

  /** The row whose fields `write` writes. */
  rowOf(write: () => void): Buffer {
    const row = this.fieldsOf(write);
    row[row.length - 1] = lineFeed;
    return row;
  }

  /** Bytes of the row that is being written. */
  get length(): number {
    return this.#at - this.#from;
  }

  /** What `fieldsOf` gave. */
  fields(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** `String`, `LowCardinality(String)` or the name of an `Enum`. Returns the bytes of the text in UTF-8. */
  text(value: string): number {
    if (value.length <= shortChars && this.#short(value)) return value.length;
    const field = escaped(value);
    const bytes = this.#write(field);
    return field === value ? bytes : Buffer.byteLength(value);
  }

  /** `Array(String)`. */
  texts(values: readonly string[]): void {
    if (values.length === 0) this.#short("[]");
    else this.#list(values.length === 1 ? quoted(values[0]!) : values.map(quoted).join(","));
  }

  /** `Map(String, String)`, of which {@link quotedBytes} made the values. */
  textMap(entries: ReadonlyArray<readonly [key: string, value: Uint8Array]>): void {
    if (entries.length === 0) {
      this.#short("{}");
      return;
    }
    for (const [index, [key, value]] of entries.entries()) {
      this.#ascii(`${index === 0 ? "{" : ","}${quoted(key)}:`);
      this.fields(value);
    }
    this.#ascii("}\t");
  }

  /** Any integer column. */
  integer(value: bigint | number): void {
    this.#short(String(value));
  }

  /** `Float64`, of a finite number: the shortest text that reads as the same one. */
  float(value: number): void {
    this.#short(String(value));
  }

  /** `Array` of the integers that the items have; few have more than one. */
  integersOf<Item>(items: readonly Item[], integer: (item: Item) => bigint | number): void {
    let list = "[";
    for (const item of items) list += list.length === 1 ? String(integer(item)) : `,${integer(item)}`;
    list += "]";
    if (!this.#short(list)) this.#write(list);
  }

  /** `DateTime64(6,'UTC')` from microseconds since 1970, 1900 to 2299. */
  time(us: bigint): void {
    this.#reserve(timeChars);
    let day = us / dayUs;
    let rest = us % dayUs;
    if (rest < 0n) {
      day -= 1n;
      rest += dayUs;
    }
    const inDay = Number(rest);
    const seconds = Math.floor(inDay / 1_000_000);
    this.#short(dayText(Number(day)));
    // In place of the end of the field.
    this.#bytes[this.#at - 1] = space;
    this.#digits(Math.floor(seconds / 3600), 2, colon);
    this.#digits(Math.floor(seconds / 60) % 60, 2, colon);
    this.#digits(seconds % 60, 2, dot);
    this.#digits(inDay % 1_000_000, 6, tab);
  }

  /** `DateTime('UTC')` (whole seconds, 1970 to 2106) from microseconds since 1970, clamped into that range. */
  second(us: bigint): void {
    const seconds = us < 0n ? 0n : us / 1_000_000n;
    // Shorter numbers would be read as a year.
    this.#short(String(seconds > maxSecond ? maxSecond : seconds).padStart(10, "0"));
  }

  /** NULL, in a `Nullable` column. */
  null(): void {
    this.#reserve(3);
    this.#bytes[this.#at++] = backslash;
    this.#bytes[this.#at++] = upperN;
    this.#bytes[this.#at++] = tab;
  }

  /** A number with as many digits, and what follows it; there is space. */
  #digits(value: number, digits: number, next: number): void {
    let rest = value;
    for (let index = digits - 1; index >= 0; index--) {
      this.#bytes[this.#at + index] = zero + (rest % 10);
      rest = Math.floor(rest / 10);
    }
    this.#at += digits;
    this.#bytes[this.#at++] = next;
  }

  /** Of a few characters, none of them to be escaped. */
  #ascii(text: string): void {
    this.#reserve(3 * text.length);
    this.#at += this.#bytes.write(text, this.#at);
  }

  /** Members of an array, escaped. */
  #list(members: string): void {
    const field = `[${members}]`;
    if (field.length > shortChars || !this.#short(field)) this.#write(field);
  }

  /** Writes a field that needs no more escapes, and returns its bytes. */
  #write(field: string): number {
    const chars = field.length;
    this.#reserve(1 + (chars > longChars ? Buffer.byteLength(field) : 3 * chars));
    const bytes = this.#bytes.write(field, this.#at);
    this.#at += bytes;
    this.#bytes[this.#at++] = tab;
    return bytes;
  }

  /** Writes a field unless it has wide characters or some to be escaped. */
  #short(field: string): boolean {
    const chars = field.length;
    this.#reserve(chars + 1);
    for (let index = 0; index < chars; index++) {
      const code = field.charCodeAt(index);
      if (code > 127 || code === backslash || code < 32) return false;
      this.#bytes[this.#at + index] = code;
    }
    this.#at += chars;
    this.#bytes[this.#at++] = tab;
    return true;
  }

  /** Ensures space for more bytes; what was written of the current fields moves along. */
  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const begun = this.#at - this.#from;
    const usual = Math.min(slabBytes, 2 * this.#bytes.length);
    const slab = Buffer.allocUnsafeSlow(Math.max(usual, 2 * begun + bytes));
    slab.set(this.#bytes.subarray(this.#from, this.#at));
    this.#bytes = slab;
    this.#from = 0;
    this.#at = begun;
  }
}

const dayUs = 86_400_000_000n;
const days = new Map<number, string>();

function dayText(day: number): string {
  let text = days.get(day);
  if (text === undefined) {
    if (days.size > 4096) days.clear();
    text = new Date(day * 86_400_000).toISOString().slice(0, 10);
    days.set(day, text);
  }
  return text;
}
