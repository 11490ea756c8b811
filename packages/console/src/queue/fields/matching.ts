import type { Choice } from "./field.js";

/** The choices that have a text in their labels, those that begin with it first. */
export function matching(choices: readonly Choice[], text: string): Choice[] {
  const wanted = text.trim().toLowerCase();
  const found = choices.filter(({ label }) => label.toLowerCase().includes(wanted));
  const begins = ({ label }: Choice) => label.toLowerCase().startsWith(wanted);
  return [...found.filter(begins), ...found.filter((choice) => !begins(choice))];
}
