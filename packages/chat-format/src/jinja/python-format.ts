import type { Budget } from "./budget.js";
import { floatText, integerText, representation, toText } from "./python-text.js";
import { TemplateError } from "./template-error.js";
import type { Arguments, Value } from "./values.js";
import { Float, Tuple, typeName } from "./values.js";

/** Writes `format % values` as Python does. */
export function formatPercent(format: string, given: Value, budget: Budget): string {
  const values = given instanceof Tuple ? given.items : [given];
  let used = 0;
  const text = replaceWithin(
    budget,
    format,
    // A width that began with a zero would make the time quadratic: it could belong to the flags, too.
    /%(?:\(([^()%]*)\))?([-+ #0]*)(\*|[1-9]\d*|)(?:\.(\d+))?([a-zA-Z%])/g,
    (match) => {
      const [whole, name, flags = "", width = "", precision, kind = ""] = match;
      if (kind === "%") return "%";
      if (width === "*") throw new TemplateError("a width of * is not supported");
      const named = given instanceof Map && name !== undefined;
      if (!named && used >= values.length) throw new TemplateError("not enough arguments for format string");
      const value = named ? given.get(name) : values[used++];
      const written = writeValue(kind, value, precision === undefined ? undefined : Number(precision), budget);
      if (written === undefined) throw new TemplateError(`unsupported format character in ${whole}`);
      const signed = flags.includes("+") && "dif".includes(kind) && !written.startsWith("-") ? `+${written}` : written;
      const align = flags.includes("-") ? "<" : flags.includes("0") && kind !== "s" && kind !== "r" ? "=" : ">";
      return pad(signed, { width: Number(width), align, fill: align === "=" ? "0" : " " }, budget);
    },
  );
  if (used < values.length && !(given instanceof Map)) {
    throw new TemplateError("not all arguments converted during string formatting");
  }
  return text;
}

function writeValue(kind: string, value: Value, precision: number | undefined, budget: Budget): string | undefined {
  switch (kind) {
    case "s":
      return toText(value, budget).slice(0, precision);
    case "r":
      return representation(value, budget).slice(0, precision);
    case "d":
    case "i":
      return integerText(BigInt(typeof value === "bigint" ? value : Math.trunc(asNumber(value))), budget);
    case "x":
      return asNumber(value).toString(16);
    case "X":
      return asNumber(value).toString(16).toUpperCase();
    case "f":
    case "F":
      return asNumber(value).toFixed(Math.min(precision ?? 6, 100));
    case "e":
      return asNumber(value)
        .toExponential(Math.min(precision ?? 6, 100))
        .replace(/e([+-])(\d)$/, "e$10$2");
    default:
      return undefined;
  }
}

function asNumber(value: Value): number {
  if (value instanceof Float) return value.value;
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return Number(value);
  throw new TemplateError(`a number is required, not ${typeName(value)}`);
}

interface Padding {
  width: number;
  align: string;
  fill: string;
}

function pad(text: string, { width, align, fill }: Padding, budget: Budget): string {
  budget.make(Math.max(width, text.length));
  const missing = Math.max(0, width - text.length);
  if (align === "<") return text + fill.repeat(missing);
  if (align === "^") return fill.repeat(Math.floor(missing / 2)) + text + fill.repeat(Math.ceil(missing / 2));
  const sign = align === "=" && /^[-+]/.test(text) ? text.charAt(0) : "";
  return sign + fill.repeat(missing) + text.slice(sign.length);
}

/** Writes `format.format(…)` as Python does, without access to attributes and items of the values. */
export function formatBraces(format: string, args: Arguments, budget: Budget): string {
  let used = 0;
  return replaceWithin(budget, format, /\{\{|\}\}|\{(\w*)(?:!([rs]))?(?::([^{}]*))?\}|[{}]/g, (match) => {
    const [whole, name = "", conversion, spec = ""] = match;
    if (whole === "{{" || whole === "}}") return whole.charAt(0);
    if (whole === "{" || whole === "}") throw new TemplateError(`unsupported format string: ${format}`);
    const isIndex = /^\d*$/.test(name);
    const index = name === "" ? used++ : Number(name);
    if (isIndex ? index >= args.positional.length : !args.named.has(name)) {
      throw new TemplateError(`the format string needs a value for {${name}}`);
    }
    const value = isIndex ? args.positional[index] : args.named.get(name);
    return formatValue(conversion === "r" ? representation(value, budget) : value, spec, budget);
  });
}

function formatValue(value: Value, spec: string, budget: Budget): string {
  const parsed = /^(?:(.)?([<>=^]))?(\+)?(0)?(\d*)(,)?(?:\.(\d+))?([sdfxXe%])?$/u.exec(spec);
  if (!parsed) throw new TemplateError(`unsupported format specification ${JSON.stringify(spec)}`);
  const [, fill, align, plus, zero, width = "", comma, precision, kind] = parsed;
  const isText = typeof value === "string";
  const digits = precision === undefined ? undefined : Number(precision);
  let text: string;
  if (kind === "%") text = `${(asNumber(value) * 100).toFixed(digits ?? 6)}%`;
  else if (kind) text = writeValue(kind, value, digits, budget) ?? "";
  else if (value instanceof Float && digits !== undefined) text = floatText(Number(value.value.toPrecision(digits)));
  else text = toText(value, budget).slice(0, digits);
  if (comma) text = text.replace(/\d+/, (whole) => inThousands(whole, budget));
  if (plus && !text.startsWith("-")) text = `+${text}`;
  const chosen = { width: Number(width), align: align ?? (zero ? "=" : isText ? "<" : ">") };
  return pad(text, { ...chosen, fill: fill ?? (zero ? "0" : " ") }, budget);
}

/** Puts a comma in front of every three digits, counted from the end. */
function inThousands(digits: string, budget: Budget): string {
  budget.read(digits.length, 16);
  const first = digits.length % 3;
  const groups = digits.slice(first).match(/\d{3}/g) ?? [];
  return (first > 0 ? [digits.slice(0, first), ...groups] : groups).join(",");
}

function replaceWithin(
  budget: Budget,
  text: string,
  pattern: RegExp,
  replace: (match: RegExpExecArray) => string,
): string {
  let result = "";
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    budget.spend(1);
    result += text.slice(at, match.index) + replace(match);
    budget.checkLength(result.length);
    at = match.index + match[0].length;
  }
  return budget.text(result + text.slice(at));
}
