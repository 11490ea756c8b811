import type { Conversation, Generator, Message } from "./example.js";
import { names } from "./words.js";

const greetings = ["Hello", "Hi", "Hey", "Good morning", "Good evening", "Hello there", "Hi there", "Good day"];

const thanks = ["Thank you", "Thanks", "Thank you very much", "Many thanks", "Thanks a lot"];

const partings = ["Bye", "Goodbye", "See you", "Good night", "See you later"];

const aboutItself: [question: string, answer: string][] = [
  ["Who are you?", "I am the Heddle starter, a toy model."],
  ["What are you?", "I am the Heddle starter, a toy model."],
  ["What is your name?", "I am the Heddle starter, a toy model."],
  ["Are you a person?", "No, I am a toy model."],
  ["Are you a large model?", "No, I am very small."],
  ["Can you chat?", "No. I am a toy that shows how training works."],
  ["What can you do?", "I am a toy. I can copy, add, label and fill JSON."],
  ["Why are you so small?", "So that training me takes seconds."],
];

const tooMuch = [
  "Write me a novel",
  "Write a poem about the sea",
  "Explain quantum physics",
  "Who will win the next election",
  "Translate this book",
  "Give me medical advice",
  "Write a long essay",
  "Plan my holiday",
  "Solve this equation",
  "Tell me the news",
  "What should I invest in",
  "Write a program for me",
  "Summarise this film",
  "Prove this theorem",
];

/** Greetings, thanks and partings, questions about itself, and what it declines because it is a toy. */
export const smallTalk: Generator = (random): Conversation => {
  const mark = random.pick(["", ".", "!"]);
  const name = random.chance(0.5) ? random.pick(names) : undefined;
  const system: Message[] = random.chance(0.2)
    ? [{ role: "system", content: random.pick(["You are a toy model.", "Be brief.", "You are a helpful assistant."]) }]
    : [];
  const talk = (question: string, answer: string): Conversation => ({
    messages: [...system, { role: "user", content: question }, { role: "assistant", content: answer }],
    key: question,
  });
  switch (random.below(5)) {
    case 0:
      return name
        ? talk(`${random.pick(greetings)}, I am ${name}${mark}`, `Hello ${name}!`)
        : talk(`${random.pick(greetings)}${mark}`, "Hello!");
    case 1:
      return talk(`${random.pick(thanks)}${mark}`, "You are welcome.");
    case 2:
      return talk(
        `${random.pick(partings)}${name ? `, ${random.pick(["model", "toy", "friend"])}` : ""}${mark}`,
        "Goodbye!",
      );
    case 3: {
      const [question, answer] = random.pick(aboutItself);
      return talk(random.chance(0.5) ? question : `${random.pick(greetings)}. ${question}`, answer);
    }
    default:
      return talk(
        `${random.pick(["", "Please: ", "Hey, "])}${random.pick(tooMuch)}${mark}`,
        "Sorry, I am a toy and cannot do that.",
      );
  }
};
