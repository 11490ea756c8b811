import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseExactExamples, readExactExamples } from "./exact-examples.js";
import { Verbatim } from "./literals.js";
import type { Literal } from "./literals.js";

const spec = join(import.meta.dirname, "../../../spec");

function inexact(value: Literal): unknown {
  if (value instanceof Verbatim) return Number(value.text);
  if (Array.isArray(value)) return value.map(inexact);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, inexact(member)]));
}

test("exact examples have the values of the bundled documents", () => {
  const exact = readExactExamples(join(spec, "examples"));
  for (const name of ["tracing", "training"]) {
    const document = JSON.parse(readFileSync(join(spec, `dist/${name}.json`), "utf8")) as {
      components: { examples: Record<string, { value: unknown }> };
    };
    const bundled = Object.entries(document.components.examples);
    expect(bundled.length).toBeGreaterThan(20);
    for (const [key, { value }] of bundled) expect([key, inexact(exact.get(key)!)]).toEqual([key, value]);
  }
});

test("text that looks like a number stays text, and merged members keep their numbers", () => {
  const yaml = `
one: { value: &one { rate: 1.0, version: "1.0", name: 1.0.0, on: true, none: null } }
two: { value: { <<: *one, rate: 2.50 } }
`;
  const rest = { version: "1.0", name: "1.0.0", on: true, none: null };
  expect(parseExactExamples(yaml)).toEqual({
    one: { rate: new Verbatim("1.0"), ...rest },
    two: { rate: new Verbatim("2.50"), ...rest },
  });
});
