import type { ParameterValue } from "./parameters.js";
import { quoted } from "./tab-separated.js";

/** Quoted texts and names, which are left as they are, and the placeholders that `Parameters` makes. */
const pieces = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|\{(p\d+):([^{}]*)\}/gsu;

/**
 * A statement with its parameters written into it, as constants of their types: the engine substitutes parameters in the same
 * way, but takes them from a session, which has to be told by a statement of its own.
 */
export function withLiterals(sql: string, params: Readonly<Record<string, ParameterValue>>): string {
  return sql.replaceAll(pieces, (piece: string, name: string | undefined, type: string) => {
    const value = name === undefined ? undefined : params[name];
    return value === undefined ? piece : literal(value, type);
  });
}

function literal(value: ParameterValue, type: string): string {
  if (value === null) return `_CAST(NULL, ${constant(type)})`;
  if (typeof value === "string" && type === "String") return constant(value);
  return `_CAST(${constant(parameterText(value))}, ${constant(type)})`;
}

/** What is escaped in a field of the TabSeparated format is so in a constant, which a character of code 0 would end, too. */
function constant(text: string): string {
  const field = quoted(text);
  return field.includes("\0") ? field.replaceAll("\0", String.raw`\0`) : field;
}

/** A value as the engine reads it from text. */
function parameterText(value: Exclude<ParameterValue, null>): string {
  if (typeof value !== "object") return String(value);
  return `[${value.map((item) => (typeof item === "string" ? quoted(item) : String(item))).join(",")}]`;
}
