import { HeddleError } from "@heddle/errors";
import { parseRef, type JsonText } from "@heddle/trace-model";
import { type Entry, readTargets } from "./targets.js";
import { walk } from "./walk.js";
import type { StoreContext } from "../context.js";

export interface Refs {
  /**
   * The values that refs to objects and ops lead to, in order, as exact text. Null for a deleted object and for a way
   * that ends; a JSON null that is stored comes as the text `null`. One object or row that does not exist is
   * `not_found` for the whole batch, with `missing_object_digests` in the details; so is one whose project the caller
   * may not read. At most 1000 refs.
   */
  readBatch(
    refs: readonly string[],
    options: { mayRead: (project_id: string) => boolean },
  ): Promise<Array<JsonText | null>>;
}

const maxRefs = 1000;
/** Objects that hold refs to each other could be walked for ever. */
const maxRounds = 16;

/** One ref on its way, which began at a position of the batch. */
interface Traveller extends Entry {
  position: number;
}

export function openRefs(context: StoreContext): Refs {
  return {
    async readBatch(refs, { mayRead }) {
      const found: Array<JsonText | null> = refs.map(() => null);
      let travellers = refs.length > maxRefs ? tooMany() : refs.map(travellerOf);
      for (let round = 0; travellers.length > 0 && round < maxRounds; round++) {
        const values = await readTargets(context, travellers, mayRead);
        const next: Traveller[] = [];
        for (const [index, traveller] of travellers.entries()) {
          const value = values[index];
          if (value === undefined || value === null) continue;
          const { position, target } = traveller;
          const step = walk(value, target.kind === "table" ? traveller.edges.slice(1) : traveller.edges);
          if (step.state === "done") found[position] = step.text;
          else next.push({ position, target: step.target, edges: [...step.target.edges, ...step.edges] });
        }
        travellers = next;
      }
      return found;
    },
  };
}

function travellerOf(text: string, position: number): Traveller {
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
