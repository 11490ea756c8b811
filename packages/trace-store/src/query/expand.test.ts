import { expect, it } from "vitest";
import { Parameters } from "../engine/parameters.js";
import { compileCalls, planCalls } from "./call-query.js";

const scope = {
  project_id: "e/p",
  now: 0n,
  inFlight: {
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
  },
};

/** Length of the statement's parts for a path that leads through so many refs. */
function lengthThrough(levels: number): number {
  const names = Array.from({ length: levels + 1 }, (_, index) => `k${index}`);
  const expandColumns = names.slice(0, -1).map((_, index) => `inputs.${names.slice(0, index + 1).join(".")}`);
  const query = { $expr: { $eq: [{ $getField: `inputs.${names.join(".")}` }, { $literal: 1 }] } };
  const plan = planCalls({ project_id: "e/p", query, expand_columns: expandColumns });
  const { joins = [], where = [] } = compileCalls(plan, scope, new Parameters());
  expect(joins).toHaveLength(levels);
  return [...joins, ...where].join(" ").length;
}

it("a path through many refs does not double the statement at every step", () => {
  const steps = [1, 2, 3].map(lengthThrough);
  const growth = steps.slice(1).map((length, index) => length - (steps[index] ?? 0));
  for (const [index, more] of growth.entries()) expect(more).toBeLessThan((index + 3) * (steps[0] ?? 0));
});

it("a path that no ref is expanded on needs no join", () => {
  const query = { $expr: { $eq: [{ $getField: "inputs.model" }, { $literal: "x" }] } };
  const plan = planCalls({ project_id: "e/p", query, expand_columns: ["inputs.model", "output.x", "started_at"] });
  expect(compileCalls(plan, scope, new Parameters()).joins).toEqual([]);
});

it("too many columns are refused", () => {
  const columns = Array.from({ length: 201 }, (_, index) => `inputs.k${index}`);
  expect(() => planCalls({ project_id: "e/p", expand_columns: columns.slice(2) })).not.toThrow();
  expect(() => planCalls({ project_id: "e/p", expand_columns: columns })).toThrowError(
    expect.objectContaining({ code: "too_large", loc: ["expand_columns"] }),
  );
});
