import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { InFlight, WhichCalls } from "../stored-calls/in-flight.js";
import { Parameters } from "../engine/parameters.js";
import { visibleCalls } from "./visible-calls.js";

const quiet: InFlight = {
  closing: () => new Set<string>(),
  indexedUpTo: () => 0n,
  runningStarts: () => undefined,
  kept: () => undefined,
  newest: () => undefined,
  keptOfTrace: () => [],
  readBack: () => undefined,
  mostRows: () => 0,
  watchEnds: () => ({ stop: () => false }),
  mayRun: () => true,
  running: () => undefined,
  startedAt: () => undefined,
  hidden: () => new Map(),
  hasNames: () => false,
  retentionUs: () => undefined,
};

function build(inFlight: Partial<InFlight>, names = false): string {
  const scope = { project_id: "e/p", now: 1_775_811_600_000_000n, inFlight: { ...quiet, ...inFlight } };
  return visibleCalls(scope, new Parameters(), { select: ["id"], where: ["trace_id = 't'"], names });
}

const complete = (sql: string) => sql.slice(sql.indexOf(" UNION ALL ") + " UNION ALL ".length);

it("reads complete calls without any clause that nothing calls for", () => {
  expect(complete(build({}))).toBe("(SELECT id FROM calls WHERE project_id = {p0:String} AND trace_id = 't')");
});

it("reads running calls first, by the same columns", () => {
  expect(build({})).toMatch(
    /^\(SELECT id FROM call_parts FINAL WHERE project_id = \{p0:String\} AND part = 'start' AND trace_id = 't'\) UNION ALL /,
  );
});

it("looks for running calls only in a project that may have some", () => {
  expect(build({ mayRun: () => false })).toBe(complete(build({})).slice(1, -1));
});

it("leaves out a few hidden calls by their ids and versions", () => {
  const hidden = () => new Map([["a", { upTo: 5n, started: { from: 1n, to: 2n }, rows: 1 }]]);
  const clause = "version > transform(id, {p2:Array(String)}, {p1:Array(UInt64)}, 0)";
  const sql = build({ hidden });
  expect([sql.slice(0, sql.indexOf(" UNION ALL ")), complete(sql)].map((part) => part.includes(clause))).toEqual([
    true,
    true,
  ]);
});

it("leaves out many hidden calls by their table", () => {
  const sql = build({ hidden: () => undefined });
  for (const part of [sql.slice(0, sql.indexOf(" UNION ALL ")), complete(sql)]) {
    expect(part).toContain("id NOT IN (SELECT id FROM call_hidden FINAL");
    expect(part).toContain("(id, version) NOT IN (SELECT id, version FROM call_hidden FINAL");
  }
});

it("asks only for what can concern the ids it is about", () => {
  const asked: Array<WhichCalls | undefined> = [];
  const inFlight = {
    ...quiet,
    hidden: () => new Map([["a", { upTo: 5n, started: { from: 1n, to: 2n }, rows: 1 }]]),
    mayRun: (_: string, which?: WhichCalls) => asked.push(which) < 0,
  };
  const sql = (ids: string[]) =>
    visibleCalls({ project_id: "e/p", now: 0n, inFlight }, new Parameters(), { select: ["id"], ids, traceIds: ["t"] });
  expect([sql(["b"]).includes("transform"), sql(["a", "b"]).includes("transform")]).toEqual([false, true]);
  expect(asked).toEqual([
    { ids: ["b"], traceIds: ["t"] },
    { ids: ["a", "b"], traceIds: ["t"] },
  ]);
});

it("leaves out what a commit is replacing only when the new row is there", () => {
  const sql = build({ closing: () => new Set(["a"]) });
  const written =
    "SELECT id FROM calls WHERE project_id = {p0:String} AND version >= {p2:UInt64} AND id IN ({p1:Array(String)})";
  expect(sql).toContain(`NOT (id IN ({p1:Array(String)}) AND id IN (${written})) AND`);
  expect(complete(sql)).toContain(
    `(id, version) NOT IN (${written.replace("id FROM", "id, max(version) FROM")} GROUP BY id)`,
  );
});

it("tests the conditions that few calls meet before it looks for hidden ones", () => {
  const inFlight = { ...quiet, hidden: () => undefined };
  const scope = { project_id: "e/p", now: 0n, inFlight };
  const sql = visibleCalls(scope, new Parameters(), { select: ["id"], prewhere: ["turn_id = id", "thread_id != ''"] });
  expect(complete(sql)).toMatch(
    /^\(SELECT id FROM calls PREWHERE turn_id = id AND thread_id != '' WHERE project_id = \{p0:String\} AND id NOT IN/,
  );
  expect(sql.slice(0, sql.indexOf(" UNION ALL "))).toMatch(/ AND turn_id = id AND thread_id != ''\)$/);
});

it("joins renames only when there can be some", () => {
  expect(build({}, true)).not.toContain("call_names");
  expect(build({ hasNames: () => true }, true)).toContain(
    "LEFT JOIN (SELECT id AS renamed_id, display_name AS new_name FROM call_names FINAL",
  );
});

it("only visibility and ingest read the tables of calls", async () => {
  const root = join(import.meta.dirname, "..");
  const files = (await readdir(root, { recursive: true })).filter(
    (file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !/^(?:ingest|visibility)\//.test(file),
  );
  const readers: string[] = [];
  for (const file of files) {
    const text = (await readFile(join(root, file), "utf8")).replaceAll(/^ *(?:\*|\/\/).*$/gm, "");
    if (/\b(?:FROM|JOIN|from|join)\s+(?:\w+\.)?(?:calls|call_parts|call_hidden|call_names)\b/.test(text))
      readers.push(file);
  }
  expect(readers).toEqual([]);
});
