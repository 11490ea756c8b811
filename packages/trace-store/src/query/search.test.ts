import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callEnd, callStart, completePart, newProject, nowUs, startPart } from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";
import { hasIndexedWords } from "./searched-text.js";
import { parseSearch } from "./parse-search.js";
import type { SearchedColumn } from "./parse-search.js";

describe("reading a search", () => {
  test.each([
    ["two words", ["two", "words"], []],
    ['a "contiguous text" b', ["a", "b"], ["contiguous text"]],
    ["foo_bar it's 1.5 a-b", ["foo", "bar", "it", "s", "1", "5", "a", "b"], []],
    ["日本語 GPT4モデル wörter", ["wörter"], ["日本語", "GPT4モデル"]],
    ["🎉 %  a%b_c .* x", ["a", "b", "c", "x"], ["🎉", "%", ".*"]],
    ["❤️love", ["love"], []],
    ['open "never closed', ["open"], ["never closed"]],
    ['"a" "" " "', [], ["a"]],
  ])("%s", (text, words, texts) => {
    expect(parseSearch({ text })).toMatchObject({ words, texts });
  });

  test.each([
    ['""', "a search needs a word or a text to look for"],
    ["  ", "a search needs a word or a text to look for"],
    ["x".repeat(1_000_000), "a search has at most 1000 characters"],
    [Array.from({ length: 60 }, (_, at) => `w${at}`).join(" "), "a search has at most 50 words and texts, this one 60"],
  ])("refuses one that cannot be carried out (%#)", (text, message) => {
    expect(() => parseSearch({ text })).toThrow(message);
  });
});

const db = testDatabase();
let store: Awaited<ReturnType<typeof db.open>>;
beforeAll(async () => {
  store = await db.open({ textIndex: "bloom" });
});
afterAll(() => db.drop());

/** The ids that a search finds, newest first. */
async function found(project: string, text: string, columns?: SearchedColumn[]) {
  const ids: string[] = [];
  const newest = [{ field: "started_at", direction: "desc" as const }];
  const request = { project_id: project, search: { text, in: columns }, sort_by: newest, columns: ["op_name"] };
  for await (const { id } of store.calls.query(request)) ids.push(id);
  expect((await store.calls.count(request)).count).toBe(ids.length);
  return ids;
}

const inputs = String.raw`{"a": "first\nxylophone, WÖRLD—done “quoted” caf\u00e9 日本語テスト it's foo_bar C:\\new ❤️heart 🎉",
  "deep": [{"n": 107505301260286111}]}`;

const searched = newProject();
const fields = {
  project_id: searched,
  op_name: `weave:///${searched}/op/answer:v1`,
  display_name: "Shown",
  attributes: '{"kind":"tagged"}',
  inputs,
};
beforeAll(async () => {
  const end = { output: '{"text":"the result"}', exception: "Boom: it broke" };
  await store.ingest([completePart({ ...fields, id: "merged", started_at: nowUs() - 2000n }, end)]);
  await db.engine.command({ sql: "OPTIMIZE TABLE calls FINAL" });
  await store.ingest([completePart({ ...fields, id: "fresh", started_at: nowUs() - 1000n }, end)]);
  await store.ingest([startPart({ ...fields, id: "running" })]);
});

test.each([
  "xylophone",
  "XYLOPHONE wörld",
  "wörld DONE",
  "quoted café",
  "日本",
  "語テス",
  "foo",
  '"foo_b"',
  '"C:\\new"',
  "new",
  "heart",
  "🎉",
  '"xylophone, wörld"',
  '"lophone, w"',
  "107505301260286111",
  "deep",
  "answer",
  "shown",
  "boom",
  "tagged",
  "result",
  "xylophone shown result boom",
])("finds what is in a call, indexed, just written or running: %s", async (text) => {
  const isOfStart = !/result|boom/i.test(text);
  expect(await found(searched, text)).toEqual(isOfStart ? ["running", "fresh", "merged"] : ["fresh", "merged"]);
});

test.each([
  "xylo",
  "phone",
  "xylophone nowhere",
  "nworld",
  "ew",
  '"done quoted"',
  "%",
  "x_lophone",
  "xyl.phone",
  "weave",
])("finds nothing for what only looks like it: %s", async (text) => {
  expect(await found(searched, text)).toEqual([]);
});

test("a search looks where it is told to", async () => {
  const project = newProject();
  await store.ingest([
    completePart({ project_id: project, id: "in", inputs: '{"a":"needle"}' }),
    completePart({ project_id: project, id: "out" }, { output: '"needle"' }),
  ]);
  expect(await found(project, "needle", ["output"])).toEqual(["out"]);
  expect((await found(project, "needle", ["inputs", "output"])).toSorted()).toEqual(["in", "out"]);
  expect(await found(project, "needle", ["exception", "attributes", "op_name", "display_name"])).toEqual([]);
});

test("a call is found by its last name, and no longer by the one before", async () => {
  const project = newProject();
  const named = { project_id: project, display_name: "before" };
  await store.ingest([
    completePart({ ...named, id: "a" }),
    completePart({ project_id: project, id: "b" }),
    startPart({ ...named, id: "c" }),
  ]);
  await store.calls.rename(project, "a", "afterwards");
  await store.calls.rename(project, "b", "afterwards");
  await store.calls.rename(project, "c", "afterwards");
  await db.engine.command({ sql: "OPTIMIZE TABLE calls FINAL" });
  expect((await found(project, "afterwards")).toSorted()).toEqual(["a", "b", "c"]);
  expect(await found(project, "before")).toEqual([]);
});

test("deleted and replaced calls are not found", async () => {
  const project = newProject();
  const part = (id: string, word: string) => completePart({ project_id: project, id, inputs: `{"a":"${word}"}` });
  await store.ingest([part("replaced", "needle"), part("deleted", "needle")]);
  await store.ingest([part("replaced", "thread")]);
  await store.calls.delete(project, ["deleted"], "me");
  expect(await found(project, "needle")).toEqual([]);
  expect(await found(project, "thread")).toEqual(["replaced"]);
});

test.each(["bloom", "text"] as const)(
  "the index %s comes to what was stored before, and goes again",
  async (textIndex) => {
    const other = testDatabase();
    try {
      const before = await other.open();
      const project = newProject();
      const calls = Array.from({ length: 3000 }, (_, at) => {
        const start = callStart({ project_id: project, inputs: `{"a":"w${at}"}`, started_at: nowUs() - BigInt(at) });
        return { part: "complete" as const, start, end: callEnd({ project_id: project, id: start.id }) };
      });
      await before.ingest(calls);
      await before.close();
      const indexed = await other.open({ textIndex });
      const unfinished = "SELECT count() AS n FROM system.mutations WHERE database = currentDatabase() AND NOT is_done";
      await expect.poll(() => other.engine.rows({ sql: unfinished }), { timeout: 20_000 }).toEqual([{ n: "0" }]);
      const count = async (text: string) =>
        (await indexed.calls.count({ project_id: project, search: { text } })).count;
      expect([await count("w17"), await count("nowhere")]).toEqual([1, 0]);
      if (textIndex === "bloom") {
        const sql = `EXPLAIN indexes = 1 SELECT id FROM calls WHERE ${hasIndexedWords(["'w17'"])}`;
        const lines = (await other.engine.rows<{ explain: string }>({ sql })).map(({ explain }) => explain);
        const index = lines.slice(lines.findIndex((line) => line.includes("i_words_bloom")));
        expect(index.find((line) => line.includes("Granules:"))).toMatch(/ 1\/3$/);
      }
      // Its part is indexed when it is merged.
      await indexed.ingest([completePart({ project_id: project, inputs: '{"a":"w17"}' })]);
      expect([await count("w17"), await count("nowhere")]).toEqual([2, 0]);
      await (await other.open({ textIndex: "off" })).close();
      const names = await other.engine.rows({
        sql: "SELECT name FROM system.data_skipping_indices WHERE database = currentDatabase() AND name LIKE 'i_words%'",
      });
      expect(names).toEqual([]);
    } finally {
      await other.drop();
    }
  },
);
