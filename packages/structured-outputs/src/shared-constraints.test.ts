import { afterEach, expect, test } from "vitest";
import { testVocabulary } from "../test/constraint-vocabulary.js";
import type { Constraints, ConstraintOptions } from "./constraints.js";
import { openConstraints } from "./constraints.js";
import type { StructuredOutput } from "./structured-output.js";

let constraints: Constraints | undefined;
afterEach(() => constraints?.close());

const mallory = { key: "mallory", entity: "crowd" };
const nora = { key: "nora", entity: "quiet" };

async function opened(limits: ConstraintOptions["limits"] = {}): Promise<Constraints> {
  constraints = openConstraints(testVocabulary(), { limits });
  (await constraints.compile({ type: "regex", regex: "warm" })).close();
  return constraints;
}

/** Takes seconds, although its states are few enough. */
const slow = (index: number): StructuredOutput => ({ type: "regex", regex: `(.{99}){0,${39 + index}}` });
const quick = (text: string): StructuredOutput => ({ type: "choice", choices: [text] });

test("slow constraints of one entity do not delay the new constraints of another", async () => {
  const own = await opened({ compileMs: 2_000 });
  let done = 0;
  const attack = Array.from({ length: 12 }, async (_, index) => {
    await own.compile(slow(index), { sharer: mallory }).catch(() => undefined);
    done += 1;
  });
  const mine = await Promise.all(["a", "b", "c"].map((text) => own.compile(quick(text), { sharer: nora })));
  expect(done).toBeLessThan(6);
  for (const session of mine) session.close();
  await own.close();
  await Promise.all(attack);
});

test("two keys of an entity take turns", async () => {
  const own = await opened({ compileMs: 1_000 });
  let done = 0;
  const attack = Array.from({ length: 8 }, async (_, index) => {
    await own.compile(slow(index), { sharer: mallory }).catch(() => undefined);
    done += 1;
  });
  await own.compile(quick("a"), { sharer: { ...mallory, key: "another" } });
  expect(done).toBeLessThan(4);
  await own.close();
  await Promise.all(attack);
});

test("what a client that left waits for is dropped, and what runs for it is ended", async () => {
  const own = await opened({ compileMs: 60_000 });
  const leave = new AbortController();
  const attack = Array.from({ length: 8 }, (_, index) =>
    own.compile(slow(index), { sharer: mallory, signal: leave.signal }).catch((error: unknown) => error),
  );
  await new Promise((resolve) => setTimeout(resolve, 200));
  leave.abort();
  for (const error of await Promise.all(attack)) expect(error).toMatchObject({ code: "aborted" });
  // In the thread that the others were compiled in.
  const session = await own.compile(quick("a"), { sharer: mallory });
  expect(await session.next()).toBeDefined();
  await expect(own.compile(quick("b"), { signal: leave.signal })).rejects.toMatchObject({ code: "aborted" });
});

test("a constraint that failed fails again without work, also while its thread is busy", async () => {
  const own = await opened({ compileMs: 20_000 });
  const invalid: StructuredOutput = { type: "grammar", grammar: 'root ::= "a" | missing' };
  const first: unknown = await own.compile(invalid, { sharer: mallory }).catch((error: unknown) => error);
  expect(first).toMatchObject({ code: "invalid" });
  const busy = own.compile(slow(1), { sharer: mallory }).then(
    () => "busy",
    () => "busy",
  );
  const again = own.compile(invalid, { sharer: mallory }).catch((error: unknown) => error);
  expect(await Promise.race([busy, again])).toEqual(first);
});

test("a constraint that takes too long is tried once, however many ask for it", async () => {
  const own = await opened({ compileMs: 500 });
  const began = performance.now();
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, () => own.compile(slow(11), { sharer: mallory })),
  );
  for (const result of results) expect(result).toMatchObject({ status: "rejected", reason: { code: "too_large" } });
  expect(performance.now() - began).toBeLessThan(15_000);
});

test("more constraints of a key than may wait are refused", async () => {
  const own = await opened({ compileMs: 60_000 });
  const waiting = Array.from({ length: 1_005 }, (_, index) =>
    own.compile(index === 0 ? slow(0) : quick(`${index}`), { sharer: mallory }).catch((error: unknown) => error),
  );
  expect(await Promise.race(waiting)).toMatchObject({ code: "rate_limited" });
  const session = await own.compile(quick("a"), { sharer: nora });
  session.close();
  await own.close();
  await Promise.all(waiting);
});
