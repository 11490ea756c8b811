import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { readTrainingRows } from "./training-file.js";
import type { TrainingFileLimits } from "./training-file.js";

/** Reads a file that arrives in parts of a few bytes. */
async function read(file: string | Uint8Array, limits?: Partial<TrainingFileLimits>) {
  const bytes = Buffer.from(file);
  async function* parts() {
    for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
  }
  return await readTrainingRows(parts(), limits);
}

const row = '{"messages": [{"role": "assistant", "content": "ünï"}]}';

describe("a training file", () => {
  test("is read beside others one part after the other, with the events of others between them", async () => {
    const done = new AbortController();
    const all = Promise.all(Array.from({ length: 10 }, () => read(row))).finally(() => done.abort());
    let iterations = 0;
    for (; !done.signal.aborted; iterations++) await setImmediate();
    await all;
    // Each has nine parts.
    expect(iterations).toBeGreaterThanOrEqual(85);
  });

  test("has a row on every line that is not blank", async () => {
    const rows = await read(`\uFEFF${row}\r\n\n  \n${row}`);
    expect(rows.map(({ line }) => line)).toEqual([1, 4]);
    expect(rows[1]?.row).toEqual(JSON.parse(row));
    expect(await read(`${row}\n`)).toHaveLength(1);
  });

  test.each<[string, string | Uint8Array, RegExp]>([
    ["nothing", "\n\n", /training file has no rows/],
    ["a truncated line", `${row}\n\n${row.slice(0, 20)}`, /^line 3: not valid JSON: /],
    ["a list", `${row}\n[]`, /^line 2: not a JSON object/],
    ["no messages", `{}\n${row}`, /^line 1: messages must be a list that is not empty/],
    ["no message", '{"messages": []}', /^line 1: messages must be a list that is not empty/],
    ["other bytes", Uint8Array.of(0x22, 0xff, 0x22), /^line 1: not valid UTF-8/],
  ])("is refused at its first invalid line: %s", async (_, file, reason) => {
    await expect(read(file)).rejects.toMatchObject({ code: "invalid", message: expect.stringMatching(reason) });
  });

  test("is refused over its limits", async () => {
    const file = `${row}\n${row}\n${row}`;
    await expect(read(file, { rows: 2 })).rejects.toThrow("line 3: more than 2 rows");
    await expect(read(file, { bytes: 100 })).rejects.toThrow("more than 100 bytes");
    await expect(read(`\n${"x".repeat(200)}`, { lineBytes: 100 })).rejects.toThrow("line 2: more than 100 bytes");
  });
});
