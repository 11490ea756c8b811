import type { Choice, Field } from "./field.js";

/** A choice that a digit makes. */
export interface Numbered {
  field: Field;
  choice: Choice;
}

/** The keys that there are. */
const digits = 9;

/**
 * What the digits 1 to 9 choose: numbering continues over the fields. A field whose choices would go beyond nine has none; it is
 * filtered by typing.
 */
export function numbersOf(fields: readonly Field[]): Numbered[] {
  const numbered: Numbered[] = [];
  for (const field of fields) {
    if (field.input.kind !== "choices" || numbered.length + field.input.choices.length > digits) continue;
    for (const choice of field.input.choices) numbered.push({ field, choice });
  }
  return numbered;
}
