import { HeddleError } from "@heddle/errors";

/** How far an annotator is with an item; `unstarted` is the state before the first one that is set. */
export type AnnotationState = "unstarted" | ProgressState;

/** What an annotator can set. */
export type ProgressState = "in_progress" | "completed" | "skipped";

/** What setting a state does: stores it, leaves everything as it is, or fails. */
type Outcome = "set" | "keep" | "refuse";

/** The outcome of each change, from the annotator's state to the one asked for. */
export const changes: Readonly<Record<AnnotationState, Readonly<Record<ProgressState, Outcome>>>> = {
  unstarted: { in_progress: "set", completed: "set", skipped: "set" },
  in_progress: { in_progress: "keep", completed: "set", skipped: "set" },
  completed: { in_progress: "refuse", completed: "keep", skipped: "refuse" },
  skipped: { in_progress: "refuse", completed: "refuse", skipped: "keep" },
};

/** Whether the change has to be stored. Throws `invalid` for one that is not allowed. */
export function isChange(from: AnnotationState, to: ProgressState): boolean {
  const outcome = changes[from][to];
  if (outcome === "refuse") {
    throw new HeddleError("invalid", `the annotation cannot change from ${from} to ${to}`, {
      loc: ["annotation_state"],
    });
  }
  return outcome === "set";
}

/** Whether an item in this state needs no more work of the annotator. */
export function isFinal(state: AnnotationState): boolean {
  return state === "completed" || state === "skipped";
}

/** Throws `invalid` for a word that is not a state that an annotator can set. */
export function toProgressState(word: string): ProgressState {
  if (isState(word) && word !== "unstarted") return word;
  throw new HeddleError("invalid", "must be in_progress, completed or skipped", { loc: ["annotation_state"] });
}

/** Throws `invalid`, with an empty loc, for a word that is not a state. */
export function toState(word: string): AnnotationState {
  if (isState(word)) return word;
  throw new HeddleError("invalid", "must be unstarted, in_progress, completed or skipped", { loc: [] });
}

function isState(word: string): word is AnnotationState {
  return Object.hasOwn(changes, word);
}
