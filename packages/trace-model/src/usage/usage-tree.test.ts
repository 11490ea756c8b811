import { describe, expect, test } from "vitest";
import { goldenTrees, partsOf } from "../../test/usage-trees.js";
import type { CallPart } from "../calls/part.js";
import { usageIncludes } from "./usage-includes.js";
import { UsageTree } from "./usage-tree.js";
import { usageOf } from "./usage.js";
import type { UsageRow } from "./usage.js";

const named = goldenTrees.map((tree) => [`${tree.sender}: ${tree.what}`, tree] as const);

function addTo(tree: UsageTree, part: CallPart): void {
  if (part.part === "end") return;
  const { id, parent_id = "", started_at, attributes } = part.start;
  const reported = part.part === "complete" ? usageOf(part.end.summary) : [];
  tree.set({ id, parent_id, started_at, reported, includes: usageIncludes(attributes), stored: tree.get(id)?.stored });
}

/** Every call of the tree, with what it used itself. */
function ownOf(tree: UsageTree, ids: ReadonlyMap<string, string>): Record<string, readonly UsageRow[]> {
  tree.settle();
  return Object.fromEntries(Array.from(ids, ([name, id]) => [name, tree.own(id)]));
}

const uncached = { cache_read_tokens: 0, cache_creation_tokens: 0 };

describe("what calls used themselves", () => {
  test.each(named)("%s", (_, golden) => {
    const expected = Object.fromEntries(
      Object.entries(golden.own).map(([id, rows]) => [id, rows.map((row) => ({ ...row, ...uncached }))]),
    );
    const { ids, parts } = partsOf(golden, "acme/demo", 1_700_000_000_000_000n);
    const orders = { "children first": parts, "parents first": parts.toReversed() };
    for (const [order, sent] of Object.entries(orders)) {
      const tree = new UsageTree(undefined);
      for (const part of sent) {
        addTo(tree, part);
        // Whatever was computed meanwhile is computed again.
        tree.settle();
      }
      expect({ order, own: ownOf(tree, ids) }).toEqual({ order, own: expected });
    }
  });

  test("only calls with another own usage than is stored are reported as different", () => {
    const tree = new UsageTree(undefined);
    const row = (tokens: number): UsageRow => ({
      model: "m",
      requests: 1,
      prompt_tokens: tokens,
      completion_tokens: 0,
      total_tokens: tokens,
      ...uncached,
    });
    const call = (id: string, parent: string, tokens: number) => ({
      id,
      parent_id: parent,
      started_at: 1n,
      includes: "children" as const,
      reported: [row(tokens)],
      stored: undefined,
    });
    const settle = () => {
      const different = tree.settle();
      for (const { node, own } of different) tree.stored(node.id, own);
      return different.map(({ node, own }) => [node.id, own.map(({ total_tokens }) => total_tokens)] as const);
    };
    tree.set(call("root", "", 10));
    tree.set(call("op", "root", 10));
    expect(settle()).toEqual([
      ["root", []],
      ["op", [10]],
    ]);
    tree.set(call("leaf", "op", 10));
    expect(new Map(settle())).toEqual(
      new Map([
        ["leaf", [10]],
        ["op", []],
      ]),
    );
    expect(settle()).toEqual([]);
    tree.delete("leaf");
    expect(settle()).toEqual([["op", [10]]]);
  });

  test("a long chain of calls with a model each takes memory by its length, and sums are still found repeated", () => {
    const row = (model: string): UsageRow => ({
      model,
      requests: 1,
      prompt_tokens: 7,
      completion_tokens: 0,
      total_tokens: 7,
      ...uncached,
    });
    const tree = new UsageTree(undefined);
    const add = (id: string, parent: string, reported: UsageRow[]) =>
      tree.set({ id, parent_id: parent, started_at: 1n, includes: undefined, reported, stored: undefined });
    for (let at = 1; at < 2000; at++) add(String(at), String(at - 1), [row(`m${at}`)]);
    tree.settle();
    expect(tree.bytes).toBeLessThan(2000 * 10_000);
    add("0", "", [row("m1999")]);
    tree.settle();
    expect(tree.own("0")).toEqual([]);
    expect(tree.own("1")).toEqual([row("m1")]);
    const { bytes } = tree;
    for (let at = 0; at < 2000; at++) tree.delete(String(at));
    expect([bytes > 0, tree.bytes]).toEqual([true, 0]);
  });

  test("parents in a circle and long chains", () => {
    const rows = [{ model: "m", requests: 1, prompt_tokens: 1, completion_tokens: 0, total_tokens: 1, ...uncached }];
    const node = (id: string, parent: string) => ({
      id,
      parent_id: parent,
      started_at: 1n,
      includes: undefined,
      reported: rows,
      stored: undefined,
    });
    const circle = new UsageTree(undefined);
    for (const [id, parent] of [
      ["a", "b"],
      ["b", "a"],
      ["self", "self"],
    ] as const)
      circle.set(node(id, parent));
    expect(circle.settle()).toHaveLength(3);
    const chain = new UsageTree(undefined);
    for (let depth = 0; depth < 20_000; depth++)
      chain.set({ ...node(`c${depth}`, `c${depth - 1}`), includes: "children" });
    chain.settle();
    expect(chain.own("c0")).toEqual([]);
    expect(chain.own("c19999")).toEqual(rows);
  });
});
