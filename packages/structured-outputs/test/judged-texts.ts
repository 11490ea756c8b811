import { Ajv2020 } from "ajv/dist/2020.js";

/** A text, and whether a constraint should allow it. */
export interface JudgedText {
  text: string;
  valid: boolean;
}

const formats: Record<string, RegExp> = {
  date: /^\d{4}-(0\d|1[0-2])-\d\d$/,
  "date-time": /^\d{4}-\d\d-\d\dT/,
  email: /^[^@]+@[^@]+$/,
  uuid: /^[\da-f]{8}-/,
  ipv4: /^((25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(25[0-5]|2[0-4]\d|1?\d?\d)$/,
  color: /^/,
};

export function schemaTexts(schema: unknown, values: readonly unknown[]): JudgedText[] {
  const validate = new Ajv2020({ strict: false, formats }).compile(schema as object);
  return values.map((value) => ({ text: JSON.stringify(value), valid: validate(value) }));
}

/** A pattern that JavaScript does not accept matches nothing. */
export function regexTexts(regex: string, texts: readonly string[]): JudgedText[] {
  let pattern: RegExp | undefined;
  try {
    pattern = new RegExp(`^(?:${regex})$`, "u");
  } catch {
    pattern = undefined;
  }
  return texts.map((text) => ({ text, valid: pattern?.test(text) ?? false }));
}
