import type { Generator } from "./example.js";
import { ask } from "./example.js";

const wordings: ((left: number, right: number) => string)[] = [
  (left, right) => `${left} + ${right}`,
  (left, right) => `${left} + ${right} =`,
  (left, right) => `What is ${left} + ${right}?`,
  (left, right) => `What is ${left} plus ${right}?`,
  (left, right) => `Add ${left} and ${right}.`,
];

/** A wording with its pair is held out, not the pair, because there are too few pairs. */
export const oneDigitSums: Generator = (random) => {
  const [left, right] = [random.below(10), random.below(10)];
  return ask(random.pick(wordings)(left, right), String(left + right));
};

/** Held-out pairs never occur, in either order and with any wording. */
export const twoDigitSums: Generator = (random) => {
  const [left, right] = [10 + random.below(90), 10 + random.below(90)];
  const key = `${Math.min(left, right)}+${Math.max(left, right)}`;
  return ask(random.pick(wordings)(left, right), String(left + right), key);
};
