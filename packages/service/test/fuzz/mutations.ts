import { RawJson } from "@heddle/server-stub";
import * as fc from "fast-check";
import { oddText, rawValue } from "./raw-texts.js";

/** One change that makes a valid value nearly valid: `at` picks the path. */
interface Mutation {
  at: number;
  how: "replace" | "remove" | "add" | "repeat";
  junk: unknown;
}

const junk = fc.oneof(
  oddText,
  rawValue,
  fc.constantFrom(null, true, false, 0, -1, 1.5, 1e300, 2 ** 53, 2 ** 64, Number.NaN, Number.POSITIVE_INFINITY),
  fc.constantFrom<unknown>([], {}, [[]], [null], { $literal: 1 }, { a: {} }),
  fc.constantFrom("x".repeat(5000), "2026-04-10T09:00:00Z", "1812-01-01", "9999-12-31T23:59:59Z"),
);
const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(),
  how: fc.constantFrom("replace", "replace", "remove", "add", "repeat"),
  junk,
});

/** Mostly `valid` as it is, else with a few changes. */
export function nearly(valid: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const mutations = fc.oneof(
    { arbitrary: fc.constant([]), weight: 2 },
    fc.array(mutation, { minLength: 1, maxLength: 3 }),
  );
  return fc.tuple(valid, mutations).map(([value, changes]) => changes.reduce<unknown>(apply, value));
}

function apply(value: unknown, change: Mutation): unknown {
  const paths = [...pathsOf(value)];
  const path = paths[change.at % paths.length];
  return path === undefined ? value : changed(value, path, change);
}

/** Paths of all values inside; free JSON is one value. */
function* pathsOf(value: unknown, path: string[] = []): Generator<string[]> {
  yield path;
  if (typeof value !== "object" || value === null || value instanceof RawJson || value instanceof Uint8Array) return;
  for (const [key, inner] of Object.entries(value)) yield* pathsOf(inner, [...path, key]);
}

function changed(value: unknown, [step, ...rest]: string[], change: Mutation): unknown {
  const { how, junk: wrong } = change;
  if (step === undefined) {
    if (how === "add" && typeof value === "object" && value !== null && !(value instanceof RawJson)) {
      return Array.isArray(value) ? [...(value as unknown[]), wrong] : { ...value, unknown: wrong };
    }
    if (how === "repeat" && Array.isArray(value)) return Array.from({ length: 50 }, () => value as unknown[]).flat();
    return wrong;
  }
  if (Array.isArray(value)) {
    const items = value as unknown[];
    if (how === "remove" && rest.length === 0) return items.toSpliced(Number(step), 1);
    return items.with(Number(step), changed(items[Number(step)], rest, change));
  }
  const { [step]: inner, ...others } = value as Record<string, unknown>;
  return how === "remove" && rest.length === 0 ? others : { ...others, [step]: changed(inner, rest, change) };
}
