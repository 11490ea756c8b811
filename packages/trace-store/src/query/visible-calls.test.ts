import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { InFlight } from "../ingest/in-flight.js";
import { Parameters } from "../engine/parameters.js";
import { visibleCalls } from "./visible-calls.js";

const quiet: InFlight = {
  closing: () => [],
  mayRun: () => true,
  hasHidden: () => false,
  hasNames: () => false,
  retentionUs: () => undefined,
};

function build(inFlight: Partial<InFlight>, names = false): string {
  const scope = { project_id: "e/p", now: 1_775_811_600_000_000n, inFlight: { ...quiet, ...inFlight } };
  return visibleCalls(scope, new Parameters(), { select: ["id"], where: ["trace_id = 't'"], names });
}

const complete = (sql: string) => sql.slice(sql.indexOf(" UNION ALL ") + " UNION ALL ".length);

it("reads complete calls without any clause that nothing calls for", () => {
  expect(complete(build({}))).toBe(
    "(SELECT id FROM calls WHERE project_id = {p0:String} AND expire_at > toDateTime({p1:UInt32}, 'UTC') AND trace_id = 't')",
  );
});

it("reads running calls first, with the columns that they lack", () => {
  const sql = build({});
  expect(sql).toMatch(/^\(SELECT id FROM \(SELECT \*, 'running' AS status, .* FROM call_parts FINAL WHERE /);
  expect(sql).toContain("FROM call_parts FINAL WHERE project_id = {p0:String} AND part = 'start') AS call_parts WHERE");
});

it("looks for running calls only in a project that may have some", () => {
  expect(build({ mayRun: () => false })).toBe(complete(build({})).slice(1, -1));
});

it("leaves out hidden calls while some are not compacted", () => {
  const sql = build({ hasHidden: () => true });
  const [running, done] = [sql.slice(0, sql.indexOf(" UNION ALL ")), complete(sql)];
  expect(running).toContain("id NOT IN (SELECT id FROM call_hidden FINAL");
  expect(running).not.toContain("(id, version) NOT IN");
  expect(done).toContain("id NOT IN (SELECT id FROM call_hidden FINAL");
  expect(done).toContain("(id, version) NOT IN (SELECT id, version FROM call_hidden FINAL");
});

it("leaves out what a commit is replacing only when the new row is there", () => {
  const sql = build({ closing: () => ["a"] });
  const written =
    "SELECT id FROM calls WHERE project_id = {p0:String} AND version >= {p3:UInt64} AND id IN ({p2:Array(String)})";
  expect(sql).toContain(`NOT (id IN ({p2:Array(String)}) AND id IN (${written})) AND`);
  expect(complete(sql)).toContain(
    `(id, version) NOT IN (${written.replace("id FROM", "id, max(version) FROM")} GROUP BY id)`,
  );
});

it("tests the conditions that few calls meet before it looks for hidden ones", () => {
  const inFlight = { ...quiet, hasHidden: () => true };
  const scope = { project_id: "e/p", now: 0n, inFlight };
  const sql = visibleCalls(scope, new Parameters(), { select: ["id"], prewhere: ["turn_id = id", "thread_id != ''"] });
  expect(complete(sql)).toMatch(
    /^\(SELECT id FROM calls PREWHERE turn_id = id AND thread_id != '' WHERE project_id = \{p0:String\} AND id NOT IN/,
  );
  expect(sql.slice(0, sql.indexOf(" UNION ALL "))).toMatch(/ AND turn_id = id AND thread_id != '' AND expire_at > /);
});

it("joins renames only when there can be some", () => {
  expect(build({}, true)).not.toContain("call_names");
  expect(build({ hasNames: () => true }, true)).toContain(
    "LEFT JOIN (SELECT id AS renamed_id, display_name AS new_name FROM call_names FINAL",
  );
});

it("is the only module that reads calls, besides ingest", async () => {
  const root = import.meta.dirname;
  const files = (await readdir(root, { recursive: true })).filter(
    (file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !file.startsWith("ingest"),
  );
  const readers: string[] = [];
  for (const file of files) {
    const text = (await readFile(join(root, file), "utf8")).replaceAll(/^ *(?:\*|\/\/).*$/gm, "");
    if (/\b(?:FROM|JOIN|from|join)\s+(?:\w+\.)?(?:calls|call_parts|call_hidden|call_names)\b/.test(text))
      readers.push(file);
  }
  expect(readers).toEqual(["visible-calls.ts"]);
});
