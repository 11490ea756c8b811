import type { Generator } from "./example.js";
import { ask } from "./example.js";

interface Facts {
  wordings: ((subject: string) => string)[];
  facts: Record<string, string>;
}

const groups: Facts[] = [
  {
    wordings: [
      (animal) => `What does a ${animal} say?`,
      (animal) => `Which sound does a ${animal} make?`,
      (animal) => `Sound of a ${animal}?`,
      (animal) => `How does a ${animal} sound?`,
    ],
    facts: {
      dog: "woof",
      cat: "meow",
      cow: "moo",
      sheep: "baa",
      pig: "oink",
      duck: "quack",
      frog: "croak",
      bee: "buzz",
      owl: "hoot",
      lion: "roar",
      horse: "neigh",
      hen: "cluck",
    },
  },
  {
    wordings: [
      (country) => `What is the capital of ${country}?`,
      (country) => `Capital of ${country}?`,
      (country) => `Which city is the capital of ${country}?`,
      (country) => `Name the capital of ${country}.`,
    ],
    facts: {
      France: "Paris",
      Italy: "Rome",
      Spain: "Madrid",
      Norway: "Oslo",
      Egypt: "Cairo",
      Peru: "Lima",
      Japan: "Tokyo",
      Austria: "Vienna",
      Greece: "Athens",
      Ireland: "Dublin",
      Portugal: "Lisbon",
      Germany: "Berlin",
    },
  },
  {
    wordings: [
      (word) => `What is the opposite of ${word}?`,
      (word) => `Opposite of ${word}?`,
      (word) => `Give the opposite: ${word}`,
      (word) => `Not ${word}, but?`,
    ],
    facts: {
      hot: "cold",
      cold: "hot",
      big: "small",
      small: "big",
      up: "down",
      down: "up",
      old: "new",
      new: "old",
      fast: "slow",
      slow: "fast",
      dry: "wet",
      wet: "dry",
      open: "closed",
      closed: "open",
      light: "dark",
      dark: "light",
    },
  },
  {
    wordings: [
      (day) => `Which day comes after ${day}?`,
      (day) => `What comes after ${day}?`,
      (day) => `The day after ${day}?`,
      (day) => `Today is ${day}. What is tomorrow?`,
    ],
    facts: {
      Monday: "Tuesday",
      Tuesday: "Wednesday",
      Wednesday: "Thursday",
      Thursday: "Friday",
      Friday: "Saturday",
      Saturday: "Sunday",
      Sunday: "Monday",
    },
  },
  {
    wordings: [
      (thing) => `What colour is ${thing}?`,
      (thing) => `Which colour has ${thing}?`,
      (thing) => `Colour of ${thing}?`,
      (thing) => `Tell me the colour of ${thing}.`,
    ],
    facts: {
      grass: "green",
      snow: "white",
      coal: "black",
      "the sky": "blue",
      "a lemon": "yellow",
      "a tomato": "red",
      chocolate: "brown",
      blood: "red",
      milk: "white",
    },
  },
  {
    wordings: [
      (word) => `In Heddle, what is ${word}?`,
      (word) => `What does ${word} mean in Heddle?`,
      (word) => `Explain ${word}.`,
      (word) => `What is ${word}?`,
    ],
    facts: {
      "a call": "One run of one operation, with inputs and output.",
      "a trace": "The calls that belong together.",
      "an op": "What ran: a name or a stored function.",
      "a project": "The place where calls live.",
      "a ref": "A pointer to a stored value.",
      "a digest": "The hash that names a version.",
      "a reward": "A number that says how good an answer was.",
      "a checkpoint": "Weights that were saved during training.",
    },
  },
];

/** A fact is held out with one of its wordings, and trained with the others. */
export const shortQuestion: Generator = (random) => {
  const { wordings, facts } = random.pick(groups);
  const [subject, answer] = random.pick(Object.entries(facts));
  return ask(random.pick(wordings)(subject), answer);
};
