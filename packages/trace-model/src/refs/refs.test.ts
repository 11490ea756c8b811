import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findRefs } from "./find.js";
import { externalRef, externalRefs, externalRefsInSteps } from "./internal.js";
import { isOpName, opKey, opNamePart } from "./op-name.js";
import { formatRef, parseRef, projectIdOf } from "./ref.js";
import { refSpellings } from "./spellings.js";
import type { Ref } from "./ref.js";

describe("refs", () => {
  test.each([
    [
      "weave:///e/p/object/my-model:v3",
      { kind: "object", entity: "e", project: "p", name: "my-model", digest: "v3", edges: [] },
    ],
    ["weave:///e/p/op/answer:*", { kind: "op", entity: "e", project: "p", name: "answer", digest: "*", edges: [] }],
    ["weave:///e/p/call/0199a1", { kind: "call", entity: "e", project: "p", id: "0199a1", edges: [] }],
    [
      "weave:///e/p/object/d:abc/attr/rows/id/xyz",
      {
        kind: "object",
        entity: "e",
        project: "p",
        name: "d",
        digest: "abc",
        edges: [
          { edge: "attr", value: "rows" },
          { edge: "id", value: "xyz" },
        ],
      },
    ],
    [
      "weave:///e/my%20project/object/n:abc/key/a%2Fb%3Ac/index/2",
      {
        kind: "object",
        entity: "e",
        project: "my project",
        name: "n",
        digest: "abc",
        edges: [
          { edge: "key", value: "a/b:c" },
          { edge: "index", value: "2" },
        ],
      },
    ],
    [
      "weave:///e/p/table/abc/id/row",
      { kind: "table", entity: "e", project: "p", digest: "abc", edges: [{ edge: "id", value: "row" }] },
    ],
  ] satisfies Array<[string, Ref]>)("%s is read and written alike", (text, ref) => {
    expect(parseRef(text)).toEqual(ref);
    expect(formatRef(ref)).toBe(text);
  });

  test.each([
    "",
    "weave:///",
    "weave:///e/p",
    "weave:///e/p/object/x",
    "weave:///e/p/object/:abc",
    "weave:///e/p/object/x:",
    "weave:///e//object/x:abc",
    "weave:///e/p/thing/x:abc",
    "weave:///e/p/object/x:abc/attr",
    "weave:///e/p/object/x:abc/index/one",
    "weave:///e/p/object/x:abc/row/1",
    "weave:///e/p/object/%ff:abc",
    "wandb-artifact:///e/p/x:v0",
    "weave-trace-internal:///1/object/x:abc",
    "see weave:///e/p/call/1",
  ])("%s is not a ref", (text) => {
    expect(parseRef(text)).toBeUndefined();
  });

  test.each(["深度學習", "café", "हिन्दी", "𠮷"])("the name %s is written as it is, and read in either form", (name) => {
    const ref: Ref = { kind: "object", entity: "e", project: "p", name, digest: "abc", edges: [] };
    const encoded = `weave:///e/p/object/${encodeURIComponent(name)}:abc`;
    expect(formatRef(ref)).toBe(`weave:///e/p/object/${name}:abc`);
    expect([formatRef(ref), encoded, encoded.toLowerCase()].map(parseRef)).toEqual([ref, ref, ref]);
    const given = [formatRef(ref), encoded];
    for (const text of given) expect(refSpellings(text)).toEqual(expect.arrayContaining(given));
  });

  test("spellings are of projects, names, ids and edge values; what has one spelling comes back alone", () => {
    expect(refSpellings("weave:///e/p/op/计:*")).toEqual([
      "weave:///e/p/op/计:*",
      "weave:///e/p/op/%E8%AE%A1:*",
      "weave:///e/p/op/%e8%ae%a1:*",
    ]);
    expect(refSpellings("weave:///e/日本/op/é:v0")).toEqual(
      expect.arrayContaining(["weave:///e/%E6%97%A5%E6%9C%AC/op/é:v0", "weave:///e/日本/op/%C3%A9:v0"]),
    );
    expect(refSpellings("weave:///my%20team/p/call/é")).toContain("weave:///my team/p/call/é");
    expect(refSpellings("weave:///e/p/op/%e8%ae%A1")).toContain("weave:///e/p/op/计");
    expect(refSpellings("weave:///e/p/object/x:abc/key/é")).toContain("weave:///e/p/object/x:abc/key/%C3%A9");
    expect(refSpellings("weave:///e/p/object/x:abc/key/a%2Fb")).not.toContain("weave:///e/p/object/x:abc/key/a/b");
    for (const text of ["weave:///e/p/op/answer:*", "weave:///e/p/object/%ff:abc", "weave:///e/p/call/é", "计算", ""]) {
      expect(refSpellings(text)).toContain(text);
    }
    expect(refSpellings("weave:///e/p/op/answer:*")).toHaveLength(1);
  });

  test("any names survive the way through a ref", () => {
    const part = fc.string({ unit: "grapheme", minLength: 1 });
    const edges = fc.array(fc.record({ edge: fc.constantFrom("attr", "key", "id"), value: part }));
    const ref = fc.record({
      kind: fc.constantFrom("object", "op"),
      entity: part,
      project: part,
      name: part,
      digest: part,
      edges,
    });
    fc.assert(
      fc.property(ref, (given) => {
        const text = formatRef(given);
        expect(parseRef(text)).toEqual(given);
        expect(findRefs(JSON.stringify([text]))).toEqual([text]);
      }),
    );
  });

  test("name their project", () => {
    const ref = parseRef("weave:///acme/demo/call/1");
    expect(ref && projectIdOf(ref)).toBe("acme/demo");
  });
});

describe("refs in a call", () => {
  test("are found in values at any depth, each once, in order", () => {
    const inputs = `{"model": "weave:///e/p/object/m:abc", "n": [ "weave:\\/\\/\\/e\\/p\\/call\\/1" , {"x":"weave:///e/p/object/m:abc"}],
      "q": "weave:///e/p/object/a%20b:abc/key/caf%C3%A9"}`;
    expect(findRefs(inputs)).toEqual([
      "weave:///e/p/object/m:abc",
      "weave:///e/p/call/1",
      "weave:///e/p/object/a%20b:abc/key/caf%C3%A9",
    ]);
    expect(findRefs('"weave:///e/p/call/2"')).toEqual(["weave:///e/p/call/2"]);
  });

  test.each([
    ["{}"],
    ['{"a":"see weave:///e/p/call/1"}'],
    ['{"weave:///e/p/call/1" : 1}'],
    ['{"a":"\\"weave:///e/p/call/1\\""}'],
    ['{"a":"\\\\\\"weave:///e/p/call/1"}'],
    ['{"a":"weave:///"}'],
    ['{"a":"weave:///e/p/object/x"}'],
  ])("%s holds none", (text) => {
    expect(findRefs(text)).toEqual([]);
  });
});

describe("internal refs", () => {
  test("become external wherever a value is one, and nothing else changes", () => {
    expect(
      externalRefs(
        '{"a": "weave-trace-internal:///UHJvag==/object/x:abc", "weave-trace-internal:///k": 1.0, "t":"\\"weave-trace-internal:///1"}',
        projectOf,
      ),
    ).toBe(
      '{"a": "weave:///acme/demo/object/x:abc", "weave-trace-internal:///k": 1.0, "t":"\\"weave-trace-internal:///1"}',
    );
    expect(externalRefs('["plain"]', projectOf)).toBe('["plain"]');
    expect(externalRef("weave-trace-internal:///UHJvag==/call/1", projectOf)).toBe("weave:///acme/demo/call/1");
    expect(externalRef("weave:///e/p/call/1", projectOf)).toBe("weave:///e/p/call/1");
  });

  test("of a long text are rewritten in steps, and once", () => {
    const text = JSON.stringify(Array<string>(10_000).fill("weave-trace-internal:///UHJvag==/object/x:abc"));
    const steps = externalRefsInSteps(text, projectOf);
    let pauses = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) pauses++;
    expect(pauses).toBeGreaterThanOrEqual(30);
    const expected = JSON.stringify(Array<string>(10_000).fill("weave:///acme/demo/object/x:abc"));
    expect(step.value).toBe(expected);
    const rewritten = new Map([[text, step.value]]);
    expect(
      externalRefs(
        text,
        Object.assign(() => undefined, { rewritten }),
      ),
    ).toBe(expected);
  });

  test("of an unknown project are refused", () => {
    expect(() => externalRefs('["weave-trace-internal:///2/object/x:abc"]', projectOf)).toThrow(/unknown project/);
  });
});

describe("op names", () => {
  test.each([
    ["weave:///e/p/op/answer:abc", "weave:///e/p/op/answer", "answer"],
    ["weave:///e/p/op/Evaluation.evaluate:*", "weave:///e/p/op/Evaluation.evaluate", "Evaluation.evaluate"],
    ["weave:///e/p/op/计算:abc", "weave:///e/p/op/计算", "计算"],
    ["weave:///e/p/op/r%C3%A9sum%C3%A9:abc", "weave:///e/p/op/r%C3%A9sum%C3%A9", "résumé"],
    ["weave:///e/p/op/%ff:abc", "weave:///e/p/op/%ff", "%ff"],
    ["plain name: with colon", "plain name: with colon", "plain name: with colon"],
    ["weave:///e/p/op/noversion", "weave:///e/p/op/noversion", "noversion"],
  ])("%s", (opName, key, name) => {
    expect(opKey(opName)).toBe(key);
    expect(opNamePart(opName)).toBe(name);
    expect(isOpName(opName)).toBe(true);
  });

  test("are at most 128 characters of free text", () => {
    expect(isOpName("x".repeat(128))).toBe(true);
    expect(isOpName("x".repeat(129))).toBe(false);
    expect(isOpName(`weave:///e/p/op/${"x".repeat(128)}:abc`)).toBe(true);
    expect(isOpName("")).toBe(false);
  });
});

function projectOf(id: string): string | undefined {
  return id === "UHJvag==" ? "acme/demo" : undefined;
}
