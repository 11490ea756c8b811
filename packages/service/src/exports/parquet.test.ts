import { parquetMetadata, parquetReadObjects } from "hyparquet";
import type { StoredCall } from "@heddle/trace-store";
import { expect, test } from "vitest";
import { Columns } from "./columns.js";
import { ParquetEncoder } from "./parquet.js";

const at = 1_772_355_601_000_001n;
const call = {
  id: "a",
  trace_id: "t",
  op_name: "answer",
  status: "success",
  started_at: at,
  ended_at: null,
  latency_us: null,
  exception: null,
  inputs: '{"q":"=1+2","n":107505301260286111,"f":1.0}',
  output: "1.50",
} as unknown as StoredCall;
const utf8 = false;
/** Times as they are in the file. */
const parsers = { timestampFromMicroseconds: (us: bigint) => us };

/** The file that these calls become, and how many parts it came in. */
function encoded(select: string[], calls: StoredCall[]): { file: ArrayBuffer; parts: number } {
  const encoder = new ParquetEncoder(new Columns(select));
  const parts = [...calls.flatMap((each) => encoder.add(each, undefined) ?? []), encoder.end()];
  return { file: new Uint8Array(Buffer.concat(parts)).buffer, parts: parts.length };
}

test("times keep microseconds, numbers their digits, and what is missing is null", async () => {
  const select = ["id", "started_at", "ended_at", "latency_ms", "inputs", "inputs.q", "inputs.n", "inputs.f", "output"];
  const ended = { ...call, id: "b", ended_at: at + 10_000_000n, latency_us: 10_000_000n } as unknown as StoredCall;
  const { file } = encoded([...select, "inputs.missing"], [call, ended]);
  const [first, second] = await parquetReadObjects({ file, parsers, utf8 });
  expect(first).toEqual({
    id: "a",
    started_at: at,
    ended_at: null,
    latency_ms: null,
    inputs: call.inputs,
    "inputs.q": "=1+2",
    "inputs.n": "107505301260286111",
    "inputs.f": "1.0",
    output: "1.50",
    "inputs.missing": null,
  });
  expect(second).toMatchObject({ id: "b", ended_at: at + 10_000_000n, latency_ms: 10_000n });
  expect(parquetMetadata(file).schema.slice(1, 3)).toMatchObject([
    { name: "id", converted_type: "UTF8", repetition_type: "OPTIONAL" },
    { name: "started_at", logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" } },
  ]);
});

test("many calls are sent in groups while they are read, and none are a table, too", async () => {
  const long = { ...call, output: JSON.stringify("ü".repeat(10_000)) };
  const { file, parts } = encoded(
    ["id", "output"],
    Array.from({ length: 250 }, () => long),
  );
  expect(parts).toBe(3);
  const rows = await parquetReadObjects({ file });
  expect([rows.length, rows[249]]).toEqual([250, { id: "a", output: "ü".repeat(10_000) }]);
  expect(await parquetReadObjects({ file: encoded(["id"], []).file })).toEqual([]);
});
