import { actions } from "./actions/chosen.js";
import type { Action } from "./actions/chosen.js";

/** What is looked at in the table: the address has it, too. */
export interface CallsView {
  /** Id of the call under the cursor. */
  at?: string;
  /** The calls that are chosen, as `readChosen` reads them. */
  chosen?: string;
  /** What is about to be done with them. */
  act?: Action;
}

export function readCallsView({ at, chosen, act }: Record<string, unknown>): CallsView {
  const action = actions.find((known) => known === act);
  return {
    ...(typeof at === "string" && { at }),
    ...(typeof chosen === "string" && { chosen: chosen.slice(0, longestChosen) }),
    ...(action !== undefined && { act: action }),
  };
}

const longestChosen = 40_000;
