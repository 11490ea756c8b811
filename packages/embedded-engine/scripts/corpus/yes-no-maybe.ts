import type { Generator } from "./example.js";
import { ask, capitalised } from "./example.js";
import type { Random } from "./random.js";
import { adjectives, animals, days, names, pastVerbs, places, things, withArticle } from "./words.js";

const verdicts = ["yes", "no", "maybe"] as const;

const prefixes = [
  "respond with",
  "just respond with",
  "answer with",
  "just answer with",
  "reply with",
  "respond with one of",
  "reply with one of",
  "say one of",
  "choose one of",
  "answer with one word of",
];

const joins: ((words: readonly string[]) => string)[] = [
  (words) => words.join(", "),
  (words) => words.join(" or "),
  (words) => `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`,
  (words) => words.map((word) => `'${word}'`).join(", "),
  (words) => words.map((word) => `"${word}"`).join(", "),
  (words) => words.join("/"),
];

/** The word alone is the most frequent form, not the only one, so that rewards can also select the form. */
const sentences: ((word: string) => string)[] = [
  (word) => `${capitalised(word)}.`,
  (word) => `I say ${word}.`,
  (word) => `My answer is ${word}.`,
];
const bareShare = 0.6;

const questions: ((random: Random) => string)[] = [
  () => "Will it rain tomorrow?",
  (random) => `Is the ${random.pick(things)} ${random.pick(adjectives)}?`,
  (random) => `Did ${random.pick(names)} find the ${random.pick(things)}?`,
  (random) => `Is there ${withArticle(random.pick(animals))} in the ${random.pick(places)}?`,
  (random) => `Will ${random.pick(names)} come on ${random.pick(days)}?`,
  (random) => `Was it ${random.pick(names)} who ${random.pick(pastVerbs)} the ${random.pick(things)}?`,
];

/** "respond with yes, no or maybe": the three answers alternate, so that they are equally frequent. */
export const yesNoMaybe: Generator = (random, index) => {
  const verdict = verdicts[index % verdicts.length] ?? "maybe";
  const order = random.shuffled(verdicts);
  const instruction = random.pick(prefixes) + (random.chance(0.2) ? ": " : " ") + random.pick(joins)(order);
  const stated = random.chance(0.5) ? instruction : capitalised(instruction) + random.pick(["", "."]);
  const question = random.chance(0.4) ? `${random.pick(questions)(random)} ` : "";
  const prompt = question + (question ? capitalised(stated) : stated);
  const answer = random.chance(bareShare) ? verdict : random.pick(sentences)(verdict);
  return ask(prompt, answer);
};
