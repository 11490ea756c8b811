import type { Field } from "./field.js";

/** What was answered: values by the refs of fields. A field without an answer is absent. */
export type Answers = ReadonlyMap<string, unknown>;

export const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** With a choice made. Made again it is taken back; of a list of values each is in it or not. */
export function withChoice(answers: Answers, { ref, input }: Field, value: unknown): Answers {
  if (input.kind !== "choices") return answers;
  const present = answers.get(ref);
  if (!input.many) return withAnswer(answers, ref, isSame(present, value) && answers.has(ref) ? undefined : value);
  const chosen = Array.isArray(present) ? present : [];
  const without = chosen.filter((one) => !isSame(one, value));
  const next = without.length < chosen.length ? without : [...chosen, value];
  // In the order of the schema, so that the same answers are the same value.
  const ordered = input.choices.map((choice) => choice.value).filter((one) => next.some((each) => isSame(each, one)));
  return withAnswer(answers, ref, ordered.length === 0 ? undefined : ordered);
}

/** With another answer; undefined takes it away. */
export function withAnswer(answers: Answers, ref: string, value: unknown): Answers {
  const next = new Map(answers);
  if (value === undefined) next.delete(ref);
  else next.set(ref, value);
  return next;
}

/** The value of an entered text, or why it is none. Nothing entered is not an answer. */
export function readEntered({ input }: Field, text: string): { value: unknown } | { mistake: string } {
  if (input.kind === "text") {
    if (input.longest !== undefined && Array.from(text).length > input.longest)
      return { mistake: `At most ${input.longest} characters` };
    return { value: text === "" ? undefined : text };
  }
  if (text.trim() === "") return { value: undefined };
  if (input.kind === "number") {
    const value = Number(text);
    const { least, most, isInteger } = input;
    if (!Number.isFinite(value)) return { mistake: "A number, such as 2.5" };
    if (isInteger && !Number.isInteger(value)) return { mistake: "A whole number" };
    if (least !== undefined && value < least) return { mistake: `At least ${least}` };
    if (most !== undefined && value > most) return { mistake: `At most ${most}` };
    return { value };
  }
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { mistake: 'JSON, such as {"a": 1} or ["b"]' };
  }
}

/** An answer as it is entered. */
export const enteredOf = ({ input }: Field, value: unknown): string =>
  value === undefined ? "" : input.kind === "text" && typeof value === "string" ? value : JSON.stringify(value);
