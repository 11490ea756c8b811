import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { leafAt } from "../query/leaf.js";
import { emptyShape } from "./attribute-shape.js";
import { attributeTree, isJson, treeJson } from "./attribute-tree.js";
import { first, sources } from "./sources.js";
import { noAttributes } from "./traces.js";
import type { Attributes } from "./traces.js";
import type { AttributeValue } from "./value-json.js";
import { textJson } from "./value-json.js";

type Entry = readonly [key: string, value: AttributeValue];
type Tree = Map<string, Tree | string>;

function attributesOf(entries: readonly Entry[]): Attributes {
  const result = noAttributes();
  for (const [key, value] of entries) {
    result.shape = result.shape.with(key);
    result.values.push(value);
  }
  return result;
}

/** What unfolding means, one attribute after the other; undefined when keys conflict. */
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
    const list = fc
      .array(key, { maxLength: 6 })
      .chain((keys) =>
        fc.array(fc.tuple(...keys.map((name) => fc.tuple(fc.constant(name), value))), { minLength: 1, maxLength: 3 }),
      );
    fc.assert(
      fc.property(list, fc.array(key, { maxLength: 5 }), (spans, paths) => {
        for (const entries of spans) {
          const tree = attributeTree(attributesOf(entries));
          const expected = unfolded(entries);
          expect(tree.layout.problem === undefined).toBe(expected !== undefined);
          const flat = new Map(entries.map(([name, content]) => [name, jsonOf(content)]));
          expect(treeJson(tree)).toBe(written(expected ?? flat));
          if (expected === undefined) continue;
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
    const before = emptyShape();
    const used = attributesOf([["a.b", "x"]]);
    for (let index = 0; emptyShape() === before; index++) {
      if (index > 100_000) throw new Error("shapes are never dropped");
      const name = `a.${index}.${"x".repeat(500)}`;
      const json = treeJson(attributeTree(attributesOf([[name, "x"]])));
      expect(json).toBe(written(unfolded([[name, "x"]]) ?? ""));
    }
    expect(treeJson(attributeTree(used))).toBe('{"a":{"b":"x"}}');
    expect(treeJson(attributeTree(attributesOf([["a.b", "y"]])))).toBe('{"a":{"b":"y"}}');
  });
});

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
