/** Number of a field of a message and its value; texts and messages are bytes. */
export type Field = readonly [number: number, value: Uint8Array | string | number];

export const protobufType = "application/x-protobuf";

/** Writes a message. Numbers are whole and not negative; zeros, like empty values, are left out, as readers expect. */
export function encodeMessage(fields: readonly Field[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([number, value]) => {
      if (typeof value === "number") return value === 0 ? [] : [varint(number * 8), varint(value)];
      const bytes = typeof value === "string" ? Buffer.from(value) : value;
      return bytes.length === 0 ? [] : lengthDelimited(number, bytes);
    }),
  );
}

/** A field that is there although it is empty, as a message within a map is. */
export function lengthDelimited(number: number, bytes: Uint8Array): Uint8Array[] {
  return [varint(number * 8 + 2), varint(bytes.length), bytes];
}

export function encodeDouble(number: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([varint(number * 8 + 1), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  return Buffer.from([...bytes, rest]);
}

/** A value of a field: bytes, or the number that a varint holds. Numbers of fixed width are bytes. */
export interface ReadField {
  number: number;
  value: Buffer | number;
}

/** Reads the fields of a message in their order. Throws a `RangeError` when it is cut off or is not a message. */
export function readFields(bytes: Uint8Array): ReadField[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fields: ReadField[] = [];
  let at = 0;
  const readVarint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = buffer.readUInt8(at++);
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Buffer => {
    if (length > buffer.length - at) throw new RangeError("the message is cut off");
    at += length;
    return buffer.subarray(at - length, at);
  };
  while (at < buffer.length) {
    const tag = readVarint();
    const number = Math.floor(tag / 8);
    const wireType = tag % 8;
    if (wireType === 0) fields.push({ number, value: readVarint() });
    else if (wireType === 1) fields.push({ number, value: take(8) });
    else if (wireType === 2) fields.push({ number, value: take(readVarint()) });
    else if (wireType === 5) fields.push({ number, value: take(4) });
    else throw new RangeError(`there is no wire type ${wireType}`);
  }
  return fields;
}
