import type { Budget } from "./budget.js";
import { TemplateError } from "./template-error.js";
import type { Value } from "./values.js";
import { Float, Namespace, Tuple, typeName } from "./values.js";

/** Writes a value as Python's `str` does. */
export function toText(value: Value, budget: Budget): string {
  if (typeof value === "string") return value;
  return value === undefined ? "" : representation(value, budget);
}

/** Writes a value as Python's `repr` does. */
export function representation(value: Value, budget: Budget): string {
  budget.spend(1);
  switch (typeof value) {
    case "undefined":
      return "Undefined";
    case "boolean":
      return value ? "True" : "False";
    case "number":
      return String(value);
    case "bigint":
      return integerText(value, budget);
    case "string":
      return budget.text(quoted(value, budget));
    default:
  }
  if (value === null) return "None";
  if (value instanceof Float) return floatText(value.value);
  return budget.nest(() => {
    const list = (items: readonly Value[]): string =>
      joined(
        items.map((item) => representation(item, budget)),
        budget,
      );
    if (Array.isArray(value)) return `[${list(value)}]`;
    if (value instanceof Tuple) return value.items.length === 1 ? `(${list(value.items)},)` : `(${list(value.items)})`;
    const pairs = value instanceof Map ? value : value instanceof Namespace ? value.attributes : undefined;
    if (!pairs) return `<${typeName(value)}>`;
    const written: string[] = [];
    for (const [key, item] of pairs) written.push(`${representation(key, budget)}: ${representation(item, budget)}`);
    const dict = `{${joined(written, budget)}}`;
    return value instanceof Namespace ? `<Namespace ${dict}>` : dict;
  });
}

function joined(pieces: string[], budget: Budget): string {
  budget.make(pieces.reduce((sum, piece) => sum + piece.length + 2, 0));
  return pieces.join(", ");
}

/** Writes an integer. The time of a large one is more than that of its digits. */
export function integerText(value: bigint, budget: Budget): string {
  const bits = value.toString(16).length * 4;
  budget.integers(bits * 8);
  return String(value);
}

/** Writes a float as Python does: the shortest digits that identify it. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const [, sign = "", digits = "", exponentText = ""] = /^(-?)([\d.]+)e(.*)$/.exec(value.toExponential()) ?? [];
  const exponent = Number(exponentText);
  if (Object.is(value, -0)) return "-0.0";
  if (exponent >= -4 && exponent < 16) {
    const text = String(value);
    return text.includes(".") ? text : `${text}.0`;
  }
  return `${sign}${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

const shortEscapes: Record<string, string> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Steps of the replacement of one character. */
export const replacementSteps = 4;

function quoted(text: string, budget: Budget): string {
  budget.read(text.length, 2);
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const body = text.replaceAll(/[\\'\p{C}\p{Z}]/gu, (character) => {
    budget.spend(replacementSteps);
    if (character === " " || (character === "'" && quote === '"')) return character;
    if (character === "'") return "\\'";
    const short = shortEscapes[character];
    if (short) return short;
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
    return code < 0x10000 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
  });
  return quote + body + quote;
}

export interface JsonStyle {
  ensureAscii: boolean;
  /** Text of one level, or undefined for one line. */
  indent: string | undefined;
  separators: [item: string, key: string];
  sortKeys: boolean;
}

/** Writes a value as Python's `json.dumps` does. */
export function toJson(value: Value, style: JsonStyle, budget: Budget): string {
  const [itemSeparator, keySeparator] = style.separators;
  let length = 0;
  const pieces: string[] = [];
  const write = (piece: string): void => {
    length += piece.length;
    budget.checkLength(length);
    budget.read(piece.length);
    pieces.push(piece);
  };
  const lineBreak = (level: number): void => {
    if (style.indent === undefined) return;
    budget.checkLength(length + level * style.indent.length);
    budget.spend(1);
    write(`\n${style.indent.repeat(level)}`);
  };

  function writeItems(
    open: string,
    close: string,
    count: number,
    level: number,
    writeItem: (at: number) => void,
  ): void {
    write(open);
    for (let at = 0; at < count; at++) {
      if (at > 0) write(itemSeparator);
      lineBreak(level + 1);
      writeItem(at);
    }
    if (count > 0) lineBreak(level);
    write(close);
  }

  function writeValue(item: Value, level: number): void {
    budget.spend(1);
    const simple = scalarJson(item, style, budget);
    if (simple !== undefined) return write(simple);
    const list = Array.isArray(item) ? item : item instanceof Tuple ? item.items : undefined;
    if (list) {
      return budget.nest(() => writeItems("[", "]", list.length, level, (at) => writeValue(list[at], level + 1)));
    }
    if (!(item instanceof Map)) throw new TemplateError(`Object of type ${typeName(item)} is not JSON serializable`);
    budget.makeItems(item.size);
    const entries = [...item];
    if (style.sortKeys) entries.sort(([a], [b]) => compareKeys(a, b, budget));
    budget.nest(() =>
      writeItems("{", "}", entries.length, level, (at) => {
        const [key, entry] = entries[at] ?? [];
        write(keyJson(key, style, budget) + keySeparator);
        writeValue(entry, level + 1);
      }),
    );
  }

  writeValue(value, 0);
  return pieces.join("");
}

function scalarJson(value: Value, { ensureAscii }: JsonStyle, budget: Budget): string | undefined {
  if (value === null) return "null";
  if (typeof value === "string") {
    budget.read(value.length, 4);
    const text = JSON.stringify(value);
    if (!ensureAscii) return text;
    return text.replaceAll(/[\x7f-\uffff]/g, (unit) => {
      budget.spend(replacementSteps);
      return unicodeEscape(unit);
    });
  }
  if (typeof value === "bigint") return integerText(value, budget);
  if (value instanceof Float) return Number.isFinite(value.value) ? floatText(value.value) : nonFinite(value.value);
  return typeof value === "boolean" || typeof value === "number" ? String(value) : undefined;
}

function nonFinite(value: number): string {
  return Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function keyJson(key: Value, style: JsonStyle, budget: Budget): string {
  const text = scalarJson(key, style, budget);
  if (text === undefined) throw new TemplateError(`keys must be str, int, float, bool or None, not ${typeName(key)}`);
  return typeof key === "string" ? text : `"${text}"`;
}

function compareKeys(a: Value, b: Value, budget: Budget): number {
  budget.spend(0.1);
  if (typeof a === "string" && typeof b === "string") return compareText(a, b, budget);
  if (typeof a === "number" && typeof b === "number") return a - b;
  throw new TemplateError(`'<' not supported between instances of '${typeName(a)}' and '${typeName(b)}'`);
}

/** Compares texts by code points. */
export function compareText(a: string, b: string, budget: Budget): number {
  const shorter = Math.min(a.length, b.length);
  budget.read(shorter, 2);
  let at = 0;
  while (at < shorter && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  if (at === shorter) return a.length - b.length;
  // Only the first units of surrogate pairs are in another order than code points.
  return codePointAt(a, at) - codePointAt(b, at);
}

/** The code point that a unit belongs to. */
function codePointAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  const isSecond = unit >= 0xdc00 && unit <= 0xdfff && /[\ud800-\udbff]/.test(text.charAt(at - 1));
  return text.codePointAt(isSecond ? at - 1 : at) ?? 0;
}
