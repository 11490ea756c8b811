import { afterAll, beforeAll, expect, test } from "vitest";
import { MemoryMeter } from "../../test/memory-meter.js";
import { testDatabase } from "../../test/store.js";
import type { Tables } from "./tables.js";
import type { TableQuery, TableRow } from "./requests.js";

const database = testDatabase();
let tables: Tables;
beforeAll(async () => {
  ({ tables } = await database.open());
});
afterAll(async () => await database.drop());

let projects = 0;
function project(): string {
  return `acme/tables-${projects++}`;
}

async function all(request: TableQuery): Promise<TableRow[]> {
  const rows: TableRow[] = [];
  for await (const row of tables.query(request)) rows.push(row);
  return rows;
}
async function values(request: TableQuery): Promise<string[]> {
  return (await all(request)).map(({ val }) => val);
}

test("a table reads back immediately, byte for byte, in order, with equal rows repeated", async () => {
  const projectId = project();
  const rows = [
    '{"b":1.0,"a":"caf\\u00e9"}',
    '{ "n":18446744073709551616, "s":"\\ud800" }',
    '{"b":1.0,"a":"caf\\u00e9"}',
    "{}",
  ];
  const { digest, row_digests } = await tables.create({ project_id: projectId, rows });
  expect(row_digests).toHaveLength(4);
  expect(row_digests[0]).toBe(row_digests[2]);
  expect(await all({ project_id: projectId, digest })).toEqual(
    rows.map((val, originalIndex) => ({ digest: row_digests[originalIndex], val, original_index: originalIndex })),
  );
});

test("digests are the ones a client computes", async () => {
  const projectId = project();
  const rows = ['{"question":"2+2?","answer":4}', '{"question":"café","answer":1.5}'];
  const expectedDigest = "b916f02e5a70109f2b81b5335475308e3ec946d1b682a4019367c27028202400";
  const created = await tables.create({ project_id: projectId, rows, expected_digest: expectedDigest });
  const rowDigests = ["2N7W72R7BZaqqYKdkGLpQYl6XgSTLRDmLz9blXlWwGE", "pb0tS76HLW8CsoAkPvwQy2NU1YoOCOXkQZ6a6AAh6M8"];
  expect(created).toEqual({ digest: expectedDigest, row_digests: rowDigests });
  expect(
    await tables.createFromDigests({ project_id: projectId, row_digests: rowDigests, expected_digest: expectedDigest }),
  ).toEqual({
    digest: expectedDigest,
  });
  const reversed = rowDigests.toReversed();
  const conflict = { code: "conflict" };
  await expect(
    tables.createFromDigests({ project_id: projectId, row_digests: reversed, expected_digest: expectedDigest }),
  ).rejects.toMatchObject(conflict);
  await expect(
    tables.create({ project_id: projectId, rows: ["{}"], expected_digest: expectedDigest }),
  ).rejects.toMatchObject(conflict);
});

test("a table without rows is a table", async () => {
  const projectId = project();
  const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  expect(await tables.create({ project_id: projectId, rows: [] })).toEqual({ digest: empty, row_digests: [] });
  expect(await tables.createFromDigests({ project_id: project(), row_digests: [] })).toEqual({ digest: empty });
  expect(await all({ project_id: projectId, digest: empty })).toEqual([]);
  expect(await tables.stats({ project_id: projectId, digests: [empty] })).toMatchObject([{ count: 0 }]);
});

test("creating a table again changes nothing", async () => {
  const projectId = project();
  const rows = ['{"a":1}', '{"a":2}'];
  const first = await tables.create({ project_id: projectId, rows });
  expect(
    await Promise.all([tables.create({ project_id: projectId, rows }), tables.create({ project_id: projectId, rows })]),
  ).toEqual([first, first]);
  expect(await values({ project_id: projectId, digest: first.digest })).toEqual(rows);
});

test("rows uploaded in chunks are assembled by their digests", async () => {
  const projectId = project();
  const chunks = await Promise.all(
    [['{"a":1}', '{"a":2}'], ['{"a":3}']].map(async (rows) => await tables.create({ project_id: projectId, rows })),
  );
  const rowDigests = chunks.flatMap((chunk) => chunk.row_digests);
  const { digest } = await tables.createFromDigests({ project_id: projectId, row_digests: rowDigests });
  expect(await values({ project_id: projectId, digest })).toEqual(['{"a":1}', '{"a":2}', '{"a":3}']);
  const wrong = { code: "invalid", loc: ["row_digests", 1] };
  for (const text of ["", "short", "x".repeat(44), "'".repeat(43)]) {
    const request = { project_id: projectId, row_digests: [rowDigests[0] ?? "", text] };
    await expect(tables.createFromDigests(request)).rejects.toMatchObject(wrong);
  }
});

test("only objects can be rows", async () => {
  const projectId = project();
  for (const row of ["1", "[]", "null", '"text"']) {
    const wrong = { code: "invalid", loc: ["rows", 1] };
    await expect(tables.create({ project_id: projectId, rows: ["{}", row] })).rejects.toMatchObject(wrong);
  }
});

test("edits apply in order and report every row they touched", async () => {
  const projectId = project();
  const base = await tables.create({ project_id: projectId, rows: ['{"a":1}', '{"a":2}', '{"a":3}'] });
  const updated = await tables.update({
    project_id: projectId,
    base_digest: base.digest,
    updates: [
      { append: { row: '{"a":4}' } },
      { pop: { index: 0 } },
      { insert: { index: 0, row: '{"a":0}' } },
      { insert: { index: 4, row: '{"a":5}' } },
      { pop: { index: 1 } },
    ],
  });
  expect(await values({ project_id: projectId, digest: updated.digest })).toEqual([
    '{"a":0}',
    '{"a":3}',
    '{"a":4}',
    '{"a":5}',
  ]);
  const digestOf = new Map(
    (await all({ project_id: projectId, digest: updated.digest })).map(({ val, digest }) => [val, digest]),
  );
  expect(updated.updated_row_digests).toEqual([
    digestOf.get('{"a":4}'),
    base.row_digests[0],
    digestOf.get('{"a":0}'),
    digestOf.get('{"a":5}'),
    base.row_digests[1],
  ]);
  expect(await values({ project_id: projectId, digest: base.digest })).toEqual(['{"a":1}', '{"a":2}', '{"a":3}']);
});

test("an edit outside the table is refused with its location, an unknown base is not found", async () => {
  const projectId = project();
  const { digest } = await tables.create({ project_id: projectId, rows: ['{"a":1}'] });
  const refused = async (update: Parameters<Tables["update"]>[0]["updates"][number], name: string, field = "index") =>
    await expect(
      tables.update({ project_id: projectId, base_digest: digest, updates: [{ append: { row: "{}" } }, update] }),
    ).rejects.toMatchObject({ code: "invalid", loc: ["updates", 1, name, field] });
  await refused({ pop: { index: 2 } }, "pop");
  await refused({ pop: { index: -1 } }, "pop");
  await refused({ pop: { index: 0.5 } }, "pop");
  await refused({ insert: { index: 3, row: "{}" } }, "insert");
  await refused({ append: { row: "[]" } }, "append", "row");
  const unknown = { project_id: projectId, base_digest: "f".repeat(64), updates: [] };
  await expect(tables.update(unknown)).rejects.toMatchObject({ code: "not_found" });
});

test("pages and filters by row digest keep the original positions", async () => {
  const projectId = project();
  const rows = [0, 1, 2, 1, 4].map((n) => `{"n":${n}}`);
  const { digest, row_digests } = await tables.create({ project_id: projectId, rows });
  const indexes = async (more: Partial<TableQuery>) =>
    (await all({ project_id: projectId, digest, ...more })).map(({ original_index }) => original_index);
  expect(await indexes({ limit: 2 })).toEqual([0, 1]);
  expect(await indexes({ offset: 3 })).toEqual([3, 4]);
  expect(await indexes({ limit: 2, offset: 2 })).toEqual([2, 3]);
  expect(await indexes({ limit: 0 })).toEqual([]);
  expect(await indexes({ offset: 99 })).toEqual([]);
  const filter = { row_digests: [row_digests[1] ?? "", row_digests[4] ?? "", "unknown"] };
  expect(await indexes({ filter })).toEqual([1, 3, 4]);
  expect(await indexes({ filter, limit: 1, offset: 1 })).toEqual([3]);
  expect(await indexes({ filter: { row_digests: [] } })).toEqual(await indexes({}));
});

test("sorts by values in the rows: missing ones last, numbers before text, equal ones in the order of the table", async () => {
  const projectId = project();
  const rows = [
    '{"id":0,"s":{"x":10}}',
    '{"id":1}',
    '{"id":2,"s":{"x":9.5}}',
    '{"id":3,"s":{"x":"b"}}',
    '{"id":4,"s":{"x":null}}',
    '{"id":5,"s":{"x":"a"}}',
    '{"id":6,"s":{"x":9.5}, "list":[{"y":1}], "a.b": 1}',
  ];
  const { digest } = await tables.create({ project_id: projectId, rows });
  const sorted = async (field: string, direction: "asc" | "desc", more: Partial<TableQuery> = {}) =>
    (await all({ project_id: projectId, digest, sort_by: [{ field, direction }], ...more })).map(
      (row) => row.original_index,
    );
  expect(await sorted("s.x", "asc")).toEqual([2, 6, 0, 5, 3, 1, 4]);
  expect(await sorted("s.x", "desc")).toEqual([0, 2, 6, 3, 5, 1, 4]);
  expect(await sorted("s.x", "asc", { limit: 2, offset: 1 })).toEqual([6, 0]);
  expect(await sorted("list.0.y", "asc", { limit: 1 })).toEqual([6]);
  expect(await sorted("a\\.b", "asc", { limit: 1 })).toEqual([6]);
  expect(await sorted("'; DROP TABLE tables; --", "asc")).toEqual([0, 1, 2, 3, 4, 5, 6]);
  for (const field of ["", ".", "a.", ".a", "a..b"]) {
    expect(() => tables.query({ project_id: projectId, digest, sort_by: [{ field, direction: "asc" }] })).toThrow(
      expect.objectContaining({ code: "invalid", loc: ["sort_by", 0, "field"] }),
    );
  }
});

test("counts and sizes are those of known tables, in the order asked", async () => {
  const projectId = project();
  const one = await tables.create({ project_id: projectId, rows: ['{"a":"é"}', '{"a":"é"}'] });
  const two = await tables.create({ project_id: projectId, rows: ['{"b":1}', '{"a":"é"}'] });
  const digests = [two.digest, "f".repeat(64), one.digest];
  expect(await tables.stats({ project_id: projectId, digests })).toEqual([
    { digest: two.digest, count: 2, storage_size_bytes: null },
    { digest: one.digest, count: 2, storage_size_bytes: null },
  ]);
  expect(await tables.stats({ project_id: projectId, digests, include_storage_size: true })).toMatchObject([
    { storage_size_bytes: 17 },
    { storage_size_bytes: 10 },
  ]);
  expect(await tables.stats({ project_id: projectId, digests: [] })).toEqual([]);
});

test("unknown tables and those of other projects have no rows", async () => {
  const [mine, foreign] = [project(), project()];
  const { digest, row_digests } = await tables.create({ project_id: mine, rows: ['{"secret":1}'] });
  expect(await all({ project_id: foreign, digest })).toEqual([]);
  expect(await all({ project_id: foreign, digest, sort_by: [{ field: "secret", direction: "asc" }] })).toEqual([]);
  expect(await tables.stats({ project_id: foreign, digests: [digest], include_storage_size: true })).toEqual([]);
  await tables.createFromDigests({ project_id: foreign, row_digests });
  expect(await all({ project_id: foreign, digest })).toEqual([]);
});

test("a table of 30,000 rows is created, paged, sorted and streamed", { timeout: 120_000 }, async () => {
  const projectId = project();
  const rows = Array.from({ length: 30_000 }, (_, i) => `{"i":${i},"text":"row number ${i} of a big table"}`);
  const { digest, row_digests } = await tables.create({ project_id: projectId, rows });
  expect(await values({ project_id: projectId, digest, offset: 15_000, limit: 3 })).toEqual(rows.slice(15_000, 15_003));
  const sortBy: TableQuery["sort_by"] = [{ field: "i", direction: "desc" }];
  expect(await values({ project_id: projectId, digest, sort_by: sortBy, limit: 2 })).toEqual([
    rows[29_999],
    rows[29_998],
  ]);
  let at = 0;
  for await (const row of tables.query({ project_id: projectId, digest })) {
    if (row.original_index !== at || row.val !== rows[at] || row.digest !== row_digests[at]) break;
    at++;
  }
  expect(at).toBe(30_000);
  for await (const row of tables.query({ project_id: projectId, digest })) {
    expect(row.original_index).toBe(0);
    break;
  }
});

test("large rows are fetched and held some at a time, equal ones once", async () => {
  const projectId = project();
  const text = "x".repeat(1_000_000);
  const rows = Array.from({ length: 40 }, (_, n) => `{"n":${n % 10},"text":"${text}"}`);
  const { digest } = await tables.create({ project_id: projectId, rows });
  const meter = new MemoryMeter();
  let count = 0;
  for await (const { val, original_index } of tables.query(
    { project_id: projectId, digest },
    { reserve: meter.reserve },
  )) {
    expect(val.startsWith(`{"n":${original_index % 10},`)).toBe(true);
    count++;
  }
  expect(count).toBe(40);
  expect(meter.most).toBeLessThan(5_000_000);
  expect(meter.held).toBe(0);
});
