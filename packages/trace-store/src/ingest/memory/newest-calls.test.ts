import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { NewestCalls } from "./newest-calls.js";

const call = (projectId: string, id: string, startedAt: bigint, version = 1n) => ({
  project_id: projectId,
  id,
  trace_id: id,
  version,
  started_at: startedAt,
  status: "success" as const,
  row: Buffer.from(`${projectId}\t${id}\t${"x".repeat(700)}\n`),
});

const idsOf = (newest: NewestCalls, projectId: string) =>
  newest
    .of(projectId)
    .calls.filter(({ isGone }) => !isGone)
    .map(({ id }) => id);

it("has calls in the order of the table, whatever the order in which they came", () => {
  const newest = new NewestCalls(1_000_000, 0n);
  newest.add([call("a", "2", 5n), call("a", "1", 5n), call("b", "1", 1n)]);
  newest.add([call("a", "9", 2n), call("a", "3", 7n)]);
  expect(idsOf(newest, "a")).toEqual(["9", "1", "2", "3"]);
  newest.add([call("a", "\u{10000}", 5n), call("a", "\u{ffff}", 5n), call("a", "0", 1n)]);
  expect(idsOf(newest, "a")).toEqual(["0", "9", "1", "2", "\u{ffff}", "\u{10000}", "3"]);
  expect(idsOf(newest, "b")).toEqual(["1"]);
});

it("drops the versions of a call that are replaced or deleted, and no other call", () => {
  const newest = new NewestCalls(1_000_000, 0n);
  newest.add([call("a", "1", 5n, 1n), call("a", "2", 5n, 1n), call("b", "1", 5n, 1n)]);
  newest.remove({ project_id: "a", id: "1" }, 5n, 1n);
  newest.add([call("a", "1", 5n, 2n)]);
  expect(newest.get({ project_id: "a", id: "1" }, 5n)?.version).toBe(2n);
  newest.remove({ project_id: "a", id: "1" }, 5n, 1n);
  expect(newest.get({ project_id: "a", id: "1" }, 5n)?.version).toBe(2n);
  newest.removeUpTo("a", 5n);
  expect([idsOf(newest, "a"), idsOf(newest, "b")]).toEqual([[], ["1"]]);
});

it("forgets what was written first, says from where on it has everything, and stays within its limit", () => {
  const limit = 50_000;
  const newest = new NewestCalls(limit, 0n);
  for (let at = 1n; at <= 200n; at++) {
    newest.add([call("a", String(at), at)]);
    expect(newest.bytes).toBeLessThanOrEqual(limit);
  }
  const { after } = newest.of("a");
  expect(after).toBeGreaterThan(100n);
  expect(idsOf(newest, "a")).toEqual(
    Array.from({ length: Number(200n - after) }, (_, n) => String(after + 1n + BigInt(n))),
  );
  // One that starts late and is forgotten hides that everything before it is there; others are not affected.
  newest.add([call("b", "late", 10_000n)]);
  for (let at = 201n; at <= 400n; at++) newest.add([call("a", String(at), at)]);
  newest.add([call("b", "early", 5n)]);
  expect([newest.of("b").after, newest.of("a").after < 400n]).toEqual([10_000n, true]);
  newest.add(Array.from({ length: 100 }, (_, n) => call("c", String(n), BigInt(n))));
  expect(newest.of("c").after).toBe(99n);
});

it("one call far ahead of its time says nothing about other projects, however many there are", () => {
  const newest = new NewestCalls(0, 0n);
  newest.add([call("future", "1", 10n ** 12n)]);
  for (let n = 1; n < 15_000; n++) newest.add([call(`p${n}`, "1", BigInt(n))]);
  expect(newest.of("future").after).toBe(10n ** 12n);
  expect(newest.of("another").after).toBeLessThan(15_000n);
  for (const n of [1, 5000, 14_999]) expect(newest.of(`p${n}`).after).toBeGreaterThanOrEqual(BigInt(n));
});

describe("what is packed", () => {
  const packing = (limit: number) => new NewestCalls(limit, 0n, async () => {});
  const payload = (n: number) => Array.from({ length: 20 }, (_, at) => `{"step":${at},"of":${n % 7}}`).join(",");
  const large = (projectId: string, n: number, text = payload(n)) => ({
    ...call(projectId, `id ${n}`, BigInt(n)),
    trace_id: `trace ${Math.floor(n / 10)}`,
    row: Buffer.from(`${projectId}\t${n}\t${text}\n`),
  });
  const rowsOf = (newest: NewestCalls, projectId: string) =>
    newest.of(projectId).calls.map(({ row }) => row.toString());
  /** Until all is packed but the newest, or half of the memory is free. */
  const settled = async (newest: NewestCalls, limit: number) => {
    const plain = () =>
      ["a", "b"]
        .flatMap((projectId) => newest.of(projectId).calls)
        .reduce((bytes, { packedIn, row }) => bytes + (packedIn === undefined ? row.length + 250 : 0), 0);
    await expect.poll(() => newest.bytes <= limit / 2 || plain() <= limit / 4).toBe(true);
  };

  it("takes less memory and is read as it was written, by its time, its trace and in order", async () => {
    const limit = 1_000_000;
    const newest = packing(limit);
    const written = Array.from({ length: 900 }, (_, n) => large(n % 3 === 0 ? "a" : "b", n));
    for (let at = 0; at < written.length; at += 30) newest.add(written.slice(at, at + 30));
    const before = newest.bytes;
    expect(before).toBeGreaterThan(500_000);
    await settled(newest, limit);
    // While no more than half of it is used, the memory is not needed.
    expect(newest.bytes).toBeLessThanOrEqual(500_000);
    expect(newest.bytes).toBeGreaterThan(450_000);
    for (const projectId of ["a", "b"]) {
      const own = written.filter((each) => each.project_id === projectId);
      expect(rowsOf(newest, projectId)).toEqual(own.map(({ row }) => row.toString()));
      expect(idsOf(newest, projectId)).toEqual(own.map(({ started_at: at }) => String(at)));
      expect(
        newest.get({ project_id: projectId, id: String(own[5]?.started_at) }, own[5]?.started_at ?? 0n)?.row,
      ).toEqual(own[5]?.row);
    }
    expect(newest.ofTrace("b", "trace 1").map(({ id }) => id)).toEqual(["10", "11", "13", "14", "16", "17", "19"]);
    newest.remove({ project_id: "b", id: "11" }, 11n, 1n);
    expect(newest.ofTrace("b", "trace 1").map(({ id }) => id)).toEqual(["10", "13", "14", "16", "17", "19"]);
  });

  it("leaves room for several times as many calls, within the limit", async () => {
    const limit = 500_000;
    const newest = packing(limit);
    for (let n = 0; n < 3000; n += 50) {
      newest.add(Array.from({ length: 50 }, (_, at) => large("a", n + at)));
      expect(newest.bytes).toBeLessThanOrEqual(limit);
      await settled(newest, limit);
    }
    const { calls, after } = newest.of("a");
    // 250 bytes of each are not its row, which has 500.
    expect(calls.length).toBeGreaterThan(1100);
    expect(calls).toHaveLength(2999 - Number(after));
    expect(rowsOf(newest, "a").at(0)).toBe(large("a", Number(after) + 1).row.toString());
    expect(newest.ofTrace("a", "trace 0")).toEqual([]);
  });

  it("stays by itself where it is too large for a block", async () => {
    const newest = packing(2_000_000);
    const rows = [1, 2, 3, 4].map((n) => large("a", n, String(n).repeat(300_000)));
    newest.add([large("a", 0), ...rows, large("a", 5)]);
    for (let n = 0; n < 5; n++) newest.add([large("b", n, "y".repeat(100_000))]);
    await expect.poll(() => newest.of("a").calls.at(-1)?.packedIn).toBeDefined();
    expect(newest.bytes).toBeGreaterThan(1_200_000);
    expect(rowsOf(newest, "a")).toEqual([large("a", 0), ...rows, large("a", 5)].map(({ row }) => row.toString()));
  });

  it("stays as it is once it is not used any more", async () => {
    const newest = packing(2_000_000);
    for (let n = 0; n < 15; n++) newest.add([large("a", n, "x".repeat(100_000))]);
    const { bytes } = newest;
    newest.end();
    await delay(300);
    expect(newest.bytes).toBe(bytes);
  });

  it("may be forgotten meanwhile", async () => {
    const newest = packing(2_000_000);
    for (let n = 0; n < 11; n++) newest.add([large("a", n, "x".repeat(100_000))]);
    // These are not smaller when they are packed.
    for (let n = 0; n < 40; n++) newest.add([{ ...call("b", `${n}`, BigInt(n)), row: randomBytes(60_000) }]);
    await delay(300);
    expect(newest.of("a")).toMatchObject({ after: 10n, calls: [] });
    expect(newest.of("b").calls.length).toBeGreaterThan(30);
    expect(newest.bytes).toBe(newest.of("b").calls.length * (60_000 + 250));
  });
});

describe("what is read back", () => {
  const all = (newest: NewestCalls, projectId: string) => {
    const { after, isAll } = newest.of(projectId);
    return { after, isAll, ids: idsOf(newest, projectId) };
  };

  it("is there once with what was written since, and again only when some is forgotten, after a while", () => {
    const newest = new NewestCalls(1_000_000, 100n);
    newest.add([call("a", "3", 110n)]);
    const reading = newest.readBack("a");
    expect([newest.readBack("a"), newest.readBack("b")]).toEqual([undefined, undefined]);
    expect(reading?.add([call("a", "1", 10n), call("a", "3", 110n), call("a", "2", 20n)], 5n)).toBe(true);
    reading?.end();
    expect(all(newest, "a")).toEqual({ after: 5n, isAll: false, ids: ["1", "2", "3"] });
    expect(newest.readBack("a")).toBeUndefined();
    const whole = newest.readBack("b");
    whole?.add([], "all");
    whole?.end();
    expect(newest.of("b").isAll).toBe(true);
    newest.started("b", 3n);
    expect(newest.of("b")).toMatchObject({ after: 3n, isAll: false });
  });

  it("counts for nothing when calls of the project are deleted or forgotten meanwhile", () => {
    const newest = new NewestCalls(20_000, 100n);
    const deleted = newest.readBack("a");
    newest.remove({ project_id: "a", id: "1" }, 10n, 1n);
    expect(deleted?.add([call("a", "1", 10n)], "all")).toBe(false);
    deleted?.end();
    expect(all(newest, "a")).toEqual({ after: 100n, isAll: false, ids: [] });
    const forgotten = newest.readBack("b");
    forgotten?.add([call("b", "1", 10n)], 5n);
    for (let at = 1n; at < 40n; at++) newest.add([call("c", String(at), 200n + at)]);
    expect(forgotten?.add([call("b", "0", 4n)], "all")).toBe(false);
    forgotten?.end();
    expect(all(newest, "b")).toEqual({ after: 10n, isAll: false, ids: [] });
  });

  it("is read again after a while where that failed, and not where memory takes no more", () => {
    const newest = new NewestCalls(10_000, 1000n);
    const failed = newest.readBack("a");
    failed?.next();
    failed?.end();
    const full = newest.readBack("b");
    expect(
      full?.add(
        Array.from({ length: 11 }, (_, n) => call("b", `${n}`, 901n)),
        900n,
      ),
    ).toBe(false);
    expect(full?.next()).toBeUndefined();
    full?.end();
    expect(newest.readBack("a")).toBeUndefined();
    const later = performance.now() + 61_000;
    vi.spyOn(performance, "now").mockReturnValue(later);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(newest.readBack("b")).toBeUndefined();
    expect(newest.readBack("a")?.next()).toMatchObject({ upTo: 1000n });
  });

  it("of two versions is the newer one", () => {
    const newest = new NewestCalls(1_000_000, 100n);
    const reading = newest.readBack("a");
    reading?.add(
      [1n, 3n, 2n].map((version) => call("a", "1", 10n, version)),
      "all",
    );
    reading?.end();
    expect(newest.get({ project_id: "a", id: "1" }, 10n)?.version).toBe(3n);
    expect(idsOf(newest, "a")).toEqual(["1"]);
  });

  it("leaves what is there when a slice turns out to be larger than what memory takes", () => {
    const newest = new NewestCalls(10_000, 1000n);
    newest.add([call("b", "live", 2000n)]);
    const reading = newest.readBack("a");
    expect(reading?.add([call("a", "1", 901n), call("a", "2", 902n)], 900n)).toBe(true);
    expect(
      reading?.add(
        Array.from({ length: 8 }, (_, n) => call("a", `old ${n}`, 801n)),
        800n,
      ),
    ).toBe(false);
    reading?.end();
    expect([newest.of("a").after, idsOf(newest, "a"), idsOf(newest, "b")]).toEqual([900n, ["1", "2"], ["live"]]);
  });

  it("takes a part of a full memory from others, what was read back before what was written", () => {
    const newest = new NewestCalls(40_000, 1000n);
    const read = (projectId: string, calls: number) => {
      const reading = newest.readBack(projectId);
      const taken = Array.from({ length: calls }, (_, n) =>
        reading?.add([call(projectId, `${n}`, 1000n - BigInt(n))], 999n - BigInt(n)),
      );
      reading?.end();
      return taken.filter(Boolean).length;
    };
    for (let at = 0n; at < 10n; at++) newest.add([call("written", `${at}`, 2000n + at)]);
    expect(read("first", 30)).toBe(30);
    expect(newest.of("first").after).toBe(970n);
    // An eighth of the memory is five calls.
    expect(read("second", 8)).toBe(5);
    expect(newest.of("second").after).toBe(995n);
    expect(newest.of("first").after).toBeGreaterThan(970n);
    expect(newest.of("first").after).toBeLessThan(985n);
    expect(idsOf(newest, "first")).toContain("0");
    expect(idsOf(newest, "written")).toHaveLength(10);
  });

  it("gives way to that of another project, after what is read at once", () => {
    const newest = new NewestCalls(1_000_000, 1000n);
    const first = newest.readBack("a");
    const take = (after: bigint) => {
      const slice = first?.next();
      if (slice !== undefined) first?.add([call("a", `${after}`, after + 1n)], after);
      return slice?.isUrgent;
    };
    expect([take(900n), take(800n)]).toEqual([true, true]);
    expect(newest.readBack("b")).toBeUndefined();
    expect([take(700n), take(600n), take(500n), take(400n)]).toEqual([true, true, true, undefined]);
    first?.end();
    expect(newest.of("a").after).toBe(500n);
    const second = newest.readBack("b");
    expect(second?.next()).toMatchObject({ upTo: 1000n, isUrgent: true });
  });

  it("comes in slices back in time, and of it the oldest calls are forgotten first, before what was written", () => {
    const newest = new NewestCalls(30_000, 1000n);
    newest.add([call("a", "live", 2000n)]);
    const reading = newest.readBack("a");
    const slices = [];
    for (let slice = reading?.next(), after = 900n; slice !== undefined; slice = reading?.next(), after -= 100n) {
      // A call has about 960 bytes.
      if (slice.mostBytes < 4800) break;
      slices.push(slice.upTo);
      const calls = Array.from({ length: 5 }, (_, n) => call("a", `${after}-${n}`, after + BigInt(n) + 1n));
      expect(reading?.add(calls, after)).toBe(true);
    }
    reading?.end();
    expect(slices).toEqual([1000n, 900n, 800n, 700n, 600n, 500n]);
    expect(newest.of("a")).toMatchObject({ after: 400n, isAll: false });
    expect(newest.bytes).toBeLessThanOrEqual(30_000);
    for (let at = 0n; at < 10n; at++) newest.add([call("a", `new ${at}`, 3000n + at)]);
    expect(newest.of("a").after).toBeLessThan(900n);
    expect(newest.of("a").after).toBeGreaterThan(400n);
    expect(idsOf(newest, "a")).toEqual(expect.arrayContaining(["900-0", "live", "new 0", "new 9"]));
    for (let at = 0n; at < 25n; at++) newest.add([call("a", `newer ${at}`, 4000n + at)]);
    expect(idsOf(newest, "a")).not.toContain("900-0");
  });
});
