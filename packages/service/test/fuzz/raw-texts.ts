import { RawJson } from "@heddle/server-stub";
import * as fc from "fast-check";

/** Strings where systems disagree: about text, numbers, times, paths, or about what is a value at all. */
export const oddText: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: fc.string({ maxLength: 12 }), weight: 3 },
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom(
    "",
    " ",
    "0",
    "-1",
    "1e9",
    "NaN",
    "null",
    "true",
    "latest",
    "v0",
    "v99999999999999999999",
    "__proto__",
    "constructor",
    "a.b",
    "a\\.b",
    ".",
    "/",
    ":*",
    "%",
    "*",
    "'",
    '"',
    "\\",
    "\\N",
    "\t\n\r",
    "\0",
    "\ud800",
    "\u2028",
    "{p0:String}",
    "'; DROP TABLE calls; --",
    "weave:///acme/demo/object/questions:latest/attr/rows",
    "weave:///",
    "weave-trace-internal:///x/object/a:b",
    "x".repeat(300),
  ),
);

const quoted = oddText.map((text) => JSON.stringify(text));
const key = fc.oneof(
  { arbitrary: fc.constantFrom("a", "b", "a.b", "0", "", "_type", "_class_name", "_bases", "files"), weight: 3 },
  fc.constantFrom(
    "weave_type",
    "usage",
    "status_counts",
    "weave",
    "_ref",
    "prompt_tokens",
    "error",
    "gpt",
    "otel_span",
  ),
  oddText,
);

/** JSON texts in every spelling that is allowed, bare NaN and infinities included. */
const { json, object } = fc.letrec<{ json: string; object: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(
      "null",
      "true",
      "false",
      "0",
      "-0.0",
      "1.0",
      "1E5",
      "1e400",
      "12345678901234567890123",
      '"\\u0061"',
    ),
    fc.constantFrom("[]", "{}", "[ ]", "NaN", "-Infinity", '"\\ud800"', '"\\u0000"', '["Object","BaseModel"]'),
    quoted,
    fc.double().map((value) => JSON.stringify(value)),
    fc.array(tie("json"), { maxLength: 3 }).map((items) => `[${items.join(" ,\n")}]`),
    tie("object"),
  ),
  object: fc
    .array(fc.tuple(key, tie("json")), { maxLength: 4 })
    .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(", ")}}`),
}));

/** Free JSON as a client may send it. */
export const rawValue: fc.Arbitrary<RawJson> = json.map((text) => new RawJson(text));
export const rawObject: fc.Arbitrary<RawJson> = object.map((text) => new RawJson(text));
