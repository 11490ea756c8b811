import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { ConfigError } from "../config/config-error.js";
import { UnavailableError } from "../config/unavailable-error.js";
import { untilAvailable } from "./until-available.js";

/** Attempts that fail with these errors, and then succeed. */
function attempts(errors: Error[]) {
  const lines: string[] = [];
  let count = 0;
  const start = async () => {
    count += 1;
    const error = errors.shift();
    if (error !== undefined) throw error;
    return "started";
  };
  return { start, lines, count: () => count, log: (line: string) => void lines.push(line) };
}

test("a start waits for a store that does not respond yet, and says once why", async () => {
  const errors = [new UnavailableError("no Postgres at x", "no Postgres"), new UnavailableError("no S3 at x", "no S3")];
  const { start, lines, log, count } = attempts(errors);
  const reasons: string[] = [];
  const onWait = async (reason: string) => {
    await setImmediate();
    // Only then is the first wait told.
    expect(lines).toHaveLength(reasons.length);
    reasons.push(reason);
  };
  expect(await untilAvailable(start, { log, onWait, pauseMs: 1 })).toBe("started");
  expect(reasons).toEqual(["no Postgres", "no S3"]);
  expect(count()).toBe(3);
  expect(lines).toEqual(["no Postgres at x. Trying again for 30 s"]);
});

test("a store that does not respond at all ends the start with the last reason", async () => {
  const { start, log } = attempts(
    Array.from({ length: 1000 }, (_, i) => new UnavailableError(`no Postgres ${i}`, "no Postgres")),
  );
  await expect(untilAvailable(start, { log, withinMs: 20, pauseMs: 1 })).rejects.toThrow(/^no Postgres \d+$/);
});

test("what no wait solves ends the start at once", async () => {
  const { start, log, count, lines } = attempts([new ConfigError("wrong password")]);
  await expect(untilAvailable(start, { log, pauseMs: 1 })).rejects.toThrow("wrong password");
  expect([count(), lines]).toEqual([1, []]);
});
