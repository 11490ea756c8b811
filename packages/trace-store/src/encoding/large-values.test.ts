import { afterAll, describe, expect, test } from "vitest";
import type { CallEnd, CallStart } from "@heddle/trace-model";
import { valueDigest } from "@heddle/trace-model";
import { encodeCall, packCall } from "./encode-call.js";
import { encodeRow } from "./encode-row.js";
import { encodeValue } from "./encode-value.js";
import {
  digestOfLargeRow,
  encodeLargeCall,
  encodeLargeRow,
  encodeLargeValue,
  endEncoding,
  isLarge,
} from "./large-values.js";

afterAll(endEncoding);

const many = (piece: string, units = 700_000) => piece.repeat(units / piece.length);
/** What the engine cannot read as it is, and what takes long to look through. */
const values: Array<[what: string, json: string]> = [
  ["objects", `{"a":[${many('{"b":1},')}1]}`],
  ["repeated keys", `{${many('"a":1,')}"b":2}`],
  ["lone surrogates, escaped", `{"a":[${many('"\\ud800",')}1]}`],
  ["lone surrogates, bare", `{"a":"${many("\ud800x")}"}`],
  ["large numbers", `{"a":[${many("123456789012345678901,")}1]}`],
  ["refs and line feeds", `{"a":["weave:///a/b/object/c:latest","${many("\\n\\t'")}"]}`],
  ["other alphabets", `{"a":"${many("é")}${many("日本😀")}"}`],
];
const key = { project_id: "acme/app", id: "c" };
const start = (inputs: string): CallStart => ({
  ...key,
  trace_id: "t",
  op_name: "op",
  started_at: 1n,
  attributes: "{}",
  inputs,
});
const end = (output: string): CallEnd => ({
  ...key,
  ended_at: 2n,
  output,
  summary: '{"usage":{"m":{"prompt_tokens":1}}}',
});

describe.each(values)("a thread encodes %s as the event loop does", (_what, json) => {
  test("in calls", async () => {
    expect(isLarge(json)).toBe(true);
    for (const sides of [
      { key, start: start(json), end: undefined },
      { key, start: undefined, end: end(json) },
      { key, start: start(json), end: end(json) },
    ]) {
      const [large, here] = [packCall(await encodeLargeCall(sides)), packCall(encodeCall(sides))];
      const bytesOf = ({ bytes }: typeof here) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      expect(bytesOf(large).equals(bytesOf(here))).toBe(true);
      expect(large.isRow).toBe(here.isRow);
      for (const side of ["start", "end"] as const) {
        const facts = (packed: typeof here) => packed[side] && { ...packed[side], exact: packed[side].exact.length };
        expect(facts(large)).toEqual(facts(here));
      }
    }
  });

  test("in objects and rows of tables", async () => {
    const [large, here] = [await encodeLargeValue({ val: json }), encodeValue({ val: json })];
    expect(Buffer.compare(large.content, here.content)).toBe(0);
    expect({ ...large, content: 0 }).toEqual({ ...here, content: 0 });
    expect(await digestOfLargeRow(json)).toBe(valueDigest(json));
    const row = { project_id: "acme/app", digest: "d", row: json };
    expect(Buffer.compare(await encodeLargeRow(row), encodeRow(row))).toBe(0);
  });
});

test("what is wrong with a large value is said as of a small one", async () => {
  const files = `{"_type":"CustomWeaveType","files":{"../a":"${many("x")}"}}`;
  await expect(encodeLargeValue({ val: files })).rejects.toMatchObject({ code: "invalid", loc: ["val"] });
});
