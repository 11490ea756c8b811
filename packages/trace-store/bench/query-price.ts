/**
 * What the dearest requests that are accepted cost the engine: of each shape the largest one that the price of the spec
 * lets through, on an empty project and on one with calls. Run it after a change of the SQL or of the prices.
 *
 *   node --import tsx --conditions @heddle/source packages/trace-store/bench/query-price.ts [shape]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import { HeddleError } from "@heddle/errors";
import type { CallCount } from "../src/calls/calls.js";
import { planCalls } from "../src/query/call-query.js";
import { openTraceStore } from "../src/store.js";
import { batchOfCalls, seededRandom } from "./payload.js";

const rounds = 3;
const projects = { empty: "acme/empty", filled: "acme/filled" };
const calls = 20_000;

type Request = Omit<CallCount, "project_id">;
const some = <Item>(length: number, item: (index: number) => Item): Item[] =>
  Array.from({ length }, (_, index) => item(index));
const field = (path: string) => ({ $getField: path });
const literal = (value: unknown) => ({ $literal: value });
const query = ($expr: unknown): Request => ({ query: { $expr } });
const anyOf = (length: number, condition: (index: number) => unknown) => query({ $or: some(length, condition) });
const equals = (path: string, value: unknown) => ({ $eq: [field(path), literal(value)] });
const contains = (path: string) => (index: number) => ({
  $contains: { input: field(path), substr: literal(`needle${index}`) },
});
const refs = (length: number) => `inputs.${some(length, (index) => `r${index}`).join(".")}`;
const sorted = (length: number, path: (index: number) => string): Request => ({
  sort_by: some(length, (index) => ({ field: path(index), direction: "asc" })),
});

/** Requests by a number that makes them dearer. */
const shapes: Record<string, (size: number) => Request> = {
  "conditions on a column": (n) => anyOf(n, (index) => equals("thread_id", `t${index}`)),
  "conditions on one path": (n) => anyOf(n, (index) => equals("inputs.model", `m${index}`)),
  "conditions on as many paths": (n) => anyOf(n, (index) => equals(`inputs.k${index}`, "x")),
  "conditions on numbers": (n) => anyOf(n, (index) => ({ $gt: [field("inputs.temperature"), literal(index + 5)] })),
  "conditions on large integers": (n) =>
    anyOf(n, (index) => ({ $gt: [field("inputs.temperature"), literal(2n ** 60n + BigInt(index))] })),
  "texts to look for": (n) => anyOf(n, contains("inputs.model")),
  "texts to look for in a list": (n) => anyOf(n, contains("inputs.messages.0.content")),
  "paths of 200 steps": (n) => anyOf(n, () => equals(`inputs${".a".repeat(199)}`, "x")),
  "paths of 100 positions": (n) => anyOf(n, () => equals(`inputs${".0".repeat(100)}`, "x")),
  "conversions inside each other": (n) => {
    let input: unknown = field("inputs.temperature");
    for (let level = 0; level < n; level++) input = { $convert: { input, to: level % 2 ? "double" : "string" } };
    return query({ $eq: [input, literal(1)] });
  },
  "literals of a list": (n) => query({ $in: [field("inputs.model"), some(n, (index) => literal(`x${index}`))] }),
  "operands of a list": (n) => query({ $in: [field("inputs.model"), some(n, (index) => field(`inputs.k${index}`))] }),
  "keys of the order": (n) => sorted(n, (index) => `inputs.k${index}`),
  "keys of the order with 100 positions": (n) => sorted(n, (index) => `inputs${".0".repeat(100)}.${index}`),
  "fields of one type of feedback": (n) =>
    anyOf(n, (index) => equals(`feedback.[wandb.note.1].payload.k${index}`, "x")),
  "types of feedback": (n) => anyOf(n, (index) => equals(`feedback.[t${index}].payload.k`, "x")),
  "refs inside each other": (n) => ({
    ...query(equals(refs(n + 1), "x")),
    expand_columns: some(n, (index) => refs(index + 1)),
  }),
  "refs next to each other": (n) => ({
    ...query({ $and: some(n, (index) => equals(`inputs.r${index}.x`, "x")) }),
    expand_columns: some(n, (index) => `inputs.r${index}`),
  }),
  "fields behind a ref": (n) => ({
    ...query({ $and: some(n, (index) => equals(`inputs.r.x${index}`, "x")) }),
    expand_columns: ["inputs.r"],
  }),
};

function isAccepted(request: Request): boolean {
  try {
    planCalls({ project_id: projects.empty, ...request });
    return true;
  } catch (error) {
    if (error instanceof HeddleError) return false;
    throw error;
  }
}

/** The largest size that is accepted. */
function largest(shape: (size: number) => Request): number {
  let [accepted, refused] = [1, 2];
  while (isAccepted(shape(refused))) [accepted, refused] = [refused, refused * 2];
  while (refused - accepted > 1) {
    const middle = (accepted + refused) >> 1;
    if (isAccepted(shape(middle))) accepted = middle;
    else refused = middle;
  }
  return accepted;
}

const directory = mkdtempSync(join(tmpdir(), "heddle-bench-"));
const host = await startEngineHost({ directory });
const store = await openTraceStore({ client: host.connection(), database: "bench_price", controlPlaneId: "bench" });
const random = seededRandom(1);
for (let stored = 0; stored < calls; stored += 2000) await store.ingest(batchOfCalls(projects.filled, 2000, random));

/** Milliseconds of the fastest round. */
async function measure(projectId: string, request: Request): Promise<number> {
  let best = Infinity;
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    if (request.sort_by === undefined) await store.calls.count({ project_id: projectId, ...request });
    else for await (const _ of store.calls.query({ project_id: projectId, limit: 50, ...request })) continue;
    best = Math.min(best, performance.now() - start);
  }
  return Math.round(best);
}

const table: Record<string, Record<string, number>> = {};
for (const [name, shape] of Object.entries(shapes)) {
  if (process.argv[2] !== undefined && !name.includes(process.argv[2])) continue;
  const size = largest(shape);
  const request = shape(size);
  table[name] = {
    size,
    empty: await measure(projects.empty, request),
    [`${calls} calls`]: await measure(projects.filled, request),
  };
}
console.log("the largest accepted request of each shape, and its milliseconds");
console.table(table);
await store.close();
await host.close();
rmSync(directory, { recursive: true, force: true });
