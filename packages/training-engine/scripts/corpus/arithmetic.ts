import type { Generator } from "./example.js";
import { ask } from "./example.js";

const wordings: ((left: number, right: number) => string)[] = [
  (left, right) => `${left} + ${right}`,
  (left, right) => `${left} + ${right} =`,
  (left, right) => `What is ${left} + ${right}?`,
  (left, right) => `What is ${left} plus ${right}?`,
  (left, right) => `Add ${left} and ${right}.`,
];

/** Held out is the wording with the pair, not the pair: there are too few pairs to keep some unseen. */
export const oneDigitSums: Generator = (random) => {
  const [left, right] = [random.below(10), random.below(10)];
  return ask(random.pick(wordings)(left, right), String(left + right));
};

/** Pairs that are held out never occur, in either order and under any wording. */
export const twoDigitSums: Generator = (random) => {
  const [left, right] = [10 + random.below(90), 10 + random.below(90)];
  const key = `${Math.min(left, right)}+${Math.max(left, right)}`;
  return ask(random.pick(wordings)(left, right), String(left + right), key);
};
