import { HeddleError } from "@heddle/errors";
import { parseRef, projectIdOf } from "@heddle/trace-model";
import type { JsonText } from "@heddle/exact-json";
import type { CallField } from "@heddle/trace-model";
import type { Reserve } from "../context.js";
import type { CallScope } from "../visibility/call-scope.js";
import type { Refs } from "../refs/refs.js";
import { expandTrees, Expansion, refsIn, refsOfCall } from "./expansion.js";
import type { FoundRef } from "./expansion.js";
import type { StoredCall } from "../stored-calls/stored-call.js";

export interface ExpandRefs {
  scope: () => CallScope;
  /** Refs at these paths are replaced, and then those in their values. */
  expand: ReadonlyArray<Extract<CallField, { kind: "json" }>>;
  refs: Refs;
  reserve: Reserve | undefined;
  signal: AbortSignal | undefined;
}

const maxRefs = 1000;
/** Bytes of values that the refs in a group of calls, and in one call alone, may lead to. */
const maxGroupValueBytes = 8 * 1024 * 1024;
const maxValueBytes = 64 * 1024 * 1024;

/**
 * The calls with their refs replaced, one at a time, so that only one is held with the values of its refs. A ref that
 * leads nowhere stays as it is. Throws `too_large` when the refs of one call lead to more than can be held.
 */
export async function* expandRefs(
  calls: readonly StoredCall[],
  finish: ExpandRefs,
): AsyncGenerator<StoredCall, void, undefined> {
  const trees = expandTrees(finish.expand);
  const loaded = await loadValues(calls, trees, finish).catch((error: unknown) => {
    if (calls.length === 1 || !(error instanceof HeddleError) || error.code !== "too_large") throw error;
    return undefined;
  });
  if (loaded === undefined) {
    // The values of a half are passed on before those of the other are read.
    const middle = calls.length >> 1;
    yield* expandRefs(calls.slice(0, middle), finish);
    yield* expandRefs(calls.slice(middle), finish);
    return;
  }
  try {
    const expansion = new Expansion(trees, loaded.values);
    for (const call of calls) {
      const expanded = { ...call };
      expansion.apply(expanded);
      yield expanded;
    }
  } finally {
    loaded.release();
  }
}

/** The values of all refs, also of those inside values. Throws `too_large` when they are more than are held at a time. */
async function loadValues(calls: readonly StoredCall[], trees: ReturnType<typeof expandTrees>, finish: ExpandRefs) {
  const values = new Map<string, JsonText>();
  const known = new Map<FoundRef["node"], Set<string>>();
  const releases: Array<() => void> = [];
  const release = () => {
    for (const each of releases.splice(0)) each();
  };
  let left = calls.length === 1 ? maxValueBytes : maxGroupValueBytes;
  const reserve: Reserve = async (bytes) => {
    left -= bytes;
    if (left < 0) {
      throw new HeddleError("too_large", `the refs of one call lead to more than ${maxValueBytes} bytes`, {
        loc: ["expand_columns"],
      });
    }
    const done = (await finish.reserve?.(bytes)) ?? (() => {});
    releases.push(done);
    return done;
  };
  const isNew = ({ node, ref }: FoundRef): boolean => {
    const refs = known.get(node) ?? new Set();
    if (refs.has(ref)) return false;
    known.set(node, refs.add(ref));
    return true;
  };
  try {
    let found = calls.flatMap((call) => refsOfCall(call, trees)).filter(isNew);
    while (found.length > 0) {
      const unread = [...new Set(found.map(({ ref }) => ref))].filter((ref) => !values.has(ref));
      for (let from = 0; from < unread.length; from += maxRefs) {
        const read = await readRefs(finish, unread.slice(from, from + maxRefs), reserve);
        for (const [ref, value] of read) values.set(ref, value);
      }
      found = found.flatMap(({ ref, node }) => refsIn(values.get(ref) ?? "null", node)).filter(isNew);
    }
    return { values, release };
  } catch (error) {
    release();
    throw error;
  }
}

/** The values of those refs that lead to one inside the project. */
async function readRefs(
  { refs, scope, signal }: ExpandRefs,
  texts: readonly string[],
  reserve: Reserve,
): Promise<Map<string, JsonText>> {
  const { project_id } = scope();
  const readable = texts.filter((text) => isReadable(text, project_id));
  if (readable.length === 0) return new Map();
  const found = await refs.readBatch(readable, {
    mayRead: (project) => project === project_id,
    signal,
    reserve,
    missing: "null",
  });
  return new Map(
    readable.flatMap((ref, index) => {
      const value = found[index] ?? undefined;
      return value === undefined ? [] : [[ref, value] as const];
    }),
  );
}

function isReadable(text: string, projectId: string): boolean {
  const ref = parseRef(text);
  return (ref?.kind === "object" || ref?.kind === "op") && ref.digest !== "*" && projectIdOf(ref) === projectId;
}
