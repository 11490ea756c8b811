import { isUtf8 } from "node:buffer";
import { HeddleError } from "@heddle/errors";
import { firstCharacters } from "@heddle/exact-json";
import type { Decoding } from "./decoding.js";
import type { WorkBudget } from "./work-budget.js";

/**
 * Reads protobuf wire format within bounds; anything that would read beyond them throws `invalid`. What must not
 * disturb its neighbours when it is broken gets a reader of its own.
 */
export class ProtobufReader {
  readonly #bytes: Buffer;
  #at: number;
  #end: number;
  #wireType = 0;
  readonly #budget: WorkBudget;
  readonly decoding: Decoding;

  constructor(bytes: Buffer, decoding: Decoding, from = 0, to: number = bytes.length) {
    this.#bytes = bytes;
    this.decoding = decoding;
    this.#budget = decoding.budget;
    this.#at = from;
    this.#end = to;
  }

  /** Number of the next field, 0 at the end. Each field must then be read or skipped. */
  next(): number {
    if (this.#at >= this.#end) return 0;
    this.#budget.spend(1);
    const tag = this.#uint32();
    this.#wireType = tag & 7;
    const field = tag >>> 3;
    if (field === 0) throw new HeddleError("invalid", "protobuf: field number 0");
    return field;
  }

  skip(): void {
    if (this.#wireType === 0) this.#varint();
    else if (this.#wireType === 1) this.#advance(8);
    else if (this.#wireType === 2) this.#advance(this.#uint32());
    else if (this.#wireType === 5) this.#advance(4);
    else throw new HeddleError("invalid", `protobuf: unknown wire type ${this.#wireType}`);
  }

  /** A nested message with a reader of its own. */
  message(): ProtobufReader {
    const from = this.#delimited();
    this.#budget.spend(9);
    return new ProtobufReader(this.#bytes, this.decoding, from, this.#at);
  }

  /** Bytes that are left of the message. */
  get length(): number {
    return this.#end - this.#at;
  }

  /** Goes into a nested message; `leave` with the result continues after it. */
  enter(): number {
    const outer = this.#end;
    const from = this.#delimited();
    this.#budget.spend(1);
    this.#end = this.#at;
    this.#at = from;
    return outer;
  }

  leave(outer: number): void {
    this.#at = this.#end;
    this.#end = outer;
  }

  /** Where the message ends that was entered last. */
  get end(): number {
    return this.#end;
  }

  /** Leaves a message that cannot be read any further, with all that were entered in it. */
  abandon(end: number, outer: number): void {
    this.#at = end;
    this.#end = outer;
  }

  /** Bytes that are not UTF-8 become U+FFFD. */
  string(): string {
    const from = this.#delimited();
    const text = this.#bytes.toString("utf8", from, this.#at);
    if (text.includes("\ufffd") && !isUtf8(this.#bytes.subarray(from, this.#at))) {
      this.decoding.unreadable(`bytes that are not UTF-8 in the text ${firstCharacters(text, 100)}`);
    }
    return text;
  }

  /** Reads a text if it is this one. */
  skipText(utf8: Uint8Array): boolean {
    const before = this.#at;
    const from = this.#delimited();
    let equal = this.#at - from === utf8.length;
    for (let index = 0; equal && index < utf8.length; index++) equal = this.#bytes[from + index] === utf8[index];
    if (!equal) this.#at = before;
    return equal;
  }

  hex(): string {
    const from = this.#delimited();
    return this.#bytes.toString("hex", from, this.#at);
  }

  base64(): string {
    const from = this.#delimited();
    return this.#bytes.toString("base64", from, this.#at);
  }

  /** A 64-bit number of nanoseconds, cut to microseconds. */
  microseconds(): bigint {
    this.#expect(1);
    const from = this.#advance(8);
    const high = this.#bytes.readUInt32LE(from + 4);
    const rest = (high % 1000) * 2 ** 32 + this.#bytes.readUInt32LE(from);
    const whole = Math.floor(high / 1000) * 2 ** 32 + Math.floor(rest / 1000);
    return Number.isSafeInteger(whole) ? BigInt(whole) : this.#bytes.readBigUInt64LE(from) / 1000n;
  }

  double(): number {
    this.#expect(1);
    return this.#bytes.readDoubleLE(this.#advance(8));
  }

  fixed32(): number {
    this.#expect(5);
    return this.#bytes.readUInt32LE(this.#advance(4));
  }

  /** Decimal text of an int64, as a double cannot hold them all. */
  int64(): string {
    this.#expect(0);
    const value = this.#varint();
    return typeof value === "number" ? String(value) : BigInt.asIntN(64, value).toString();
  }

  /** Counts, enums and booleans: the low 32 bits. */
  int32(): number {
    this.#expect(0);
    return this.#uint32();
  }

  #uint32(): number {
    const value = this.#varint();
    return typeof value === "number" ? value % 2 ** 32 : Number(BigInt.asUintN(32, value));
  }

  #varint(): number | bigint {
    let value = this.#byte();
    if (value < 0x80) return value;
    value &= 0x7f;
    for (let scale = 2 ** 7; scale < 2 ** 49; scale *= 2 ** 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    let large = BigInt(value);
    for (let index = 7n; index < 10n; index++) {
      const byte = this.#byte();
      large |= BigInt(byte & 0x7f) << (7n * index);
      if (byte < 0x80) return large;
    }
    throw new HeddleError("invalid", "protobuf: a number is too long");
  }

  #delimited(): number {
    this.#expect(2);
    return this.#advance(this.#uint32());
  }

  #byte(): number {
    return this.#bytes[this.#advance(1)] ?? 0;
  }

  /** Moves on and gives the position before. */
  #advance(length: number): number {
    const from = this.#at;
    if (length > this.#end - from) throw new HeddleError("invalid", "protobuf: the message is truncated");
    this.#at = from + length;
    return from;
  }

  #expect(wireType: number): void {
    if (this.#wireType !== wireType) {
      throw new HeddleError("invalid", `protobuf: wire type ${this.#wireType} instead of ${wireType}`);
    }
  }
}
