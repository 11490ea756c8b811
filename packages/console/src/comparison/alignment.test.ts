import type { TraceOutlineRes } from "@heddle/client/tracing";
import { expect, test } from "vitest";
import { Outline } from "../call/outline.js";
import { Alignment } from "./alignment.js";
import { matched } from "./matched.js";

interface Call {
  name: string;
  output?: string;
  status?: TraceOutlineRes["status"][number];
  tokens?: number;
  below?: Call[];
}

/** Ids are `<prefix>0`, `<prefix>1`…, depth first. */
function outlineOf(prefix: string, tops: Call[]): Outline {
  const calls: (Call & { parent: number })[] = [];
  const add = (call: Call, parent: number) => {
    const place = calls.push({ ...call, parent }) - 1;
    for (const each of call.below ?? []) add(each, place);
  };
  for (const top of tops) add(top, -1);
  return new Outline({
    seq: "1",
    total: calls.length,
    complete: true,
    names: calls.map(({ name }) => name),
    ids: calls.map((_, place) => `${prefix}${place}`),
    parent: calls.map(({ parent }) => parent),
    name: calls.map((_, place) => place),
    kind: calls.map(() => "other" as const),
    status: calls.map(({ status = "success" }) => status),
    start_us: calls.map((_, place) => place),
    end_us: calls.map((_, place) => place + 1),
    tokens: calls.map(({ tokens = 0 }) => tokens),
    input_digest: calls.map(() => "same"),
    output_digest: calls.map(({ output = "same" }) => output),
    children: calls.map(({ below = [] }) => below.length),
    missing_parents: [],
    cycles: 0,
  });
}

const aligned = (before: Call[], after: Call[], roots: [string, string] = ["a0", "b0"]): Alignment =>
  new Alignment(
    { outline: outlineOf("a", before), root: roots[0] },
    { outline: outlineOf("b", after), root: roots[1] },
  );

/** A line for each row: what became of the call, and its name indented by its depth. */
const linesOf = (alignment: Alignment, only = false, closed = new Set<string>()) =>
  alignment.rows(closed, only).map((row) => {
    const mark = alignment.b[row] === -1 ? "-" : alignment.a[row] === -1 ? "+" : " ";
    const differs = (["status", "inputs", "output", "tokens"] as const).filter((by) => alignment.differsIn(row, by));
    return `${mark}${"  ".repeat(alignment.depth[row] ?? 0)}${alignment.name(row)}${differs.length === 0 ? "" : ` ≠ ${differs.join(" ")}`}`;
  });

const before: Call[] = [
  {
    name: "answer",
    output: "late",
    below: [
      { name: "plan" },
      { name: "search", below: [{ name: "http" }] },
      { name: "search", below: [{ name: "http" }, { name: "http", status: "error" }] },
      { name: "chat", tokens: 5 },
    ],
  },
];
const after: Call[] = [
  {
    name: "reply",
    below: [
      { name: "plan" },
      { name: "guard", below: [{ name: "chat" }] },
      { name: "search", below: [{ name: "http" }] },
      { name: "chat", tokens: 7, output: "other" },
    ],
  },
];

test("calls of one name at one place are a row, whatever the compared ones are called, and others stand alone with all below", () => {
  const alignment = aligned(before, after);
  expect(linesOf(alignment)).toEqual([
    " answer ≠ output",
    "   plan",
    "-  search",
    "-    http",
    "+  guard",
    "+    chat",
    "   search",
    "     http",
    "-    http",
    "   chat ≠ output tokens",
  ]);
  expect(alignment.counts).toEqual({ added: 2, removed: 3, changed: 2 });
});

test("a reader goes from difference to difference, over what is below a call that stands alone", () => {
  const alignment = aligned(before, after);
  const stops = [];
  for (let row = alignment.next(-1, 1); row >= 0; row = alignment.next(row, 1)) stops.push(row);
  expect(stops).toEqual([0, 2, 4, 8, 9]);
  expect([alignment.next(8, -1), alignment.next(0, -1)]).toEqual([4, -1]);
});

test("only differences and what is above them are shown if asked for; a closed row hides what is below it", () => {
  const alignment = aligned(before, after);
  expect(linesOf(alignment, true)).toEqual(
    linesOf(alignment).filter((line) => !/^ +(?:plan)$/.test(line) && line !== "     http"),
  );
  expect(linesOf(alignment, false, new Set(["a a2", "b b2"]))).toHaveLength(8);
  const closed = new Set(["a a2", "a a0"]);
  const row = alignment.rowOf("a a3");
  expect(alignment.name(row)).toBe("http");
  expect(alignment.reveal(row, closed)).toEqual(new Set());
  expect(alignment.reveal(0, closed)).toBe(closed);
  expect(["a nothing", "b a1", "", "zz"].map((key) => alignment.rowOf(key))).toEqual([-1, -1, -1, -1]);
  for (let each = 0; each < alignment.length; each++) expect(alignment.rowOf(alignment.key(each))).toBe(each);
});

test("a trace compared with itself has no differences", () => {
  const alignment = aligned(before, before);
  expect(alignment.counts).toEqual({ added: 0, removed: 0, changed: 0 });
  expect([linesOf(alignment, true), alignment.next(-1, 1)]).toEqual([[], -1]);
});

test("calls next to the compared ones are aligned before and after them", () => {
  const tops = (...names: string[]) => names.map((name) => ({ name }));
  expect(linesOf(aligned(tops("x", "mine", "y"), tops("yours", "y"), ["a1", "b0"]))).toEqual(["-x", " mine", " y"]);
  // One of them is not among those at the top any more.
  expect(linesOf(aligned(tops("x", "y"), tops("y"), ["gone", "b0"]))).toEqual(["-x", " y"]);
  expect(linesOf(aligned([], tops("y")))).toEqual(["+y"]);
});

test("as many as can be are partners in order; in lists with little in common many are", () => {
  const pairs = (left: string, right: string) =>
    matched(Array.from(left), Array.from(right)).filter(([a, b]) => a >= 0 && b >= 0);
  expect(pairs("abcabba", "cbabac")).toHaveLength(4);
  // 10,000 calls each, of which every second is another one.
  const [left, right] = ["l", "r"].map((side) =>
    Array.from({ length: 10_000 }, (_, at) => (at % 2 === 0 ? `call ${at}` : `${side} ${at}`)),
  );
  const found = matched(left ?? [], right ?? []);
  expect(found.filter(([a, b]) => a >= 0 && a === b)).toHaveLength(5000);
  expect(found.map(([a]) => a).filter((a) => a >= 0)).toEqual(Array.from({ length: 10_000 }, (_, at) => at));
  expect(found.map(([, b]) => b).filter((b) => b >= 0)).toEqual(Array.from({ length: 10_000 }, (_, at) => at));
});

test("a trace may be as deep as it is long", () => {
  let deep: Call = { name: "leaf" };
  for (let level = 0; level < 2000; level++) deep = { name: "call", below: [deep] };
  const alignment = aligned([deep], [{ name: "call", below: [deep] }]);
  expect(alignment.length).toBe(2003);
  expect(alignment.depth[2002]).toBe(2001);
});
