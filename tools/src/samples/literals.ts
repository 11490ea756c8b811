/** Text that is written as it is: a number in its spelling of the example, or an expression of the language. */
export class Verbatim {
  constructor(readonly text: string) {}
}

/** A JSON value whose numbers may keep their spelling. */
export type Literal = null | boolean | number | string | Verbatim | Literal[] | { [name: string]: Literal };

/** How a language writes what JSON can express. */
interface Notation {
  null: string;
  true: string;
  false: string;
  key(name: string): string;
  /** Spaces per level. */
  indent: number;
  /** Inside the braces of an object on one line. */
  padding: string;
  /** After the last entry of an object or array on several lines. */
  trailing: string;
}

const json: Notation = {
  null: "null",
  true: "true",
  false: "false",
  key: (name) => JSON.stringify(name),
  indent: 2,
  padding: "",
  trailing: "",
};

export const notations = {
  json,
  typescript: {
    ...json,
    key: (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : json.key(name)),
    padding: " ",
    trailing: ",",
  },
  python: { ...json, null: "None", true: "True", false: "False", indent: 4, trailing: "," },
} satisfies Record<string, Notation>;

const width = 80;

export interface Position {
  /** Spaces before the line that the literal begins in. */
  indent: number;
  /** Length of the text before the literal in its line, without the indent. */
  before: number;
}

/** The literal on one line where it fits into 80 columns, otherwise with one entry per line. */
export function writeLiteral(value: Literal, notation: Notation, { indent, before }: Position): string {
  const line = onOneLine(value, notation);
  if (indent + before + line.length < width) return line;
  const [open, entries, close] = partsOf(value, notation);
  if (entries.length === 0) return line;
  const inner = indent + notation.indent;
  const lines = entries.map(({ prefix, value: entry }) => {
    return " ".repeat(inner) + prefix + writeLiteral(entry, notation, { indent: inner, before: prefix.length });
  });
  return `${open}\n${lines.join(",\n")}${notation.trailing}\n${" ".repeat(indent)}${close}`;
}

function onOneLine(value: Literal, notation: Notation): string {
  if (value === null) return notation.null;
  if (typeof value === "boolean") return value ? notation.true : notation.false;
  if (value instanceof Verbatim) return value.text;
  if (typeof value !== "object") return JSON.stringify(value);
  const [open, entries, close] = partsOf(value, notation);
  if (entries.length === 0) return open + close;
  const padding = open === "{" ? notation.padding : "";
  const texts = entries.map(({ prefix, value: entry }) => prefix + onOneLine(entry, notation));
  return `${open}${padding}${texts.join(", ")}${padding}${close}`;
}

interface Entry {
  /** The key with its colon; empty in an array. */
  prefix: string;
  value: Literal;
}

/** What an object or array consists of; nothing for other values. */
function partsOf(value: Literal, notation: Notation): [open: string, entries: Entry[], close: string] {
  if (Array.isArray(value)) return ["[", value.map((entry) => ({ prefix: "", value: entry })), "]"];
  if (typeof value !== "object" || value === null || value instanceof Verbatim) return ["", [], ""];
  return [
    "{",
    Object.entries(value).map(([name, entry]) => ({ prefix: `${notation.key(name)}: `, value: entry })),
    "}",
  ];
}
