import { expect, test } from "vitest";
import { divergenceWatch } from "./divergence.js";

/** Checks steps with these mean losses per token. Returns which of them are reported. */
function reported(vocabularySize: number | undefined, surprises: (number | undefined)[]): boolean[] {
  const watch = divergenceWatch(vocabularySize);
  return surprises.map((each, step) => watch.check(step, 0, each === undefined ? undefined : -each));
}

test("a step that is worse than random guesses after training began is reported, two in a row end the job", () => {
  expect(reported(1000, [3, 2, 7, 1, undefined, 7])).toEqual([false, false, true, false, false, true]);
  expect(() => reported(1000, [3, 2, 7, 8])).toThrow(
    /^Training diverged: at gradient step 3, the mean loss of its tokens is 8.00, above ln\(1000\) = 6.91 .* Lower the/,
  );
  expect(() => reported(1000, [3, 7, undefined, 8])).toThrow(expect.objectContaining({ code: "failed" }));
});

test("a model that starts from random guesses, or with unusual texts, has not diverged", () => {
  expect(reported(1000, [7, 6.8, 7.1, 7])).not.toContain(true);
  expect(reported(1000, [9, 9.2, 8.8, 9])).not.toContain(true);
  expect(reported(undefined, [1, 20, 20])).not.toContain(true);
});

test("a loss that is not finite ends the job at once", () => {
  for (const loss of [NaN, Infinity]) {
    expect(() => divergenceWatch(10).check(4, loss, -1)).toThrow(
      expect.objectContaining({ code: "failed", details: { reason: "divergence", gradient_step: 4 } }),
    );
  }
});
