import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { completePart, newProject, startPart } from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";
import type { CallsPage, CallsPageRequest } from "./call-pages.js";

const db = testDatabase();
const t0 = 1_775_811_600_000_000n;
let store: TraceStore;
const project = newProject();
const count = 12_000;

beforeAll(async () => {
  store = await db.open({ textIndex: "bloom" });
  const call = (n: number) =>
    completePart({
      project_id: project,
      id: `c${n}`,
      started_at: t0 + BigInt(n),
      inputs: `{"text":"${n % 4000 === 0 ? "needle" : "hay"} ${n % 2 === 0 ? "even" : "odd"}"}`,
    });
  await store.ingest(Array.from({ length: count }, (_, n) => call(n)));
  await store.ingest([
    startPart({ project_id: project, id: "running", started_at: t0 - 5n, inputs: '{"a":"Needle"}' }),
  ]);
});
afterAll(() => db.drop());
afterEach(() => vi.restoreAllMocks());

/** However slow the machine is: each look at the clock takes so long. The clock goes on from now, others have looked at it. */
function clockOf(lookMs: number): void {
  let time = performance.now();
  vi.spyOn(performance, "now").mockImplementation(() => (time += lookMs));
  vi.spyOn(AbortSignal, "timeout").mockReturnValue(new AbortController().signal);
}

const readPage = async (request: Partial<CallsPageRequest>): Promise<CallsPage> =>
  await store.callPages.page({ project_id: project, limit: 100, preview_chars: 1000, ...request });
const idsOf = ({ calls }: CallsPage) => calls.map(({ id }) => id);

it("a search has every match of all parts in order, forth and back, with where it is", async () => {
  clockOf(0);
  const search = { text: "needle" };
  const page = await readPage({ search });
  expect(idsOf(page)).toEqual(["c8000", "c4000", "c0", "running"]);
  expect(page).toMatchObject({ has_more: false, search: { complete: true } });
  expect(page.calls.map(({ matches }) => matches)).toEqual([
    ...[1, 2, 3].map(() => [{ path: "inputs.text", at: 0, length: 6 }]),
    [{ path: "inputs.a", at: 0, length: 6 }],
  ]);
  const first = await readPage({ search, limit: 2 });
  expect(idsOf(first)).toEqual(["c8000", "c4000"]);
  expect(first.has_more).toBe(true);
  const second = await readPage({ search, limit: 2, start: { after: first.last ?? [] } });
  expect(idsOf(second)).toEqual(["c0", "running"]);
  expect(idsOf(await readPage({ search, start: { before: second.first ?? [] } }))).toEqual(["c8000", "c4000"]);
  expect(idsOf(await readPage({ search, start: { before: undefined }, limit: 2 }))).toEqual(["c0", "running"]);
  const oldest = [{ field: "started_at", direction: "asc" as const }];
  expect(idsOf(await readPage({ search, sort_by: oldest, limit: 3 }))).toEqual(["running", "c0", "c4000"]);
  const slowest = [{ field: "inputs.text", direction: "desc" as const }];
  expect(idsOf(await readPage({ search, sort_by: slowest, total: "exact" })).toSorted()).toHaveLength(4);
  expect((await readPage({ search: { text: "even" }, limit: 1, total: "exact" })).total).toEqual({
    value: count / 2,
    exact: true,
  });
});

it("when time is up a search says how far it came, and goes on from there", async () => {
  const search = { text: "needle" };
  clockOf(3000);
  const found: string[] = [];
  let pages = 0;
  let start: CallsPageRequest["start"];
  for (;;) {
    const page = await readPage({ search, start });
    found.push(...idsOf(page));
    pages++;
    if (!page.has_more) break;
    expect(page.search).toEqual({ complete: false, searched_to: expect.any(BigInt) });
    start = { after: page.last ?? [] };
  }
  expect(found).toEqual(["c8000", "c4000", "c0", "running"]);
  expect(pages).toBe(3);
});
