import { actions } from "./actions/chosen.js";
import type { Action } from "./actions/chosen.js";

/** What is looked at in the table: the address has it, too. */
export interface CallsView {
  /** Id of the call under the cursor. */
  at?: string;
  /** A time that the table begins at, further down than its newest call. */
  t?: string;
  /** The calls that are chosen, as `readChosen` reads them. */
  chosen?: string;
  /** What is about to be done with them. */
  act?: Action;
  /** What is asked about the table. */
  dialog?: CallsDialog;
}

const dialogs = ["columns", "condition", "views"] as const;
export type CallsDialog = (typeof dialogs)[number];

export function readCallsView({ at, t, chosen, act, dialog }: Record<string, unknown>): CallsView {
  const action = actions.find((known) => known === act);
  const asked = dialogs.find((known) => known === dialog);
  return {
    ...(typeof at === "string" && { at }),
    ...(typeof t === "string" && !Number.isNaN(Date.parse(t)) && { t: new Date(t).toISOString() }),
    ...(typeof chosen === "string" && { chosen: chosen.slice(0, longestChosen) }),
    ...(action !== undefined && { act: action }),
    ...(asked !== undefined && { dialog: asked }),
  };
}

const longestChosen = 40_000;
