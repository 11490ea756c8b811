import type { Budget } from "./budget.js";
import { formatBraces } from "./python-format.js";
import { bind, integerArgument, textArgument } from "./signature.js";
import { TemplateError } from "./template-error.js";
import { capitalize, centered, occurrences, replaceText, splitLines, splitSpaces, strip } from "./text-operations.js";
import type { Arguments, Value } from "./values.js";
import { Tuple, iterate, typeName } from "./values.js";
import { whiteSpace } from "./white-space.js";

type Method = (text: string, args: Arguments, budget: Budget) => Value;

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

/** The methods of `str`. */
export const textMethods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ["strip", stripping({})],
  ["lstrip", stripping({ end: false })],
  ["rstrip", stripping({ start: false })],
  ["split", split],
  ["rsplit", (text, args, budget) => split(text, args, budget, { fromEnd: true })],
  ["splitlines", (text, args, budget) => splitLines(text, bind("splitlines", args, ["keepends"])[0] === true, budget)],
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
