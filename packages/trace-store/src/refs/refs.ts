import { HeddleError } from "@heddle/errors";
import { parseRef } from "@heddle/trace-model";
import type { JsonText } from "@heddle/trace-model";
import { readTargets } from "./targets.js";
import type { Entry, ReadRefOptions } from "./targets.js";
import { walk } from "./walk.js";
import type { StoreContext } from "../context.js";

export interface Refs {
  /**
   * The values that refs to objects and ops lead to, in order, as exact text. Null for a deleted object and for a path
   * that ends; a JSON null that is stored comes as the text `null`. One object or row that does not exist is
   * `not_found` for the whole batch, with `missing_object_digests` in the details; so is one whose project the caller
   * may not read. At most 1000 refs.
   */
  readBatch(refs: readonly string[], options: ReadRefOptions): Promise<Array<JsonText | null>>;
}

const maxRefs = 1000;
/** Objects that hold refs to each other could be followed indefinitely. */
const maxRounds = 16;

/** One ref that is still followed, for a position of the batch. */
interface PendingRef extends Entry {
  position: number;
}

export function openRefs(context: StoreContext): Refs {
  return {
    async readBatch(refs, options) {
      const found: Array<JsonText | null> = refs.map(() => null);
      let pending = refs.length > maxRefs ? tooMany() : refs.map(pendingRef);
      for (let round = 0; pending.length > 0 && round < maxRounds; round++) {
        const values = await readTargets(context, pending, options);
        const next: PendingRef[] = [];
        for (const [index, ref] of pending.entries()) {
          const value = values[index];
          if (value === undefined || value === null) continue;
          const { position, target } = ref;
          const step = walk(value, target.kind === "table" ? ref.edges.slice(1) : ref.edges);
          if (step.state === "done") found[position] = step.text;
          else next.push({ position, target: step.target, edges: [...step.target.edges, ...step.edges] });
        }
        pending = next;
      }
      return found;
    },
  };
}

function pendingRef(text: string, position: number): PendingRef {
  const target = parseRef(text);
  if (target === undefined || target.kind === "table" || target.kind === "call" || target.digest === "*") {
    throw new HeddleError("invalid", "only refs to versions of objects and ops can be read", {
      loc: ["refs", position],
    });
  }
  return { position, target, edges: target.edges };
}

function tooMany(): never {
  throw new HeddleError("invalid", `at most ${maxRefs} refs at a time`, { loc: ["refs"] });
}
