import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AttributeShapes, keysOf } from "./attribute-shape.js";
import { decodeTraces, scanTraces } from "./export.js";
import { runSteps } from "../steps.js";
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

  test("a value nested beyond reason is null, and nothing else", () => {
    let value = message([3, 0, 1]);
    for (let depth = 0; depth < 2000; depth++) value = message([5, 2, message([1, 2, value])]);
    const text = message([1, 2, "x"]);
    const span = onlySpan(decode(request(message(attribute("deep", value), attribute("other", text)))));
    expect(valuesByKey(span)).toEqual({ deep: { json: `${"[".repeat(65)}null${"]".repeat(65)}` }, other: "x" });
    expect(span?.unreadable).toEqual(["attribute deep: values nested more than 64 deep are not read"]);
  });

  test("a value that cannot be read is null, and nothing else", () => {
    const text = message([1, 2, "x"]);
    const broken: Array<[string, Buffer]> = [
      ["wrong type", message([1, 0, 5])],
      ["truncated", Buffer.from([0x0a, 0x7f])],
      ["nested", message([5, 2, message([1, 2, message([1, 2, "a"], [4, 0, 1])])])],
      ["kind", message([9, 0, 5])],
    ];
    const span = onlySpan(
      decode(request(message(...broken.map(([key, value]) => attribute(key, value)), attribute("other", text)))),
    );
    const expected = Object.fromEntries(broken.map(([key]) => [key, { json: "null" }]));
    expect(valuesByKey(span)).toEqual({ ...expected, other: "x" });
    expect(span?.unreadable).toEqual([
      "attribute wrong type: protobuf: wire type 0 instead of 2",
      "attribute truncated: protobuf: the message is truncated",
      "attribute nested: protobuf: wire type 0 instead of 1",
      "attribute kind: field 9 is not a kind of value",
    ]);
  });

  test("bytes that are not UTF-8 are replaced and named, U+FFFD itself is not", () => {
    const bad = Buffer.from([0x61, 0xff, 0x62]).toString("latin1");
    const latin = (text: string) => Buffer.from(text, "latin1");
    const span = onlySpan(
      decode(
        request(
          message(attribute("bad", message([1, 2, latin(bad)])), attribute("good", message([1, 2, "\ufffd"])), [
            5,
            2,
            latin(bad),
          ]),
        ),
      ),
    );
    expect(valuesByKey(span)).toEqual({ bad: "a\ufffdb", good: "\ufffd" });
    expect(span?.name).toBe("a\ufffdb");
    expect(span?.unreadable).toEqual(Array(2).fill("bytes that are not UTF-8 in the text a\ufffdb"));
  });

  test("a broken event, link or status costs what of it cannot be read", () => {
    const truncated = Buffer.from([0x0a, 0x7f]);
    const span = onlySpan(
      decode(
        request(
          message(
            [11, 2, Buffer.concat([message([2, 2, "e"]), truncated])],
            [13, 2, truncated],
            [15, 2, Buffer.concat([message([3, 0, 2]), truncated])],
            [5, 2, "name"],
          ),
        ),
      ),
    );
    expect(span).toMatchObject({
      name: "name",
      events: [{ name: "e" }],
      links: [{ span_id: "" }],
      status: { code: 2 },
    });
    expect(span?.unreadable?.map((problem) => problem.split(":")[0])).toEqual(["event", "link", "status"]);
  });

  test("counts of what was dropped and URLs of schemas are kept", () => {
    const counts: Field[] = [
      [10, 0, 1],
      [12, 0, 2],
      [14, 0, 3],
    ];
    const traces = decode(
      message([1, 2, message([2, 2, message([2, 2, message(...counts)], [3, 2, "s"])], [3, 2, "r"])]),
    );
    const span = { dropped_attributes_count: 1, dropped_events_count: 2, dropped_links_count: 3 };
    const expected = { schema_url: "r", scopes: [{ schema_url: "s", spans: [span] }] };
    expect(traces.resources).toMatchObject([expected]);
    const sent = { droppedAttributesCount: 1, droppedEventsCount: 2, droppedLinksCount: 3 };
    const scopeSpans = [{ schemaUrl: "s", spans: [sent] }];
    const json = decodeJson(JSON.stringify({ resourceSpans: [{ schemaUrl: "r", scopeSpans }] }));
    expect(json.resources).toMatchObject([expected]);
  });

  test("attributes of a scope are kept", () => {
    const scope = message([1, 2, "lib"], [3, 2, message([1, 2, "a"], [2, 2, message([1, 2, "x"])])]);
    const traces = decode(message([1, 2, message([2, 2, message([1, 2, scope], [2, 2, message()])])]));
    expect(traces.resources[0]?.scopes[0]).toMatchObject({ name: "lib", attributes: { values: ["x"] } });
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
    const traces = decodeJson(jsonRequest({ name: "a" }, { traceId: "not hex" }, 5, { spanId: 7 }, { name: "b" }));
    expect(traces.resources[0]?.scopes[0]?.spans.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(traces.rejected.map((span) => span.message)).toEqual([
      "traceId is not written in hex digits",
      "expected an object",
      "spanId is not a string",
    ]);
  });

  test.each<[unknown, string, string?]>([
    [{ intValue: "abc" }, "intValue is not an integer"],
    [{ intValue: 1.5 }, "intValue is not an integer"],
    [{ intValue: true }, "intValue is not an integer"],
    [{ intValue: "9".repeat(21) }, "intValue is not an integer"],
    [{ int_value: "" }, "intValue is not an integer"],
    [{ doubleValue: "abc" }, "doubleValue is not a number"],
    [{ doubleValue: "" }, "doubleValue is not a number"],
    [{ doubleValue: "1e999" }, "doubleValue is not a number"],
    [{ boolValue: "yes" }, "boolValue is neither true nor false"],
    [{ bytesValue: "a b" }, "bytesValue is not a base64"],
    [{ stringValue: { a: 1 } }, "stringValue is not a string"],
    [{ fooValue: 1 }, "fooValue is not a kind of value"],
    ["bare text", "expected an object"],
    [[1], "expected an object"],
    [{ arrayValue: [1] }, "expected an object"],
    [{ arrayValue: { values: {} } }, "values is not a list"],
    [{ kvlistValue: { values: [{ key: 5 }] } }, "key is not a string"],
    [{ arrayValue: { values: [{ intValue: "abc" }, { intValue: 2 }] } }, "intValue is not an integer", "[null,2]"],
    [
      { kvlistValue: { values: [{ key: "k", value: { intValue: "abc" } }] } },
      "intValue is not an integer",
      '{"k":null}',
    ],
  ])("the value %j is null and named, and nothing else", (value, problem, json = "null") => {
    const attributes = ["bad", "good"].map((key) => ({ key, value: key === "bad" ? value : { stringValue: "x" } }));
    const span = onlySpan(decodeJson(jsonRequest({ attributes })));
    expect(valuesByKey(span)).toEqual({ bad: { json }, good: "x" });
    expect(span?.unreadable).toEqual([`attribute bad: ${problem}`]);
  });

  test("so is one nested beyond reason", () => {
    let value: unknown = { intValue: 1 };
    for (let depth = 0; depth < 500; depth++) value = { arrayValue: { values: [value] } };
    const span = onlySpan(decodeJson(jsonRequest({ attributes: [{ key: "deep", value }] })));
    expect(valuesByKey(span)).toEqual({ deep: { json: `${"[".repeat(65)}null${"]".repeat(65)}` } });
    expect(span?.unreadable).toEqual(["attribute deep: values nested more than 64 deep are not read"]);
  });

  test.each<[object, string, object?]>([
    [{ name: 1 }, "name is not a string"],
    [{ kind: "SPAN_KIND_OTHER" }, "kind is none of UNSPECIFIED, INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER"],
    [{ startTimeUnixNano: "abc" }, "startTimeUnixNano is not an integer"],
    [{ endTimeUnixNano: "-5" }, "endTimeUnixNano is not a time since 1970 in nanoseconds"],
    [{ parentSpanId: "not hex" }, "parentSpanId is not written in hex digits"],
    [{ attributes: { a: 1 } }, "attributes is not a list"],
    [{ attributes: [5] }, "attributes has items that are not objects"],
    [{ attributes: [{ key: 5, value: { intValue: 1 } }] }, "key is not a string"],
    [{ events: "none" }, "events is not a list"],
    [{ events: [null, { name: "e" }] }, "events has items that are not objects", { events: [{ name: "e" }] }],
    [{ events: [{ name: 5, timeUnixNano: "1000" }] }, "name is not a string", { events: [{ name: "", time_us: 1n }] }],
    [
      { links: [{ traceId: "?", spanId: "ab" }] },
      "traceId is not written in hex digits",
      { links: [{ span_id: "ab" }] },
    ],
    [{ status: "bad" }, "status is not an object"],
    [{ status: { code: [], message: "m" } }, "code is none of UNSET, OK, ERROR", { status: { code: 0, message: "m" } }],
  ])("%j costs only itself", (fields, problem, expected = {}) => {
    const span = onlySpan(decodeJson(jsonRequest({ traceState: "kept", ...fields })));
    expect(span).toMatchObject({ trace_state: "kept", ...expected });
    expect(span?.unreadable).toEqual([problem]);
  });

  test("what cannot be read of a resource or a scope costs no span", () => {
    const attributes = [
      { key: "n", value: { intValue: "abc" } },
      { key: "a", value: { stringValue: "x" } },
    ];
    const scopeSpans = [{ scope: { name: 5, attributes }, spans: [{ name: "a" }] }];
    const { resources } = decodeJson(JSON.stringify({ resourceSpans: [{ resource: { attributes }, scopeSpans }] }));
    expect(resources[0]?.attributes.values).toEqual([{ json: "null" }, "x"]);
    expect(resources[0]?.scopes[0]).toMatchObject({ name: "", attributes: { values: [{ json: "null" }, "x"] } });
    expect(resources[0]?.unreadable).toEqual([
      "attribute n: intValue is not an integer",
      "attribute n: intValue is not an integer",
      "name is not a string",
    ]);
  });

  test("few problems of a span are kept, and none of a span that is rejected", () => {
    const attributes = Array.from({ length: 100 }, () => ({ key: "k".repeat(1000), value: { intValue: "abc" } }));
    const traces = decodeJson(jsonRequest({ attributes }, { attributes, spanId: "?" }, { name: "b" }));
    const [first, second] = traces.resources[0]?.scopes[0]?.spans ?? [];
    expect(first?.unreadable).toHaveLength(5);
    expect(first?.unreadable?.[0]?.length).toBeLessThan(200);
    expect(second?.unreadable).toBeUndefined();
  });

  test("ids in base64, and times in two halves, are read as what they are", () => {
    const traceId = Buffer.alloc(16, 0xab).toString("base64");
    const spanId = Buffer.alloc(8, 0xfb).toString("base64");
    const time = { low: -1, high: 1 };
    const span = onlySpan(
      decodeJson(jsonRequest({ traceId, spanId, parentSpanId: "AAAAAAAAAAA=", startTimeUnixNano: time })),
    );
    expect(span).toMatchObject({ trace_id: "ab".repeat(16), span_id: "fb".repeat(8), parent_span_id: "0".repeat(16) });
    expect(span?.start_us).toBe((2n ** 33n - 1n) / 1000n);
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

test("exports of one sender share what follows from the names of attributes, in both encodings", () => {
  const shapes = new AttributeShapes();
  const protobuf = request(
    message(attribute("gen_ai.prompt", message([1, 2, "hi"])), attribute("n", message([3, 0, 7n]))),
  );
  const json = jsonRequest({
    attributes: [
      { key: "gen_ai.prompt", value: { stringValue: "hello" } },
      { key: "n", value: { intValue: "8" } },
    ],
  });
  const spanOf = (bytes: Uint8Array, mediaType: string, own?: AttributeShapes) =>
    onlySpan(runSteps(decodeTraces(scanTraces(bytes, mediaType, undefined, own))));
  const first = spanOf(protobuf, "application/x-protobuf", shapes);
  const second = spanOf(Buffer.from(json), "application/json", shapes);
  expect(second?.attributes.shape.layout).toBe(first?.attributes.shape.layout);
  expect([valuesByKey(first), valuesByKey(second)]).toEqual([
    { "gen_ai.prompt": "hi", n: { json: "7" } },
    { "gen_ai.prompt": "hello", n: { json: "8" } },
  ]);
  expect(spanOf(protobuf, "application/x-protobuf")?.attributes.shape.layout).not.toBe(first?.attributes.shape.layout);
});
