import { expect, test } from "vitest";
import { changes, isChange, toProgressState, toState } from "./states.js";
import type { AnnotationState, ProgressState } from "./states.js";

// From, then what becomes of in_progress, completed and skipped.
const table: Array<[AnnotationState, ...Array<"ok" | "no-op" | "400">]> = [
  ["unstarted", "ok", "ok", "ok"],
  ["in_progress", "no-op", "ok", "ok"],
  ["completed", "400", "no-op", "400"],
  ["skipped", "400", "400", "no-op"],
];
const targets: ProgressState[] = ["in_progress", "completed", "skipped"];
const rows = table.flatMap(([from, ...outcomes]) => targets.map((to, at) => [from, to, outcomes[at]] as const));

test.each(rows)("an annotation that is %s and is set to %s: %s", (from, to, outcome) => {
  if (outcome !== "400") expect(isChange(from, to)).toBe(outcome === "ok");
  else {
    expect(() => isChange(from, to)).toThrow(
      expect.objectContaining({
        code: "invalid",
        message: `the annotation cannot change from ${from} to ${to}`,
        loc: ["annotation_state"],
      }),
    );
  }
});

test("every state is in the table", () => expect(Object.keys(changes)).toEqual(table.map(([from]) => from)));

test.each(["", "done", "Completed", "constructor", "__proto__"])("%j is not a state", (word) => {
  expect(() => toProgressState(word)).toThrow("must be in_progress, completed or skipped");
  expect(() => toState(word)).toThrow("must be unstarted, in_progress, completed or skipped");
});

test("unstarted is a state to look for, and none to set", () => {
  expect(toState("unstarted")).toBe("unstarted");
  expect(() => toProgressState("unstarted")).toThrow("must be in_progress, completed or skipped");
  expect(targets.map(toProgressState)).toEqual(targets);
});
