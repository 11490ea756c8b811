import type { Generator, Passage } from "./example.js";
import type { Random } from "./random.js";
import { adjectives, animals, cities, days, names, pastVerbs, places, things, withArticle } from "./words.js";

const patterns: ((random: Random) => string)[] = [
  (random) =>
    `${random.pick(names)} ${random.pick(pastVerbs)} the ${random.pick(things)} in the ${random.pick(places)}.`,
  (random) => `The ${random.pick(adjectives)} ${random.pick(things)} is in the ${random.pick(places)}.`,
  (random) =>
    `On ${random.pick(days)} ${random.pick(names)} went to ${random.pick(cities)} with ${random.pick(names)}.`,
  (random) => `${random.pick(names)} has ${withArticle(random.pick(adjectives))} ${random.pick(animals)}.`,
  (random) => `There is ${withArticle(random.pick(things))} on the ${random.pick(adjectives)} ${random.pick(things)}.`,
  (random) =>
    `The ${random.pick(animals)} ran to the ${random.pick(places)} because it was ${random.pick(adjectives)}.`,
  (random) => `When ${random.pick(names)} came home, the ${random.pick(things)} was ${random.pick(adjectives)}.`,
  (random) => `"Where is my ${random.pick(things)}?" asked ${random.pick(names)}.`,
  (random) => `${random.pick(names)} said: "The ${random.pick(things)} is too ${random.pick(adjectives)}."`,
  (random) =>
    `First ${random.pick(names)} ${random.pick(pastVerbs)} the ${random.pick(things)}, then the ${random.pick(things)}.`,
  (random) => `It was ${withArticle(random.pick(adjectives))} day in ${random.pick(cities)}.`,
  (random) => `Nobody ${random.pick(pastVerbs)} the ${random.pick(adjectives)} ${random.pick(animals)}.`,
];

/** One to three simple sentences. */
export const sentences: Generator = (random): Passage => {
  const text = Array.from({ length: 1 + random.below(3) }, () => random.pick(patterns)(random)).join(" ");
  return { text, key: text };
};
