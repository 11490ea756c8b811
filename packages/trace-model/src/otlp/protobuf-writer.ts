/** Returns a field of protobuf: an unsigned integer of 32 bits, or bytes (a text, a message) after their length. */
export function protobufField(number: number, value: number | Buffer): Buffer {
  if (typeof value === "number") return Buffer.from([...varint(number * 8), ...varint(value)]);
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(value.length)]), value]);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}
