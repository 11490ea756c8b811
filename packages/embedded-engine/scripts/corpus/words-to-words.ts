import type { Generator } from "./example.js";
import { ask } from "./example.js";
import { anyWord } from "./words.js";

const copyWordings: ((text: string) => string)[] = [
  (text) => `Repeat: ${text}`,
  (text) => `Copy this: ${text}`,
  (text) => `Say exactly: ${text}`,
  (text) => `Repeat after me: ${text}`,
];

const upperWordings: ((text: string) => string)[] = [
  (text) => `Upper case: ${text}`,
  (text) => `Write in capital letters: ${text}`,
  (text) => `Shout: ${text}`,
];

const reverseWordings: ((text: string) => string)[] = [
  (text) => `Reverse: ${text}`,
  (text) => `Spell backwards: ${text}`,
];

const spellWordings: ((text: string) => string)[] = [(text) => `Spell: ${text}`, (text) => `Spell the word ${text}`];

/** Copies one to three words. */
export const copy: Generator = (random) => {
  const text = Array.from({ length: 1 + random.below(3) }, () => anyWord(random)).join(" ");
  return ask(random.pick(copyWordings)(text), text, text);
};

export const upperCase: Generator = (random) => {
  const word = anyWord(random);
  return ask(random.pick(upperWordings)(word), word.toUpperCase(), word);
};

export const reverse: Generator = (random) => {
  const word = anyWord(random);
  return ask(random.pick(reverseWordings)(word), word.split("").toReversed().join(""), word);
};

/** Spells a word as letters with hyphens, which the other two tasks require of a model with subword tokens. */
export const spell: Generator = (random) => {
  const word = anyWord(random);
  return ask(random.pick(spellWordings)(word), word.split("").join("-"), word);
};
