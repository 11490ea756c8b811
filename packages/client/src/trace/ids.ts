const hex = (number: number, digits: number): string => number.toString(16).padStart(digits, "0");

let time = 0;
let sequence = 0;

/** A UUIDv7 that sorts after all that were made before: calls of one millisecond keep their order. */
export function newId(): string {
  const now = Date.now();
  if (now > time) sequence = 0;
  else sequence += 1;
  time = Math.max(now, time) + (sequence >> 12);
  sequence &= 0xfff;
  const [head, tail] = [hex(time, 12), crypto.getRandomValues(new Uint8Array(8))];
  tail[0] = (tail[0]! & 0x3f) | 0x80;
  const random = Array.from(tail, (byte) => hex(byte, 2)).join("");
  return `${head.slice(0, 8)}-${head.slice(8)}-7${hex(sequence, 3)}-${random.slice(0, 4)}-${random.slice(4)}`;
}
