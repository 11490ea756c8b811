import type { Budget } from "./budget.js";
import { whiteSpace } from "./lexer.js";
import { formatBraces } from "./python-format.js";
import { bind, integerArgument, textArgument } from "./signature.js";
import { TemplateError } from "./template-error.js";
import type { Arguments, Value } from "./values.js";
import { Tuple, hasSurrogates, iterate, typeName } from "./values.js";

type Method = (text: string, args: Arguments, budget: Budget) => Value;

const spaces = new RegExp(`[${whiteSpace}]+`, "g");
const leading = new RegExp(`^[${whiteSpace}]+`);
const trailing = new RegExp(`[${whiteSpace}]+$`);

/** Removes characters at the ends as `str.strip` does: white space, or the characters of a set. */
export function strip(text: string, set: string | undefined, { start = true, end = true } = {}): string {
  if (set === undefined) {
    const begun = start ? text.replace(leading, "") : text;
    return end ? begun.replace(trailing, "") : begun;
  }
  const characters = new Set(set);
  const points = hasSurrogates(text) ? Array.from(text) : text;
  let from = 0;
  let to = points.length;
  if (start) while (from < to && characters.has(points[from] ?? "")) from++;
  if (end) while (to > from && characters.has(points[to - 1] ?? "")) to--;
  const kept = points.slice(from, to);
  return typeof kept === "string" ? kept : kept.join("");
}

function stripping(sides: { start?: boolean; end?: boolean }): Method {
  return (text, args) => {
    const [set] = bind("strip", args, ["chars"]);
    return strip(text, set === undefined || set === null ? undefined : textArgument("strip", set), sides);
  };
}

function split(text: string, args: Arguments, budget: Budget, { fromEnd = false } = {}): Value[] {
  const [separator, maxSplit] = bind("split", args, ["sep", "maxsplit"]);
  const limit = integerArgument("split", maxSplit, -1);
  if (separator === undefined || separator === null) return splitSpaces(text, limit, fromEnd, budget);
  const by = textArgument("split", separator);
  if (by === "") throw new TemplateError("empty separator");
  budget.checkItems(occurrences(text, by) + 1);
  const pieces = text.split(by);
  if (limit < 0 || pieces.length <= limit + 1) return budget.list(pieces);
  const kept = pieces.length - limit;
  return fromEnd
    ? [pieces.slice(0, kept).join(by), ...pieces.slice(kept)]
    : [...pieces.slice(0, limit), pieces.slice(limit).join(by)];
}

/** Splits at white space. White space beyond the last split of a limited number is kept. */
function splitSpaces(text: string, limit: number, fromEnd: boolean, budget: Budget): Value[] {
  const words = strip(text, undefined);
  if (words === "") return [];
  const gaps = [...words.matchAll(spaces)];
  budget.checkItems(gaps.length + 1);
  const limited = limit >= 0 && limit < gaps.length;
  const used = !limited ? gaps : fromEnd ? gaps.slice(gaps.length - limit) : gaps.slice(0, limit);
  const whole = limited ? strip(text, undefined, fromEnd ? { start: false } : { end: false }) : words;
  const offset = fromEnd ? whole.length - words.length : 0;
  const pieces: string[] = [];
  let at = 0;
  for (const gap of used) {
    pieces.push(whole.slice(at, offset + gap.index));
    at = offset + gap.index + gap[0].length;
  }
  pieces.push(whole.slice(at));
  return budget.list(pieces);
}

export function occurrences(text: string, part: string): number {
  if (part === "") return text.length + 1;
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count++;
  return count;
}

/** Replaces as `str.replace` does; an empty `old` matches between all characters. */
export function replaceText(text: string, old: string, by: string, count: number, budget: Budget): string {
  const times = count < 0 ? occurrences(text, old) : Math.min(count, occurrences(text, old));
  budget.checkLength(text.length + times * (by.length - old.length));
  if (old === "") {
    const points = Array.from(text);
    const before = points.map((character, at) => (at < times ? by + character : character)).join("");
    return times > points.length ? before + by : before;
  }
  let result = "";
  let at = 0;
  for (let done = 0; done < times; done++) {
    const found = text.indexOf(old, at);
    result += text.slice(at, found) + by;
    at = found + old.length;
  }
  return result + text.slice(at);
}

function affixed(name: "startsWith" | "endsWith"): Method {
  return (text, args) => {
    const [affix] = bind(name.toLowerCase(), args, ["affix"], 1);
    const each = affix instanceof Tuple ? affix.items : [affix];
    return each.some((item) => text[name](textArgument(name.toLowerCase(), item)));
  };
}

function position(name: "indexOf" | "lastIndexOf", { orThrow }: { orThrow: boolean }): Method {
  return (text, args) => {
    const [part, start] = bind("find", args, ["sub", "start"], 1);
    const sub = textArgument("find", part);
    const from = integerArgument("find", start, 0);
    const at = name === "indexOf" ? text.indexOf(sub, from) : text.lastIndexOf(sub);
    if (at < 0 && orThrow) throw new TemplateError("substring not found");
    return at < 0 ? -1 : Array.from(text.slice(0, at)).length;
  };
}

function partition(last: boolean): Method {
  return (text, args) => {
    const [separator] = bind("partition", args, ["sep"], 1);
    const by = textArgument("partition", separator);
    const at = last ? text.lastIndexOf(by) : text.indexOf(by);
    if (at < 0) return new Tuple(last ? ["", "", text] : [text, "", ""]);
    return new Tuple([text.slice(0, at), by, text.slice(at + by.length)]);
  };
}

function padded(place: (text: string, fill: string, missing: number) => string): Method {
  return (text, args, budget) => {
    const [width, fill] = bind("ljust", args, ["width", "fillchar"], 1);
    const missing = integerArgument("ljust", width, 0) - text.length;
    budget.checkLength(text.length + missing);
    return missing > 0 ? place(text, fill === undefined ? " " : textArgument("ljust", fill), missing) : text;
  };
}

export function centered(text: string, fill: string, missing: number): string {
  // Python puts the odd character on the left if the width is odd.
  const left = Math.floor(missing / 2) + (missing & (text.length + missing) & 1);
  return fill.repeat(left) + text + fill.repeat(missing - left);
}

export function capitalize(text: string): string {
  const [first = "", ...rest] = text;
  return first.toUpperCase() + rest.join("").toLowerCase();
}

function without(name: "removeprefix" | "removesuffix"): Method {
  return (text, args) => {
    const part = textArgument(name, bind(name, args, ["part"], 1)[0]);
    if (name === "removeprefix") return text.startsWith(part) ? text.slice(part.length) : text;
    return part !== "" && text.endsWith(part) ? text.slice(0, -part.length) : text;
  };
}

function consistsOf(pattern: RegExp): Method {
  return (text) => pattern.test(text);
}

const plain =
  (make: (text: string) => string): Method =>
  (text, _args, budget) =>
    budget.text(make(text));

const lineEnd = "\\r\\n|[\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029]";

function splitLines(text: string, args: Arguments, budget: Budget): Value[] {
  const [keep] = bind("splitlines", args, ["keepends"]);
  const ends = [...text.matchAll(new RegExp(lineEnd, "g"))];
  budget.checkItems(ends.length + 1);
  let at = 0;
  const lines = ends.map((end) => {
    const next = end.index + end[0].length;
    const line = text.slice(at, keep === true ? next : end.index);
    at = next;
    return line;
  });
  return budget.list(at < text.length ? [...lines, text.slice(at)] : lines);
}

/** The methods of `str`. */
export const textMethods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ["strip", stripping({})],
  ["lstrip", stripping({ end: false })],
  ["rstrip", stripping({ start: false })],
  ["split", split],
  ["rsplit", (text, args, budget) => split(text, args, budget, { fromEnd: true })],
  ["splitlines", splitLines],
  [
    "replace",
    (text, args, budget) => {
      const [old, by, count] = bind("replace", args, ["old", "new", "count"], 2);
      const times = integerArgument("replace", count, -1);
      return replaceText(text, textArgument("replace", old), textArgument("replace", by), times, budget);
    },
  ],
  [
    "join",
    (text, args, budget) => {
      const items = iterate(bind("join", args, ["iterable"], 1)[0]).map((item) => {
        if (typeof item === "string") return item;
        throw new TemplateError(`join: expected str instances, ${typeName(item)} found`);
      });
      budget.checkLength(items.reduce((sum, item) => sum + item.length + text.length, 0));
      return items.join(text);
    },
  ],
  ["count", (text, args) => occurrences(text, textArgument("count", bind("count", args, ["sub"], 1)[0]))],
  [
    "zfill",
    (text, args, budget) => {
      const width = integerArgument("zfill", bind("zfill", args, ["width"], 1)[0], 0);
      budget.checkLength(width);
      const sign = /^[-+]/.test(text) ? text.charAt(0) : "";
      return sign + text.slice(sign.length).padStart(width - sign.length, "0");
    },
  ],
  ["format", formatBraces],
  ["startswith", affixed("startsWith")],
  ["endswith", affixed("endsWith")],
  ["find", position("indexOf", { orThrow: false })],
  ["rfind", position("lastIndexOf", { orThrow: false })],
  ["index", position("indexOf", { orThrow: true })],
  ["rindex", position("lastIndexOf", { orThrow: true })],
  ["partition", partition(false)],
  ["rpartition", partition(true)],
  ["ljust", padded((text, fill, missing) => text + fill.repeat(missing))],
  ["rjust", padded((text, fill, missing) => fill.repeat(missing) + text)],
  ["center", padded(centered)],
  ["removeprefix", without("removeprefix")],
  ["removesuffix", without("removesuffix")],
  ["upper", plain((text) => text.toUpperCase())],
  ["lower", plain((text) => text.toLowerCase())],
  ["casefold", plain((text) => text.toLowerCase())],
  ["capitalize", plain(capitalize)],
  [
    "title",
    plain((text) =>
      text.replaceAll(/\p{L}+/gu, (word) => {
        const [first = "", ...rest] = word;
        return first.toUpperCase() + rest.join("").toLowerCase();
      }),
    ),
  ],
  [
    "swapcase",
    plain((text) =>
      Array.from(text, (each) => (each === each.toUpperCase() ? each.toLowerCase() : each.toUpperCase())).join(""),
    ),
  ],
  ["isdigit", consistsOf(/^\p{Nd}+$/u)],
  ["isdecimal", consistsOf(/^\p{Nd}+$/u)],
  ["isnumeric", consistsOf(/^\p{N}+$/u)],
  ["isalpha", consistsOf(/^\p{L}+$/u)],
  ["isalnum", consistsOf(/^[\p{L}\p{N}]+$/u)],
  ["isspace", consistsOf(new RegExp(`^[${whiteSpace}]+$`))],
  ["isupper", (text) => text !== text.toLowerCase() && text === text.toUpperCase()],
  ["islower", (text) => text !== text.toUpperCase() && text === text.toLowerCase()],
]);
