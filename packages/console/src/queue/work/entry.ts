import type { Answers } from "../fields/answers.js";
import { isSame } from "../fields/answers.js";

/** What is to be annotated. */
export interface Item {
  id: string;
  callId: string;
  /** What annotators see, by the paths into the call, as exact text; undefined where the call was deleted. */
  values: readonly (readonly [path: string, text: string])[] | undefined;
}

export type Outcome = "completed" | "skipped";

/** Feedback that the service has. */
export interface GivenAnswer {
  id: string;
  value: unknown;
}

/** What the service has of an item. */
export interface Stored {
  outcome: Outcome | undefined;
  /** By the refs of fields. */
  given: ReadonlyMap<string, GivenAnswer>;
}

/** An item that somebody works on or has worked on, and what became of it. */
export interface Entry {
  item: Item;
  answers: Answers;
  /** Answers before each change, the last one last. */
  earlier: readonly Answers[];
  /** What it is to be; undefined while it is worked on. */
  outcome: Outcome | undefined;
  stored: Stored;
  isWriting: boolean;
  /** Why what it is to be could not be stored. */
  error: unknown;
  /** Whether the claim ran out and another has the item. */
  isLost: boolean;
}

/** What has to be done next so that the service has what the annotator wants. */
export type Step =
  | { do: "reopen" }
  | { do: "take back"; ref: string; id: string }
  | { do: "give"; ref: string; value: unknown }
  | { do: "finish"; outcome: Outcome };

const none: Answers = new Map();

/** Each step may be repeated, so a failure is repaired by going on where it was. */
export function nextStep({ answers, outcome, stored }: Entry): Step | undefined {
  if (stored.outcome !== undefined && stored.outcome !== outcome) return { do: "reopen" };
  const wanted = outcome === "completed" ? answers : none;
  for (const [ref, { id, value }] of stored.given)
    if (!wanted.has(ref) || !isSame(wanted.get(ref), value)) return { do: "take back", ref, id };
  for (const [ref, value] of wanted) if (!stored.given.has(ref)) return { do: "give", ref, value };
  return outcome === undefined || stored.outcome === outcome ? undefined : { do: "finish", outcome };
}

export const newEntry = (item: Item, stored: Stored = { outcome: undefined, given: new Map() }): Entry => ({
  item,
  answers: new Map([...stored.given].map(([ref, { value }]) => [ref, value])),
  earlier: [],
  outcome: stored.outcome,
  stored,
  isWriting: false,
  error: undefined,
  isLost: false,
});
