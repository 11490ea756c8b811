import { jsonTokens } from "./indent-json.js";

/** A JSON value whose numbers and strings are the text that was sent. */
export type ExactValue = string | ExactValue[] | ExactObject;

/** Members in their order; a name may be there twice. */
export interface ExactObject {
  members: [name: string, value: ExactValue][];
}

/** Reads JSON text; undefined when it is none. */
export function readExact(text: string): ExactValue | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  // It is JSON, so that every token is where it belongs.
  const tokens = jsonTokens(text);
  let next = 0;
  const read = (): ExactValue => {
    const token = tokens[next++] ?? "";
    if (token === "[") {
      const items: ExactValue[] = [];
      while (tokens[next] !== "]") {
        items.push(read());
        if (tokens[next] === ",") next++;
      }
      next++;
      return items;
    }
    if (token !== "{") return token;
    const members: ExactObject["members"] = [];
    while (tokens[next] !== "}") {
      const name = JSON.parse(tokens[next++] ?? '""') as string;
      next++;
      members.push([name, read()]);
      if (tokens[next] === ",") next++;
    }
    next++;
    return { members };
  };
  return read();
}

/** The text of a value on one line. */
export function exactText(value: ExactValue): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return `[${value.map(exactText).join(", ")}]`;
  return `{${value.members.map(([name, member]) => `${JSON.stringify(name)}: ${exactText(member)}`).join(", ")}}`;
}

/** Objects that can be rows of a table: those of a list, or of the first list that an object has; undefined when there are none. */
export function rowsOf(value: ExactValue): ExactObject[] | undefined {
  if (typeof value === "string") return undefined;
  const lists = Array.isArray(value) ? [value] : value.members.map(([, member]) => member);
  return lists.find((list): list is ExactObject[] => Array.isArray(list) && list.length > 0 && list.every(isObject));
}

function isObject(value: ExactValue): value is ExactObject {
  return typeof value !== "string" && !Array.isArray(value);
}
