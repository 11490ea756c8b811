import { expect, test } from "vitest";
import { membersOf } from "./members.js";
import { usageOf } from "./usage-figures.js";
import { rangeOf, readUsageSearch } from "./usage-search.js";
import type { Key } from "./use-keys.js";

const values = (count: number, cost: number) => ({ count, cost, tokens_total: 10 * count });

test("usage by models, dearest first, and by days, newest first; the rest adds up to the total", () => {
  const usage = usageOf({
    total: { values: values(7, 3), series: { count: [3, 4], cost: [1, 2] } },
    groups: [
      { key: [null], values: values(4, 0) },
      { key: ["cheap"], values: values(1, 1) },
      { key: ["costly"], values: values(1, 2) },
    ],
    other: { values: values(1, 0) },
    time: { starts: ["2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"], seconds: 86_400 },
    exact: true,
    seq: "1",
  });
  expect(usage.models.map(({ model, cost }) => [model, cost])).toEqual([
    ["costly", 2],
    ["cheap", 1],
  ]);
  expect(usage.days.map(({ start, calls, cost }) => [start.slice(0, 10), calls, cost])).toEqual([
    ["2026-03-02", 4, 2],
    ["2026-03-01", 3, 1],
  ]);
  expect(usage.rest).toMatchObject({ calls: 5, tokens: 50 });
  expect(usage.models.reduce((sum, { calls }) => sum + calls, usage.rest?.calls ?? 0)).toBe(usage.total.calls);
});

test("a time is whole days of the reader, today the last", () => {
  const now = new Date(2026, 2, 31, 15).getTime();
  const { start, end, buckets } = rangeOf(7, now);
  expect([new Date(start), new Date(end)]).toEqual([new Date(2026, 2, 25), new Date(2026, 3, 1)]);
  expect(buckets).toBe(7);
  expect(readUsageSearch({ days: "7", of: "<b>", part: "x" })).toEqual({ days: "7" });
});

const key = (id: string, user: string, rest: Partial<Key>): Key => ({
  id,
  prefix: id,
  name: "",
  user: { id: user, name: user },
  entity: "acme",
  role: "read",
  created_at: "2026-03-01T00:00:00Z",
  ...rest,
});

test("members of a project are the users of valid keys that reach it, with the most that they may", () => {
  const members = membersOf("acme/demo", [
    key("1", "ann", { projects: ["demo"], last_used_at: "2026-03-02T00:00:00Z" }),
    key("2", "ann", { role: "write" }),
    key("3", "bob", { projects: ["other"] }),
    key("4", "eve", { revoked_at: "2026-03-01T00:00:00Z" }),
    key("5", "zoe", { entity: "zeta" }),
    key("6", "cat", { projects: ["demo"], role: "admin" }),
  ]);
  expect(members.map(({ name, role, keys, isLimited }) => [name, role, keys.length, isLimited])).toEqual([
    ["cat", "admin", 1, true],
    ["ann", "write", 2, false],
  ]);
  expect(members[1]?.lastUsedAt).toBe("2026-03-02T00:00:00Z");
});
