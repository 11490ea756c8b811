import * as fc from "fast-check";
import { expect, test } from "vitest";
import { narrowBF16, widenBF16, widenF16 } from "./number-formats.js";

const everyWord = Uint16Array.from({ length: 0x10000 }, (_, word) => word);

test("every bfloat16 number survives a conversion to f32 and back, NaN as some NaN", () => {
  const wide = new Float32Array(everyWord.length);
  widenBF16(everyWord, wide);
  const back = new Uint16Array(everyWord.length);
  narrowBF16(wide, back);
  const changed = everyWord.filter((word) =>
    Number.isNaN(wide[word]) ? (back[word]! & 0x7fff) <= 0x7f80 : back[word] !== word,
  );
  expect([...changed]).toEqual([]);
});

test("narrowing takes the nearest bfloat16 number, and the even one of two equally near", () => {
  const narrowed = (value: number) => {
    const words = new Uint16Array(1);
    narrowBF16(Float32Array.of(value), words);
    const wide = new Float32Array(1);
    widenBF16(words, wide);
    return wide[0]!;
  };
  // Adjacent numbers near 1 differ by 1 / 128.
  expect(narrowed(1 + 1 / 256)).toBe(1);
  expect(narrowed(1 + 3 / 256)).toBe(1 + 4 / 256);
  expect(narrowed(1 + 1 / 256 + 2 ** -20)).toBe(1 + 2 / 256);
  expect(narrowed(3.4e38)).toBe(Number.POSITIVE_INFINITY);
  expect(narrowed(-0)).toBe(-0);
  fc.assert(
    fc.property(fc.float({ noNaN: true, min: -(2 ** 126), max: 2 ** 126 }), (value) => {
      const error = Math.abs(narrowed(value) - value);
      expect(error).toBeLessThanOrEqual(Math.max(Math.abs(value) * 2 ** -8, 2 ** -134));
    }),
  );
});

test("binary16 numbers of all kinds are converted exactly", () => {
  const cases: [number, number][] = [
    [0x0000, 0],
    [0x8000, -0],
    [0x3c00, 1],
    [0xc500, -5],
    [0x3555, 1365 / 4096],
    [0x7bff, 65504],
    [0x0400, 2 ** -14],
    [0x03ff, 1023 * 2 ** -24],
    [0x8001, -(2 ** -24)],
    [0x7c00, Number.POSITIVE_INFINITY],
    [0xfc00, Number.NEGATIVE_INFINITY],
    [0x7e00, Number.NaN],
  ];
  const wide = new Float32Array(cases.length);
  widenF16(
    Uint16Array.from(cases, ([half]) => half),
    wide,
  );
  expect([...wide]).toEqual(cases.map(([, value]) => value));
});
