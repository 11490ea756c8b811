import { HeddleError } from "@heddle/errors";
import { parseRef } from "@heddle/trace-model";
import type { JsonText } from "@heddle/exact-json";
import { mainThread } from "@heddle/concurrency";
import { readTargets } from "./targets.js";
import type { Entry, ReadTargets } from "./targets.js";
import { walk } from "./walk.js";
import type { StoreContext } from "../context.js";

export interface Refs {
  /**
   * The values that refs to objects and ops lead to, in order, as exact text. Null for a deleted object and for a path
   * that ends; a JSON null that is stored comes as the text `null`. One object or row that does not exist is
   * `not_found` for the whole batch, with `missing_object_digests` in the details; so is one whose project the caller
   * may not read. At most 1000 refs; equal ones are read once and have the same text.
   */
  readBatch(refs: readonly string[], options: ReadTargets): Promise<Array<JsonText | null>>;
  /** One step of this: the values at entries, in whatever projects they are. */
  readTargets: ReadEntries;
}

type ReadEntries = (entries: readonly Entry[], options: ReadTargets) => Promise<Array<JsonText | null>>;

const maxRefs = 1000;
/** Objects that hold refs to each other could be followed indefinitely. */
const maxRounds = 16;

/** UTF-16 units of values through which the paths of one batch may lead, and after how many others may work. */
const maxSearched = 512 * 1024 * 1024;
const searchedAtOnce = 4 * 1024 * 1024;

/** One ref that is still followed, for its positions in the batch. */
interface PendingRef extends Entry {
  positions: readonly number[];
}

export function openRefs(context: StoreContext): Refs {
  return followRefs(async (entries, options) => await readTargets(context, entries, options));
}

/** Follows refs by what reads their targets, which may be in several stores. */
export function followRefs(readEntries: ReadEntries): Refs {
  return {
    readTargets: readEntries,
    async readBatch(refs, options) {
      if (refs.length > maxRefs) throw tooMany();
      const positions = new Map<string, number[]>();
      for (const [position, ref] of refs.entries()) {
        const known = positions.get(ref);
        if (known === undefined) positions.set(ref, [position]);
        else known.push(position);
      }
      const found: Array<JsonText | null> = refs.map(() => null);
      let pending = Array.from(positions, ([text, at]) => pendingRef(text, at));
      const searched = { length: 0 };
      for (let round = 0; pending.length > 0 && round < maxRounds; round++) {
        const values = await readEntries(pending, options);
        const next: PendingRef[] = [];
        for (const [index, ref] of pending.entries()) {
          const value = values[index];
          if (value === undefined || value === null) continue;
          const { positions, target } = ref;
          const edges = target.kind === "table" ? ref.edges.slice(1) : ref.edges;
          if (edges.length > 0) await search(searched, value.length);
          const step = walk(value, edges);
          if (step.state === "done") for (const position of positions) found[position] = step.text;
          else next.push({ positions, target: step.target, edges: [...step.target.edges, ...step.edges] });
        }
        pending = next;
      }
      return found;
    },
  };
}

/** Counts the text through which paths are followed, and lets others work from time to time. */
async function search(searched: { length: number }, length: number): Promise<void> {
  const before = Math.floor(searched.length / searchedAtOnce);
  searched.length += length;
  if (searched.length > maxSearched) {
    throw new HeddleError("too_large", "the paths of the refs lead through too much text: ask for fewer at a time", {
      loc: ["refs"],
    });
  }
  if (Math.floor(searched.length / searchedAtOnce) > before) await mainThread.giveWay();
}

function pendingRef(text: string, positions: readonly number[]): PendingRef {
  const target = parseRef(text);
  if (target === undefined || target.kind === "table" || target.kind === "call" || target.digest === "*") {
    throw new HeddleError("invalid", "only refs to versions of objects and ops can be read", {
      loc: ["refs", positions[0] ?? 0],
    });
  }
  return { positions, target, edges: target.edges };
}

function tooMany(): HeddleError {
  return new HeddleError("invalid", `at most ${maxRefs} refs at a time`, { loc: ["refs"] });
}
