import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { keysOf } from "./attribute-shape.js";
import { decodeTraces, scanTraces } from "./export.js";
import { runSteps } from "./steps.js";
import { noAttributes } from "./traces.js";
import type { Span } from "./traces.js";

type Field = [number, 0 | 1 | 2 | 5, bigint | number | Buffer | string];

/** Writes protobuf fields; text and buffers are length-delimited. */
function message(...fields: Field[]): Buffer {
  return Buffer.concat(
    fields.map(([number, wireType, value]) => {
      const tag = varint(BigInt((number << 3) | wireType));
      if (wireType === 0) return Buffer.concat([tag, varint(BigInt.asUintN(64, BigInt(String(value))))]);
      if (wireType === 2) {
        const bytes = Buffer.from(value as string);
        return Buffer.concat([tag, varint(BigInt(bytes.length)), bytes]);
      }
      const fixed = Buffer.alloc(wireType === 1 ? 8 : 4);
      if (wireType === 1 && typeof value === "bigint") fixed.writeBigUInt64LE(value);
      else if (wireType === 1) fixed.writeDoubleLE(Number(value));
      else fixed.writeUInt32LE(Number(value));
      return Buffer.concat([tag, fixed]);
    }),
  );
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
    if (rest <= 0x7fn) return Buffer.from(bytes);
  }
}

const attribute = (key: string, value: Buffer): Field => [9, 2, message([1, 2, key], [2, 2, value])];
const request = (...spans: Buffer[]) =>
  message([1, 2, message([2, 2, message(...spans.map((span): Field => [2, 2, span]))])]);
const decode = (bytes: Uint8Array) => runSteps(decodeTraces(scanTraces(bytes, "application/x-protobuf")));
const decodeJson = (body: string) => runSteps(decodeTraces(scanTraces(Buffer.from(body), "application/json")));
const jsonRequest = (...spans: unknown[]) => JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });

function onlySpan(traces: ReturnType<typeof decode>): Span | undefined {
  expect(traces.rejected).toEqual([]);
  return traces.resources[0]?.scopes[0]?.spans[0];
}

function valuesByKey(span: Span | undefined): Record<string, unknown> {
  const { shape, values } = span?.attributes ?? noAttributes();
  return Object.fromEntries(keysOf(shape).map((key, index) => [key, values[index]]));
}

describe("protobuf", () => {
  test("keeps every kind of value exactly", () => {
    const span = onlySpan(
      decode(
        request(
          message(
            [7, 1, 1_775_811_600_123_456_789n],
            attribute("text", message([1, 2, "é"])),
            attribute("true", message([2, 0, 1])),
            attribute("max", message([3, 0, 2n ** 63n - 1n])),
            attribute("min", message([3, 0, -(2n ** 63n)])),
            attribute("double", message([4, 1, 2])),
            attribute("small", message([4, 1, 1e-7])),
            attribute("nan", message([4, 1, Number.NaN])),
            attribute("list", message([5, 2, message([1, 2, message([1, 2, "a"])], [1, 2, message([3, 0, 7])])])),
            attribute("map", message([6, 2, message([1, 2, message([1, 2, "k"], [2, 2, message([2, 0, 0])])])])),
            attribute("bytes", message([7, 2, Buffer.from([1, 2, 255])])),
            attribute("empty", Buffer.alloc(0)),
          ),
        ),
      ),
    );
    expect(span?.start_us).toBe(1_775_811_600_123_456n);
    expect(valuesByKey(span)).toEqual({
      text: "é",
      true: { json: "true" },
      max: { json: "9223372036854775807" },
      min: { json: "-9223372036854775808" },
      double: { json: "2.0" },
      small: { json: "1e-07" },
      nan: { json: "null" },
      list: { json: '["a",7]' },
      map: { json: '{"k":false}' },
      bytes: "AQL/",
      empty: { json: "null" },
    });
  });

  test("keeps every key, whatever keys there were before", () => {
    const key = fc.oneof(
      fc.constantFrom("gen_ai.system", "gen_ai.prompt", "é", "").map((name) => Buffer.from(name)),
      fc.uint8Array({ maxLength: 3 }).map((bytes) => Buffer.from(bytes)),
    );
    const value = message([2, 0, 1]);
    fc.assert(
      fc.property(fc.array(fc.array(key, { maxLength: 4 }), { maxLength: 4 }), (spans) => {
        const body = request(
          ...spans.map((keys) => message(...keys.map((bytes): Field => [9, 2, message([1, 2, bytes], [2, 2, value])]))),
        );
        const decoded = decode(body).resources[0]?.scopes[0]?.spans ?? [];
        const names = spans.map((keys) => keys.map((bytes) => bytes.toString("utf8")));
        expect(decoded.map(({ attributes }) => keysOf(attributes.shape))).toEqual(names);
      }),
      { numRuns: 300 },
    );
  });

  test("cuts times to the microsecond", () => {
    const edge = fc.constantFrom(0n, 999n, 1000n, 2n ** 53n * 1000n - 1n, 2n ** 53n * 1000n, 2n ** 64n - 1n);
    fc.assert(
      fc.property(fc.oneof(edge, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })), (ns) => {
        expect(onlySpan(decode(request(message([7, 1, ns]))))?.start_us).toBe(ns / 1000n);
      }),
    );
  });

  test("skips fields it does not know", () => {
    const unknown: Field[] = [
      [60, 0, 2n ** 64n - 1n],
      [61, 1, 1n],
      [62, 2, "x"],
      [63, 5, 1],
    ];
    const span = onlySpan(decode(request(message(...unknown, [5, 2, "name"], [16, 5, 257], ...unknown))));
    expect(span?.name).toBe("name");
  });

  test("a broken span does not disturb its neighbours", () => {
    const good = message([5, 2, "good"]);
    const traces = decode(request(good, Buffer.from([0x0a, 0x7f]), message([5, 0, 1]), good));
    expect(traces.resources[0]?.scopes[0]?.spans.map(({ name }) => name)).toEqual(["good", "good"]);
    expect(traces.rejected.map((span) => span.message)).toEqual([
      "protobuf: the message is truncated",
      "protobuf: wire type 0 instead of 2",
    ]);
  });

  test("a value nested beyond reason costs only its span", () => {
    let value = message([3, 0, 1]);
    for (let depth = 0; depth < 2000; depth++) value = message([5, 2, message([1, 2, value])]);
    expect(decode(request(message(attribute("deep", value)))).rejected).toHaveLength(1);
  });

  test("a truncated request is refused", () => {
    const bytes = request(message([5, 2, "name"], [7, 1, 5n]));
    for (let length = 1; length < bytes.length; length++) {
      expect(() => decode(bytes.subarray(0, length)), String(length)).toThrow(/truncated/);
    }
    expect(decode(Buffer.alloc(0))).toEqual({ resources: [], rejected: [], wellFormed: true });
  });

  test("no bytes make it fail in any other way", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        for (const body of [bytes, request(Buffer.from(bytes))]) {
          try {
            decode(body);
          } catch (error) {
            expect(error).toMatchObject({ code: "invalid" });
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("JSON", () => {
  test("is read in both spellings and with numbers as text or digits", () => {
    const camel = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"4BF92F3577B34DA6A3CE929D0E0E4736","spanId":"00f067aa0ba902b7","name":"x","kind":3,
      "startTimeUnixNano":"1775811600123456789","endTimeUnixNano":1775811600999999999,"status":{"code":"STATUS_CODE_ERROR"},
      "attributes":[{"key":"a","value":{"intValue":9007199254740993}},{"key":"b","value":{"intValue":"-9223372036854775808"}},
        {"key":"c","value":{"doubleValue":0.1234567890123456}},{"key":"d","value":{"doubleValue":1}},{"key":"e","value":{"stringValue":"text: 12345678901234567890, \\"x"}}]}]}]}]}`;
    const snake = camel
      .replace("resourceSpans", "resource_spans")
      .replace("scopeSpans", "scope_spans")
      .replace("traceId", "trace_id")
      .replace("spanId", "span_id")
      .replace('"kind":3', '"kind":"SPAN_KIND_CLIENT"')
      .replace("startTimeUnixNano", "start_time_unix_nano")
      .replace("endTimeUnixNano", "end_time_unix_nano")
      .replaceAll("intValue", "int_value")
      .replaceAll("doubleValue", "double_value")
      .replace("stringValue", "string_value");
    const span = onlySpan(decodeJson(camel));
    expect(span).toMatchObject({
      trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
      kind: 3,
      start_us: 1_775_811_600_123_456n,
      end_us: 1_775_811_600_999_999n,
      status: { code: 2, message: "" },
    });
    expect(span?.attributes.values).toEqual([
      { json: "9007199254740993" },
      { json: "-9223372036854775808" },
      { json: "0.1234567890123456" },
      { json: "1.0" },
      'text: 12345678901234567890, "x',
    ]);
    expect(onlySpan(decodeJson(snake))).toEqual(span);
  });

  test("keeps every kind of value", () => {
    const values = [
      { boolValue: false },
      { bytesValue: "AQL/" },
      { doubleValue: "NaN" },
      { arrayValue: { values: [{ stringValue: "a" }, { intValue: 7 }] } },
      { arrayValue: {} },
      { kvlistValue: { values: [{ key: "k", value: { boolValue: true } }] } },
      {},
      null,
    ];
    const attributes = values.map((value, index) => ({ key: String(index), value }));
    expect(onlySpan(decodeJson(jsonRequest({ attributes })))?.attributes.values).toEqual([
      { json: "false" },
      "AQL/",
      { json: "null" },
      { json: '["a",7]' },
      { json: "[]" },
      { json: '{"k":true}' },
      { json: "null" },
      { json: "null" },
    ]);
  });

  test("a broken span does not disturb its neighbours", () => {
    const traces = decodeJson(
      jsonRequest({ name: "a" }, { name: 1 }, { traceId: "not hex" }, { startTimeUnixNano: "soon" }, 5, { name: "b" }),
    );
    expect(traces.resources[0]?.scopes[0]?.spans.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(traces.rejected.map((span) => span.message)).toEqual([
      "name is no text",
      "traceId is not written in hex digits",
      "startTimeUnixNano is not an integer",
      "expected an object",
    ]);
  });

  test.each(["", "[]", "{", '{"resourceSpans":{}}', "null"])("%s is refused", (body) => {
    expect(() => decodeJson(body)).toThrow();
  });
});

test("other media types are refused by name", () => {
  expect(() => scanTraces(new Uint8Array(), "text/plain")).toThrow(
    /application\/x-protobuf or application\/json, not text\/plain/,
  );
});
