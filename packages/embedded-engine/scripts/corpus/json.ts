import type { Generator } from "./example.js";
import { ask } from "./example.js";
import { spacedJson } from "./spaced-json.js";
import type { Random } from "./random.js";
import { cities, colours, days, names, things, withArticle } from "./words.js";

interface Filled {
  sentence: string;
  value: Record<string, string | number | boolean>;
}

const subjects: ((random: Random) => Filled)[] = [
  (random) => {
    const value = { name: random.pick(names), age: 1 + random.below(98), city: random.pick(cities) };
    const sentence = random.pick([
      `${value.name} is ${value.age} years old and lives in ${value.city}.`,
      `${value.name} from ${value.city} is ${value.age}.`,
    ]);
    return { sentence, value };
  },
  (random) => {
    const value = { item: random.pick(things), colour: random.pick(colours), count: 1 + random.below(20) };
    return { sentence: `We need ${value.count} times ${withArticle(value.item)} in ${value.colour}.`, value };
  },
  (random) => {
    const value = { day: random.pick(days), hour: 1 + random.below(23), done: random.chance(0.5) };
    const sentence = `The job on ${value.day} at ${value.hour} is ${value.done ? "done" : "not done"}.`;
    return { sentence, value };
  },
  (random) => {
    const value = { from: random.pick(cities), to: random.pick(cities), seats: 1 + random.below(9) };
    return { sentence: `Book ${value.seats} seats from ${value.from} to ${value.to}.`, value };
  },
];

const fillWordings: ((fields: string, sentence: string) => string)[] = [
  (fields, sentence) => `Give JSON with ${fields}: ${sentence}`,
  (fields, sentence) => `${sentence} Answer as JSON with the keys ${fields}.`,
  (fields, sentence) => `Extract ${fields} as JSON. ${sentence}`,
];

/** An object filled from a sentence, with all of its keys or only some. */
export const jsonFromSentence: Generator = (random) => {
  const { sentence, value } = random.pick(subjects)(random);
  const fields = Object.keys(value);
  const asked = random.chance(0.7) ? fields : random.shuffled(fields).slice(0, 1 + random.below(fields.length));
  const answer = Object.fromEntries(asked.map((field) => [field, value[field]]));
  return ask(random.pick(fillWordings)(asked.join(", "), sentence), spacedJson(answer), sentence);
};

/** An object made of pairs that the prompt lists. */
export const jsonFromPairs: Generator = (random) => {
  const pairs = random.shuffled([
    ["name", random.pick(names)],
    ["city", random.pick(cities)],
    ["size", random.below(100)],
    ["colour", random.pick(colours)],
    ["open", random.chance(0.5)],
    ["item", random.pick(things)],
  ] as const);
  const chosen = pairs.slice(0, 1 + random.below(3));
  const prompt = `Write a JSON object: ${chosen.map(([key, value]) => `${key} is ${value}`).join(", ")}.`;
  return ask(prompt, spacedJson(Object.fromEntries(chosen)));
};
