import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { leafAt } from "../query/leaf.js";
import { AttributeShapes } from "./attribute-shape.js";
import { isJson } from "@heddle/exact-json";
import { attributeTree, treeJson } from "./attribute-tree.js";
import { first, sources } from "./sources.js";
import { noAttributes } from "./traces.js";
import type { Attributes } from "./traces.js";
import type { AttributeValue } from "./value-json.js";
import { textJson } from "./value-json.js";

type Entry = readonly [key: string, value: AttributeValue];
type Tree = Map<string, Tree | string>;

function attributesOf(entries: readonly Entry[], shapes?: AttributeShapes): Attributes {
  const result = noAttributes(shapes);
  for (const [key, value] of entries) {
    result.shape = result.shape.with(key);
    result.values.push(value);
  }
  return result;
}

/** What unfolding means, one attribute after the other; undefined when a key has a value and keys below it. */
function unfolded(entries: readonly Entry[]): Tree | undefined {
  const root: Tree = new Map();
  for (const [key, value] of entries) {
    const path = key.split(".");
    const last = path.pop() ?? "";
    let tree = root;
    for (const segment of path) {
      const next: Tree | string = tree.get(segment) ?? new Map<string, Tree | string>();
      if (typeof next === "string") return undefined;
      tree.set(segment, next);
      tree = next;
    }
    if (typeof tree.get(last) === "object") return undefined;
    tree.set(last, jsonOf(value));
  }
  return root;
}

function jsonOf(value: AttributeValue): string {
  if (typeof value !== "string") return value.json;
  return /^[[{]/.test(value) && isJson(value) ? value : JSON.stringify(value);
}

function written(node: Tree | string): string {
  if (typeof node === "string") return node;
  const numbers = [...node.keys()].map((_, index) => String(index));
  if (node.size > 0 && numbers.every((number) => node.has(number))) {
    return `[${numbers.map((number) => written(node.get(number) ?? "null")).join(",")}]`;
  }
  return `{${[...node].map(([key, child]) => `${JSON.stringify(key)}:${written(child)}`).join(",")}}`;
}

function found(node: Tree | string | undefined, path: readonly string[]): string | undefined {
  if (node === undefined) return undefined;
  const [segment, ...rest] = path;
  if (segment === undefined) return written(node) === "null" ? undefined : written(node);
  return typeof node === "string" ? leafAt(node, path) : found(node.get(segment), rest);
}

const segment = fc.constantFrom("a", "b", "0", "1", "2", "", "__proto__", "constructor", 'é"\\');
const key = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join("."));
const value: fc.Arbitrary<AttributeValue> = fc.oneof(
  fc.array(fc.nat(0xffff), { maxLength: 10 }).map((units) => String.fromCharCode(...units)),
  fc.constantFrom("", "plain", "{broken", '{"a":{"0":null,"b":1.0}}', '["x",{"a":"weave:///e/p/call/1"}]', "[]"),
  fc.constantFrom("null", "1", "2.0", "true", '["x"]', '{"b":[7]}').map((json) => ({ json })),
);

describe("attributes unfolded by their shape", () => {
  test("are what unfolding them one by one gives, however often a shape comes", () => {
    const shapes = new AttributeShapes();
    const list = fc
      .array(key, { maxLength: 6 })
      .chain((keys) =>
        fc.array(fc.tuple(...keys.map((name) => fc.tuple(fc.constant(name), value))), { minLength: 1, maxLength: 3 }),
      );
    fc.assert(
      fc.property(list, fc.array(key, { maxLength: 5 }), (spans, paths) => {
        for (const entries of spans) {
          const tree = attributeTree(attributesOf(entries, shapes));
          const expected = unfolded(entries);
          if (expected === undefined) continue;
          expect(treeJson(tree)).toBe(written(expected));
          for (const path of paths) {
            const hit = first(sources(path), { tree, events: [] });
            expect(hit?.value, path).toBe(found(expected, path.split(".")));
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  test("of ever new keys are dropped, and stay correct until then", () => {
    const shapes = new AttributeShapes();
    const before = shapes.empty;
    const used = attributesOf([["a.b", "x"]], shapes);
    for (let index = 0; shapes.empty === before; index++) {
      if (index > 100_000) throw new Error("shapes are never dropped");
      const name = `a.${index}.${"x".repeat(500)}`;
      const json = treeJson(attributeTree(attributesOf([[name, "x"]], shapes)));
      expect(json).toBe(written(unfolded([[name, "x"]]) ?? ""));
    }
    expect(treeJson(attributeTree(used))).toBe('{"a":{"b":"x"}}');
    expect(treeJson(attributeTree(attributesOf([["a.b", "y"]], shapes)))).toBe('{"a":{"b":"y"}}');
  });
});

describe("a key with a value and further keys below it", () => {
  const jsonOfAll = (entries: readonly Entry[]) =>
    JSON.parse(treeJson(attributeTree(attributesOf(entries)))) as unknown;

  test.each<[string, Entry[], unknown]>([
    [
      "text",
      [
        ["error", "timeout"],
        ["error.type", "E"],
      ],
      { error: "timeout", "error.type": "E" },
    ],
    [
      "a number",
      [
        ["n.t", { json: "812" }],
        ["n.t.cached", { json: "5" }],
      ],
      { n: { t: 812, "t.cached": 5 } },
    ],
    [
      "text, three levels",
      [
        ["a", "x"],
        ["a.b", "y"],
        ["a.b.c.d", "z"],
      ],
      { a: "x", "a.b": "y", "a.b.c": { d: "z" } },
    ],
    [
      "text in a list",
      [
        ["l.0", "x"],
        ["l.0.role", "user"],
      ],
      { l: { 0: "x", "0.role": "user" } },
    ],
    [
      "text above a list",
      [
        ["l", "x"],
        ["l.0.role", "user"],
      ],
      { l: "x", "l.0": { role: "user" } },
    ],
    [
      "JSON text",
      [
        ["x", '{"a": 1.0}'],
        ["x.b", "y"],
      ],
      { x: { a: 1, b: "y" } },
    ],
    [
      "an empty object",
      [
        ["x", "{ }"],
        ["x.b", "y"],
      ],
      { x: { b: "y" } },
    ],
    [
      "a JSON list",
      [
        ["l", '[{"content":"hi"}]'],
        ["l.0.role", "user"],
      ],
      { l: [{ content: "hi", role: "user" }] },
    ],
    [
      "a JSON list that goes on",
      [
        ["l", '["a"]'],
        ["l.2", "c"],
        ["l.1", "b"],
      ],
      { l: ["a", "b", "c"] },
    ],
    [
      "a key-value list",
      [
        ["x", { json: '{"a":{"b":1}}' }],
        ["x.a.c", "y"],
      ],
      { x: { a: { b: 1, c: "y" } } },
    ],
    [
      "the same once more",
      [
        ["x", '{"a": 1.0, "b": "y"}'],
        ["x.b", "y"],
        ["x.a", { json: "1" }],
      ],
      { x: { a: 1, b: "y" } },
    ],
    [
      "JSON that contradicts",
      [
        ["x", '{"a":1}'],
        ["x.a", { json: "2" }],
      ],
      { x: { a: 1 }, "x.a": 2 },
    ],
    [
      "a list of text",
      [
        ["l", '["a"]'],
        ["l.0.role", "user"],
      ],
      { l: ["a"], "l.0": { role: "user" } },
    ],
    [
      "a list with gaps",
      [
        ["l", '["a"]'],
        ["l.1000000000.y", "b"],
      ],
      { l: ["a"], "l.1000000000": { y: "b" } },
    ],
    [
      "no list",
      [
        ["l", "[]"],
        ["l.a", "b"],
      ],
      { l: [], "l.a": "b" },
    ],
    [
      "repeated members",
      [
        ["x", '{"a":1,"a":2}'],
        ["x.a", { json: "2" }],
      ],
      { x: { a: 2 }, "x.a": 2 },
    ],
    [
      "text in JSON",
      [
        ["x", '{"a":{"b":1}}'],
        ["x.a", "t"],
        ["x.a.c", "y"],
      ],
      { x: { a: { b: 1 } }, "x.a": "t", "x.a.c": "y" },
    ],
    [
      "null",
      [
        ["x", { json: "null" }],
        ["x.a", "y"],
      ],
      { x: { a: "y" } },
    ],
    [
      "__proto__",
      [
        ["__proto__", "x"],
        ["__proto__.a", "y"],
      ],
      JSON.parse('{"__proto__":"x","__proto__.a":"y"}'),
    ],
  ])("keeps both in either order: %s", (_, entries, expected) => {
    expect(jsonOfAll(entries)).toEqual(expected);
    expect(jsonOfAll(entries.toReversed())).toEqual(expected);
  });

  test("is found as itself, and what is below it as well", () => {
    const found = (entries: readonly Entry[], path: string) =>
      first(sources(path), { tree: attributeTree(attributesOf(entries)), events: [] })?.value;
    const counts: Entry[] = [
      ["u.input", { json: "812" }],
      ["u.input.cached", { json: "5" }],
    ];
    expect([found(counts, "u.input"), found(counts, "u.input.cached")]).toEqual(["812", "5"]);
    const merged: Entry[] = [
      ["x", '{"a":[1]}'],
      ["x.b", "y"],
    ];
    expect([found(merged, "x.a.0"), found(merged, "x.b")]).toEqual(["1", '"y"']);
    const contradictory: Entry[] = [
      ["x", '{"a":1,"c":3}'],
      ["x.a", "y"],
    ];
    expect([found(contradictory, "x.a"), found(contradictory, "x.c")]).toEqual(['"y"', "3"]);
  });

  test("loses nothing, whatever the keys and values are", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(key, value), { selector: ([name]) => name, maxLength: 7 }), (entries) => {
        const all = jsonOfAll(entries);
        expect(jsonOfAll(entries.toReversed())).toEqual(all);
        for (const [name, content] of entries) {
          const sent = JSON.parse(jsonOf(content)) as unknown;
          if (sent === null) continue;
          expect(
            candidates(all, name.split(".")).some((one) => contains(one, sent)),
            name,
          ).toBe(true);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test("does not take more than its own text", () => {
    const text = `[${"0,".repeat(200_000)}0]`;
    const tree = attributeTree(
      attributesOf([
        ["l", text],
        ["l.0", { json: "0" }],
      ]),
    );
    expect(tree.values).toHaveLength(3);
    expect(treeJson(tree)).toBe(`{"l":${text}}`);
  });
});

/** Each value that the segments lead to, several of them joined by dots or not. */
function candidates(value: unknown, segments: readonly string[]): unknown[] {
  if (segments.length === 0) return [value];
  if (typeof value !== "object" || value === null) return [];
  return segments.flatMap((_, index) => {
    const name = segments.slice(0, index + 1).join(".");
    return Object.hasOwn(value, name) ? candidates(Reflect.get(value, name), segments.slice(index + 1)) : [];
  });
}

function contains(value: unknown, part: unknown): boolean {
  if (typeof part !== "object" || part === null) return value === part;
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(part).every(
    ([name, member]) => Object.hasOwn(value, name) && contains(Reflect.get(value, name), member),
  );
}

test("texts are quoted as JSON.stringify does", () => {
  const unit = fc.oneof(
    fc.constantFrom('"', "\\", "\n", "\0", "\x1f", " ", "\x7f", "\u2028", "\ud800", "\udc00", "\uffff"),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(unit), (units) => {
      const text = units.join("");
      expect(textJson(text)).toBe(JSON.stringify(text));
    }),
    { numRuns: 500 },
  );
});

describe("the texts of a list", () => {
  const treeOf = (json: string) => treeJson(attributeTree(attributesOf([["x", { json }]])));
  const text = (value: string) => JSON.stringify(value);

  test.each([
    ["become values, written as they were", [text('{"a":1.0}'), text("[2, 3]")], '[{"a":1.0},[2, 3]]'],
    ["stay texts next to values", [text("none"), text('{"a":1}')], '["none",{"a":1}]'],
    ["stay as they are when one only begins like a value", [text('{"a":1}'), text("[INST] hi")], undefined],
    ["stay as they are when one is nested too deep", [text("[".repeat(64) + "]".repeat(64))], undefined],
  ])("%s", (_, items, expected) => {
    const list = `[${items.join(",")}]`;
    expect(treeOf(list)).toBe(`{"x":${expected ?? list}}`);
  });

  test("that hold a ref are looked at by the store", () => {
    const ref = "weave:///acme/demo/object/o:v0";
    const attributes = attributesOf([["x", { json: `[${text(`{"a":"${ref}"}`)}]` }]]);
    expect(attributeTree(attributes).storableAsIs).toBe(false);
  });
});
