import type { Generator } from "./example.js";
import { ask, capitalised } from "./example.js";
import { things } from "./words.js";

const labels = ["positive", "negative", "neutral"] as const;

const phrases: Record<(typeof labels)[number], string[]> = {
  positive: [
    "I love this",
    "what a great",
    "very happy with the",
    "a wonderful",
    "the best",
    "I enjoyed the",
    "excellent work on the",
    "so pleased with my",
  ],
  negative: [
    "I hate this",
    "what an awful",
    "very unhappy with the",
    "a terrible",
    "the worst",
    "I regret the",
    "poor work on the",
    "so tired of my",
  ],
  neutral: ["this is a", "there is a", "I have a", "he bought a", "it comes with a", "they sent the", "here is the"],
};

const endings: Record<(typeof labels)[number], string[]> = {
  positive: ["", ", thank you", ", it works well", ", I will come back"],
  negative: ["", ", it broke at once", ", never again", ", it was late and cold"],
  neutral: ["", ", it is on the table", ", it has two parts", ", it came today"],
};

const wordings: ((text: string) => string)[] = [
  (text) => `Sentiment: ${text}`,
  (text) => `Is this positive, negative or neutral? ${text}`,
  (text) => `Label the text as positive, negative or neutral: ${text}`,
];

/** The three labels alternate. */
export const sentiment: Generator = (random, index) => {
  const label = labels[index % labels.length] ?? "neutral";
  const text = `${random.pick(phrases[label])} ${random.pick(things)}${random.pick(endings[label])}`;
  const written = random.chance(0.5) ? text : `${capitalised(text)}.`;
  return ask(random.pick(wordings)(written), label, text);
};
