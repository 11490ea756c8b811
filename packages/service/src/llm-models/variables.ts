import { HeddleError } from "@heddle/errors";
import { arrayItems, exceedsNesting, jsonType, memberOf, objectEntries, stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";

const maxListedNames = 20;
const maxListedName = 60;
/** As deep as free JSON may be. */
const maxNesting = 200;

/** The values that templates and scorers read by name. */
export class Variables {
  readonly #values: ReadonlyMap<string, JsonText>;

  constructor(values: ReadonlyMap<string, JsonText>) {
    this.#values = values;
  }

  /** The value of a name, or of a dotted path into one: `output.answer`, `messages.0.content`. */
  find(path: string): JsonText | undefined {
    const whole = this.#values.get(path);
    if (whole !== undefined) return whole;
    const [name = "", ...steps] = path.split(".");
    let value = this.#values.get(name);
    for (const step of steps) {
      if (value === undefined) return undefined;
      value =
        jsonType(value) === "array" ? arrayItems(value)[/^\d+$/.test(step) ? Number(step) : -1] : memberOf(value, step);
    }
    return value;
  }

  /** Throws `invalid` with the path and the names that there are. `user` says what needs the value. */
  need(path: string, user: string): JsonText {
    const value = this.find(path);
    if (value !== undefined) return value;
    throw new HeddleError("invalid", `${user} needs "${path}", which the row does not have. It has: ${this.#names()}`);
  }

  #names(): string {
    const names = [...this.#values.keys()];
    const listed = names.slice(0, maxListedNames).map((name) => JSON.stringify(name.slice(0, maxListedName)));
    const more = names.length - listed.length;
    return `${listed.join(", ") || "nothing"}${more > 0 ? ` and ${more} more` : ""}`;
  }
}

/** The columns of a row by name. Throws `invalid` for a row that is not an object. */
export function columnsOf(row: JsonText): Map<string, JsonText> {
  if (jsonType(row) !== "object") throw new HeddleError("invalid", "the row must be an object of columns by name");
  return new Map(objectEntries(row).map(({ key, value }) => [key, value]));
}

/** A string as it is, any other value as its JSON text. */
export function textOf(value: JsonText): string {
  return stringValue(value) ?? value;
}

/** The JSON value that a text holds; undefined for a text that is not JSON, or nested too deeply to be kept. */
export function jsonIn(text: string): { text: JsonText; value: unknown } | undefined {
  try {
    if (exceedsNesting(text, maxNesting)) return undefined;
    return { text: text.trim(), value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
