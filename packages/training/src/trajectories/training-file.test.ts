import { describe, expect, test } from "vitest";
import { readTrainingRows } from "./training-file.js";

const row = '{"messages": [{"role": "assistant", "content": "ünï"}]}';

describe("a training file", () => {
  test("has a row on every line that is not blank", () => {
    const rows = readTrainingRows(`\uFEFF${row}\r\n\n  \n${row}`);
    expect(rows.map(({ line }) => line)).toEqual([1, 4]);
    expect(rows[1]?.row).toEqual(JSON.parse(row));
    expect(readTrainingRows(Buffer.from(`${row}\n`))).toHaveLength(1);
  });

  test.each<[string, string | Uint8Array, RegExp]>([
    ["nothing", "\n\n", /training file has no rows/],
    ["a truncated line", `${row}\n\n${row.slice(0, 20)}`, /^line 3: not valid JSON: /],
    ["a list", `${row}\n[]`, /^line 2: not a JSON object/],
    ["no messages", `{}\n${row}`, /^line 1: messages must be a list that is not empty/],
    ["no message", '{"messages": []}', /^line 1: messages must be a list that is not empty/],
    ["other bytes", Uint8Array.of(0x22, 0xff, 0x22), /^line 1: not valid UTF-8/],
  ])("is refused at its first invalid line: %s", (_, file, reason) => {
    expect(() => readTrainingRows(file)).toThrow(expect.objectContaining({ name: "HeddleError", code: "invalid" }));
    expect(() => readTrainingRows(file)).toThrow(reason);
  });

  test("is refused over its limits", () => {
    const file = `${row}\n${row}\n${row}`;
    expect(() => readTrainingRows(file, { rows: 2 })).toThrow("line 3: more than 2 rows");
    expect(() => readTrainingRows(file, { bytes: 100 })).toThrow("at most 100 are read");
    expect(() => readTrainingRows(`\n${"x".repeat(200)}`, { lineBytes: 100 })).toThrow("line 2: more than 100 bytes");
  });
});
