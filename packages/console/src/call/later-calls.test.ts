import type { CallRow, TraceOutlineRes } from "@heddle/client/tracing";
import { expect, test } from "vitest";
import { microsOf, withLaterCalls } from "./later-calls.js";
import type { LaterCalls } from "./later-calls.js";
import { Outline } from "./outline.js";

/** `[id, parent]` of each call, depth first, of a trace of more calls; each starts a microsecond after the one before. */
function cutOutline(calls: [id: string, parent: number][], others: Partial<TraceOutlineRes> = {}): TraceOutlineRes {
  return {
    seq: "1",
    total: calls.length + 100,
    complete: false,
    names: ["call"],
    ids: calls.map(([id]) => id),
    parent: calls.map(([, parent]) => parent),
    name: calls.map(() => 0),
    kind: calls.map(() => "other" as const),
    status: calls.map(() => "success" as const),
    start_us: calls.map((_, index) => index),
    end_us: calls.map(([id], index) => (id === "root" || id === "late" ? 1000 : index)),
    tokens: calls.map(() => 0),
    children: calls.map((_, index) => calls.filter(([, parent]) => parent === index).length),
    missing_parents: [],
    cycles: 0,
    ...others,
  };
}

const laterCall = (id: string): CallRow => ({
  id,
  seq: "2",
  started_at: "1970-01-01T00:00:00.000500Z",
  ended_at: "1970-01-01T00:00:00.000400Z",
  name: `later ${id}`,
  status: "error",
  tokens: 7,
});
const later = (below: string, ...ids: string[]): LaterCalls => ({ below, calls: ids.map(laterCall) });

const linesOf = (data: TraceOutlineRes, whole: string[] = [], closed: string[] = []) => {
  const outline = new Outline(data, { from: Math.max(...data.start_us.slice(0, 4)), whole: new Set(whole) });
  return outline.rows({ closed: new Set(closed), unfolded: new Set() }).map((row) => {
    const text = row.kind === "more" ? `… ${row.id}` : row.kind === "missing" ? `? ${row.id}` : outline.id(row.index);
    const mark = row.kind === "call" && row.isParent ? (row.isOpen ? "▾" : "▸") : "";
    return `${"  ".repeat(row.depth)}${mark}${text}`;
  });
};

const cut = cutOutline([
  ["root", -1],
  ["first", 0],
  ["below first", 1],
  ["late", 0],
]);

test("of a trace that is cut, what may have further calls is to be opened, and what ended before the cut is not", () => {
  expect(linesOf(cut)).toEqual(["▾root", "  ▾first", "    below first", "  ▸late", "  … root", "… "]);
  expect(linesOf(cut, [], ["root"])).toEqual(["▸root", "… "]);
  expect(linesOf(cut, ["root", "late", ""])).toEqual(["▾root", "  ▾first", "    below first", "  late"]);
});

test("calls that are read later come behind their siblings, those below them below, each once", () => {
  const data = withLaterCalls(cut, [later("root", "a", "b", "first"), later("a", "c", "root"), later("", "other")]);
  expect(linesOf(data, ["root", "late", "a", "b", "c", "other"])).toEqual([
    "▾root",
    "  ▾first",
    "    below first",
    "  late",
    "  ▾a",
    "    c",
    "  b",
    "other",
    "… ",
  ]);
  const at = data.ids.indexOf("c");
  expect([data.start_us[at], data.end_us[at], data.tokens[at], data.status[at]]).toEqual([500, 400, 7, "error"]);
  expect(data.names[data.name[at] ?? 0]).toBe("later c");
  expect(data.children).toEqual([4, 1, 0, 0, 1, 0, 0, 0]);
});

test("what is below a parent that is missing stays below it, and so does what is read later", () => {
  const orphans = cutOutline(
    [
      ["o1", -1],
      ["below o1", 0],
      ["o2", -1],
      ["root", -1],
    ],
    { missing_parents: [{ id: "gone", first: 0, children: 2 }] },
  );
  expect(linesOf(orphans, ["root", "", "o1", "o2"])).toEqual([
    "? gone",
    "  ▾o1",
    "    below o1",
    "  o2",
    "  … gone",
    "root",
  ]);
  const data = withLaterCalls(orphans, [later("gone", "o3"), later("root", "r1")]);
  expect(linesOf(data, ["root", "", "gone", "o3", "r1"])).toEqual([
    "? gone",
    "  ▾o1",
    "    below o1",
    "  o2",
    "  o3",
    "▾root",
    "  r1",
  ]);
});

test("nothing is to be opened once all calls are there", () => {
  expect(linesOf({ ...cut, total: cut.ids.length })).toEqual(["▾root", "  ▾first", "    below first", "  late"]);
});

test("times keep their microseconds", () => {
  expect(microsOf("2026-01-01T00:00:00.123456Z") % 1_000_000).toBe(123_456);
  expect(microsOf("2026-01-01T00:00:00Z") % 1_000_000).toBe(0);
});
