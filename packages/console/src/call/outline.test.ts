import type { TraceOutlineRes } from "@heddle/client/tracing";
import { expect, test } from "vitest";
import { Outline } from "./outline.js";

/** `[name, parent]` of each call, depth first. */
function outlineOf(calls: [name: string, parent: number][], missing: TraceOutlineRes["missing_parents"] = []): Outline {
  const places = new Map([...new Set(calls.map(([name]) => name))].map((name, place) => [name, place]));
  const children = calls.map(() => 0);
  for (const [, parent] of calls) if (parent >= 0) children[parent] = (children[parent] ?? 0) + 1;
  return new Outline({
    seq: "1",
    total: calls.length,
    complete: true,
    names: [...places.keys()],
    ids: calls.map((_, index) => `c${index}`),
    parent: calls.map(([, parent]) => parent),
    name: calls.map(([name]) => places.get(name) ?? 0),
    kind: calls.map(() => "other" as const),
    status: calls.map(([name]) => (name === "failed" ? ("error" as const) : ("success" as const))),
    start_us: calls.map((_, index) => index),
    end_us: calls.map((_, index) => index + 1),
    tokens: calls.map(() => 0),
    children,
    missing_parents: missing,
    cycles: 0,
  });
}

const all = { closed: new Set<string>(), unfolded: new Set<string>() };

/** A line for each row, indented by its depth. */
const linesOf = (outline: Outline, folding: Parameters<Outline["rows"]>[0] = all) =>
  outline.rows(folding).map((row) => {
    const name = row.kind === "missing" ? `? ${row.id}` : outline.name(row.index);
    return `${"  ".repeat(row.depth)}${name}${row.kind === "fold" ? ` ×${row.count}` : ""}`;
  });

const nested = outlineOf([
  ["agent", -1],
  ["plan", 0],
  ["think", 1],
  ["tool", 0],
  ["other root", -1],
]);

test("children are below their parents, and closing one hides what is below it", () => {
  expect(linesOf(nested)).toEqual(["agent", "  plan", "    think", "  tool", "other root"]);
  expect(linesOf(nested, { ...all, closed: new Set(["c1"]) })).toEqual(["agent", "  plan", "  tool", "other root"]);
  expect(linesOf(nested, { ...all, closed: new Set(["c0", "c1"]) })).toEqual(["agent", "other root"]);
});

test("children of a parent that is missing are below a row for it", () => {
  const outline = outlineOf(
    [
      ["root", -1],
      ["first", -1],
      ["below", 1],
      ["second", -1],
      ["last root", -1],
    ],
    [{ id: "gone", first: 1, children: 2 }],
  );
  expect(linesOf(outline)).toEqual(["root", "? gone", "  first", "    below", "  second", "last root"]);
  expect(linesOf(outline, { ...all, closed: new Set(["gone"]) })).toEqual(["root", "? gone", "last root"]);
});

const many: [string, number][] = [
  ["root", -1],
  ...Array.from({ length: 25 }, () => ["embed", 0] as [string, number]),
  ["end", 0],
];

test("twenty neighbours of one name are one row until they are asked for", () => {
  const outline = outlineOf(many);
  expect(linesOf(outline)).toEqual(["root", "  embed ×25", "  end"]);
  const unfolded = linesOf(outline, { ...all, unfolded: new Set(["c1"]) });
  expect(unfolded.slice(0, 3)).toEqual(["root", "  embed ×25", "    embed"]);
  expect(unfolded).toHaveLength(28);
  expect(unfolded.at(-1)).toBe("  end");
});

test("whatever hides a call is opened to show it", () => {
  const outline = outlineOf(many);
  const folding = outline.reveal("c7", { closed: new Set(["c0"]), unfolded: new Set() });
  expect(outline.rows(folding).some((row) => row.kind === "call" && row.index === 7)).toBe(true);
});

test("errors are found one after another in both directions", () => {
  const outline = outlineOf([
    ["root", -1],
    ["failed", 0],
    ["fine", 0],
    ["failed", 0],
  ]);
  expect([outline.nextError(0, 1), outline.nextError(1, 1), outline.nextError(3, 1), outline.nextError(3, -1)]).toEqual(
    [1, 3, -1, 1],
  );
});

test("a trace of 100,000 calls, each below the one before, takes no stack and little time", () => {
  const outline = outlineOf([]);
  expect(outline.rows(all)).toEqual([]);
  const length = 100_000;
  const { data } = outline;
  const deep = new Outline({
    ...data,
    names: ["a"],
    ids: Array.from({ length }, (_, index) => String(index)),
    parent: Array.from({ length }, (_, index) => index - 1),
    name: Array.from({ length }, () => 0),
    children: Array.from({ length }, (_, index) => (index < length - 1 ? 1 : 0)),
  });
  expect(deep.rows(all)).toHaveLength(length);
  expect(deep.end[0]).toBe(length);
});

test("what hides nothing is not made anew, so that no rows are", () => {
  const outline = outlineOf([["agent", -1], ...Array.from({ length: 25 }, (): [string, number] => ["embed", 0])]);
  expect(outline.reveal("c0", all)).toBe(all);
  const opened = outline.reveal("c7", all);
  expect([...opened.unfolded]).toEqual(["c1"]);
  expect(outline.reveal("c7", opened)).toBe(opened);
});

test("the run of a call is found among thousands of them, and its time is that of all its calls", () => {
  const names = Array.from({ length: 2000 }, (_, run) => `op-${run}`);
  const outline = outlineOf([
    ["agent", -1],
    ...names.flatMap((name) => Array.from({ length: 20 }, (): [string, number] => [name, 0])),
  ]);
  for (const run of [0, 1, 999, 1999])
    expect([...outline.reveal(`c${20 * run + 20}`, all).unfolded]).toEqual([`c${20 * run + 1}`]);
  expect(outline.timesOfRun(21)).toEqual({ from: 21, to: 41, isRunning: false });
});

test("calls are found by their names, with all above them", () => {
  const outline = outlineOf([
    ["agent", -1],
    ["plan", 0],
    ["http.GET", 1],
    ["tool", 0],
    ["http.get", 3],
    ["other", 0],
  ]);
  const { rows, found } = outline.found("Http");
  expect(found).toBe(2);
  expect(rows.map(({ index }) => outline.name(index))).toEqual(["agent", "plan", "http.GET", "tool", "http.get"]);
  expect(outline.found("http", 1).rows.map(({ index }) => outline.name(index))).toEqual(["agent", "plan", "http.GET"]);
  expect(outline.found("none")).toEqual({ rows: [], found: 0 });
});
