import { InvalidInput } from "../invalid-input.js";

/**
 * Reads protobuf wire format within bounds; anything that would read beyond them is InvalidInput. A nested message is
 * a reader of its own range, so a broken one cannot disturb its neighbours.
 */
export class ProtobufReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;
  #wireType = 0;

  constructor(bytes: Buffer, from = 0, to: number = bytes.length) {
    this.#bytes = bytes;
    this.#at = from;
    this.#end = to;
  }

  /** Number of the next field, 0 at the end. Each field must then be read or skipped. */
  next(): number {
    if (this.#at >= this.#end) return 0;
    const tag = this.#uint32();
    this.#wireType = tag & 7;
    const field = tag >>> 3;
    if (field === 0) throw new InvalidInput("protobuf: field number 0");
    return field;
  }

  skip(): void {
    if (this.#wireType === 0) this.#varint();
    else if (this.#wireType === 1) this.#advance(8);
    else if (this.#wireType === 2) this.#advance(this.#uint32());
    else if (this.#wireType === 5) this.#advance(4);
    else throw new InvalidInput(`protobuf: unknown wire type ${this.#wireType}`);
  }

  message(): ProtobufReader {
    const from = this.#delimited();
    return new ProtobufReader(this.#bytes, from, this.#at);
  }

  string(): string {
    const from = this.#delimited();
    return this.#bytes.toString("utf8", from, this.#at);
  }

  hex(): string {
    const from = this.#delimited();
    return this.#bytes.toString("hex", from, this.#at);
  }

  base64(): string {
    const from = this.#delimited();
    return this.#bytes.toString("base64", from, this.#at);
  }

  fixed64(): bigint {
    this.#expect(1);
    return this.#bytes.readBigUInt64LE(this.#advance(8));
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
    let value = 0;
    for (let index = 0; index < 7; index++) {
      const byte = this.#byte();
      value += (byte & 0x7f) * 2 ** (7 * index);
      if (byte < 0x80) return value;
    }
    let large = BigInt(value);
    for (let index = 7n; index < 10n; index++) {
      const byte = this.#byte();
      large |= BigInt(byte & 0x7f) << (7n * index);
      if (byte < 0x80) return large;
    }
    throw new InvalidInput("protobuf: a number is too long");
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
    if (length > this.#end - from) throw new InvalidInput("protobuf: the message is truncated");
    this.#at = from + length;
    return from;
  }

  #expect(wireType: number): void {
    if (this.#wireType !== wireType) {
      throw new InvalidInput(`protobuf: wire type ${this.#wireType} instead of ${wireType}`);
    }
  }
}
