import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { rawSafetensors, scratchDirectories } from "../../test/weight-files.js";
import { HeddleError } from "@heddle/errors";
import { narrowBF16, widenBF16 } from "./number-formats.js";
import { openSafetensors, writeSafetensors } from "./safetensors.js";

const scratch = scratchDirectories();

const tensors = fc.uniqueArray(
  fc.record({
    name: fc.string({ minLength: 1, unit: "grapheme" }).filter((name) => name !== "__metadata__"),
    shape: fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 3 }),
    seed: fc.integer(),
  }),
  { selector: ({ name }) => name, maxLength: 6 },
);

function valuesOf({ shape, seed }: { shape: number[]; seed: number }): Float32Array {
  const size = shape.reduce((product, length) => product * length, 1);
  return Float32Array.from({ length: size }, (_, at) => Math.fround(Math.sin(seed + at) * 10 ** (at % 7)));
}

test("tensors are written and read in f32 and rounded to bfloat16", async () => {
  const directory = await scratch();
  let count = 0;
  await fc.assert(
    fc.asyncProperty(tensors, fc.constantFrom("F32" as const, "BF16" as const), async (given, format) => {
      const path = join(directory, `${count++}.safetensors`);
      const sources = given.map((tensor) => ({ ...tensor, values: () => valuesOf(tensor) }));
      const { bytes } = await writeSafetensors(path, sources, format, { made: "here" });
      const written = await readFile(path);
      expect(written.length).toBe(bytes);
      expect(new DataView(written.buffer, written.byteOffset).getBigUint64(0, true) % 8n).toBe(0n);
      const file = await openSafetensors(path);
      try {
        expect(file.metadata).toEqual({ format: "pt", made: "here" });
        expect([...file.tensors.keys()].toSorted()).toEqual(given.map(({ name }) => name).toSorted());
        for (const tensor of given) {
          expect(file.tensors.get(tensor.name)?.shape).toEqual(tensor.shape);
          expect(await file.read(tensor.name)).toEqual(rounded(valuesOf(tensor), format));
        }
      } finally {
        await file.close();
      }
    }),
    { numRuns: 25 },
  );
});

test("tensors longer than a chunk are read in order", async () => {
  const path = join(await scratch(), "large.safetensors");
  const values = Float32Array.from({ length: 2 ** 20 + 3 }, (_, at) => at % 251);
  await writeSafetensors(path, [{ name: "x", shape: [values.length], values: () => values }], "BF16");
  const file = await openSafetensors(path);
  expect((await file.read("x")).every((value, at) => value === at % 251)).toBe(true);
  await file.close();
});

const entry = { dtype: "F32", shape: [2], data_offsets: [0, 8] };
const broken: [what: string, header: unknown, dataBytes: number, message: RegExp][] = [
  ["not JSON", "{", 0, /is not JSON/],
  ["not UTF-8", "\u0000", 0, /is not JSON/],
  ["a list", [], 0, /not a JSON object/],
  ["a name twice", '{"a":{},"b":1,"a":{}}', 0, /has "a" twice/],
  ["a name twice, spelled otherwise", '{"a":{},"\\u0061":{}}', 0, /has "a" twice/],
  ["a field twice", '{"a":{"dtype":"F32","dtype":"F16"}}', 0, /has "dtype" twice/],
  ["an unknown dtype", { a: { ...entry, dtype: "F33" } }, 8, /tensor "a" has the unknown dtype "F33"/],
  ["a dtype from the prototype", { a: { ...entry, dtype: "constructor" } }, 8, /unknown dtype/],
  ["no dtype", { a: { ...entry, dtype: undefined } }, 8, /unknown dtype nothing/],
  ["a negative length", { a: { ...entry, shape: [-2] } }, 8, /not a list of counts/],
  ["a length with a fraction", { a: { ...entry, shape: [2.5] } }, 8, /not a list of counts/],
  ["a product beyond counting", { a: { ...entry, shape: [2 ** 30, 2 ** 30] } }, 8, /invalid shape/],
  ["an endless shape", { a: { ...entry, shape: [1e308, 1e308] } }, 8, /not a list of counts/],
  ["a shape that its bytes do not fit", { a: { ...entry, shape: [3] } }, 8, /needs 12 bytes .* its range has 8/],
  ["a range beyond the end", { a: { ...entry, data_offsets: [4, 12] } }, 8, /lies at bytes 4 to 12, but .* 8 bytes/],
  ["a range that ends before it begins", { a: { ...entry, data_offsets: [8, 0] } }, 8, /lies at bytes 8 to 0/],
  ["one offset", { a: { ...entry, data_offsets: [0] } }, 8, /not two counts/],
  ["an overlap", { a: entry, b: { ...entry, data_offsets: [4, 12] } }, 12, /tensor "b" overlaps/],
  ["the same bytes twice", { a: entry, b: entry }, 8, /tensor "b" overlaps/],
  ["a gap", { a: entry, b: { ...entry, data_offsets: [12, 20] } }, 20, /tensor "b" begins at byte 12, after a gap/],
  ["bytes that belong to nothing", { a: entry }, 12, /has 12 bytes of data, its tensors only 8/],
  ["metadata that are not texts", { __metadata__: { step: 3 } }, 0, /is not a map of strings/],
  ["a tensor that is a number", { a: 3 }, 0, /tensor "a" is not described by an object/],
];

test.each(broken)("a header with %s is refused", async (_what, header, dataBytes, message) => {
  const path = join(await scratch(), "model.safetensors");
  const bytes = rawSafetensors(header, new Uint8Array(dataBytes));
  if (header === "\u0000") bytes[8] = 0xff;
  await writeFile(path, bytes);
  const error: unknown = await openSafetensors(path).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(HeddleError);
  expect(error).toMatchObject({ code: "invalid", message: expect.stringMatching(message) });
  expect(error).toMatchObject({ details: { file: "model.safetensors" } });
});

test("files too short for their header, headers over the limit and non-files are refused", async () => {
  const directory = await scratch();
  const path = join(directory, "model.safetensors");
  const opened = (bytes: Uint8Array) => writeFile(path, bytes).then(() => openSafetensors(path));
  await expect(opened(new Uint8Array(3))).rejects.toMatchObject({ code: "invalid", message: /has 3 bytes/ });
  await expect(opened(rawSafetensors({ a: entry }, new Uint8Array(8)).subarray(0, 20))).rejects.toThrow(
    /header that ends at/,
  );
  const long = new Uint8Array(8).fill(0xff);
  await expect(opened(long)).rejects.toThrow(/a header of 18446744073709551615 bytes; at most 16777216/);
  await expect(openSafetensors(directory)).rejects.toThrow(/is not a file/);
  await expect(openSafetensors(join(directory, "none"))).rejects.toMatchObject({ code: "not_found" });
});

test("a missing tensor, a wrong length and a truncated file are refused", async () => {
  const path = join(await scratch(), "model.safetensors");
  const header = { a: { dtype: "I64", shape: [1], data_offsets: [0, 8] }, b: { ...entry, data_offsets: [8, 16] } };
  await writeFile(path, rawSafetensors(header, new Uint8Array(16)));
  const file = await openSafetensors(path);
  await expect(file.read("a")).rejects.toThrow(/tensor "a" is I64; weights are F32, F16 or BF16/);
  await expect(file.read("b", new Float32Array(3))).rejects.toThrow(/has 2 numbers where 3 are needed/);
  await expect(file.read("c")).rejects.toThrow(/tensor "c" is missing/);
  await writeFile(path, rawSafetensors(header, new Uint8Array(4)));
  await expect(file.read("b")).rejects.toThrow(/it is truncated/);
  await file.close();
});

test("a file with flipped bits is refused or read with the lengths of its shapes", async () => {
  const path = join(await scratch(), "model.safetensors");
  const sources = ["first", "second"].map((name) => ({
    name,
    shape: [2, 3],
    values: () => new Float32Array(6).fill(1),
  }));
  await writeSafetensors(path, sources, "F32");
  const valid = await readFile(path);
  const flips = fc.array(fc.tuple(fc.nat(valid.length - 1), fc.integer({ min: 0, max: 7 })), {
    minLength: 1,
    maxLength: 4,
  });
  await fc.assert(
    fc.asyncProperty(flips, fc.nat(valid.length), async (flipped, cut) => {
      const bytes = Buffer.from(valid);
      for (const [at, bit] of flipped) bytes[at]! ^= 1 << bit;
      await writeFile(path, cut % 4 ? bytes : bytes.subarray(0, cut));
      try {
        const file = await openSafetensors(path);
        try {
          for (const { name, elements } of file.tensors.values()) expect((await file.read(name)).length).toBe(elements);
        } finally {
          await file.close();
        }
      } catch (error) {
        expect(error).toBeInstanceOf(HeddleError);
      }
    }),
    { numRuns: 250 },
  );
});

function rounded(values: Float32Array, format: "F32" | "BF16"): Float32Array {
  if (format === "F32") return values;
  const words = new Uint16Array(values.length);
  narrowBF16(values, words);
  const wide = new Float32Array(values.length);
  widenBF16(words, wide);
  return wide;
}
