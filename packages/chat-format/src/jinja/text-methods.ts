import type { Budget } from "./budget.js";
import { formatBraces } from "./python-format.js";
import { bind, integerArgument, textArgument } from "./signature.js";
import { TemplateError } from "./template-error.js";
import { countPass } from "./operands.js";
import { replacementSteps } from "./python-text.js";
import {
  capitalize,
  centered,
  find,
  findLast,
  isLower,
  isUpper,
  lowerCase,
  occurrences,
  replaceText,
  splitAt,
  splitLines,
  splitSpaces,
  strip,
  upperCase,
} from "./text-operations.js";
import type { Arguments, Value } from "./values.js";
import { Tuple, codePoints, iterate, typeName } from "./values.js";
import { whiteSpace } from "./white-space.js";

type Method = (text: string, args: Arguments, budget: Budget) => Value;

function stripping(sides: { start?: boolean; end?: boolean }): Method {
  return (text, args, budget) => {
    const [set] = bind("strip", args, ["chars"]);
    return strip(text, set === undefined || set === null ? undefined : textArgument("strip", set), budget, sides);
  };
}

function split(text: string, args: Arguments, budget: Budget, { fromEnd = false } = {}): Value[] {
  const [separator, maxSplit] = bind("split", args, ["sep", "maxsplit"]);
  const limit = integerArgument("split", maxSplit, -1);
  if (separator === undefined || separator === null) return splitSpaces(text, limit, fromEnd, budget);
  const by = textArgument("split", separator);
  if (by === "") throw new TemplateError("empty separator");
  const pieces = splitAt(text, by, budget);
  if (limit < 0 || pieces.length <= limit + 1) return pieces;
  const kept = pieces.length - limit;
  return fromEnd
    ? [pieces.slice(0, kept).join(by), ...pieces.slice(kept)]
    : [...pieces.slice(0, limit), pieces.slice(limit).join(by)];
}

function affixed(name: "startsWith" | "endsWith"): Method {
  return (text, args, budget) => {
    const [affix] = bind(name.toLowerCase(), args, ["affix"], 1);
    const each = affix instanceof Tuple ? affix.items : [affix];
    countPass(each, budget);
    return each.some((item) => text[name](textArgument(name.toLowerCase(), item)));
  };
}

function position(name: "indexOf" | "lastIndexOf", { orThrow }: { orThrow: boolean }): Method {
  return (text, args, budget) => {
    const [part, start] = bind("find", args, ["sub", "start"], 1);
    const sub = textArgument("find", part);
    const from = integerArgument("find", start, 0);
    const at = name === "indexOf" ? find(text, sub, budget, from) : findLast(text, sub, budget);
    if (at < 0 && orThrow) throw new TemplateError("substring not found");
    return at < 0 ? -1 : codePoints(text.slice(0, at));
  };
}

function partition(last: boolean): Method {
  return (text, args, budget) => {
    const [separator] = bind("partition", args, ["sep"], 1);
    const by = textArgument("partition", separator);
    const at = last ? findLast(text, by, budget) : find(text, by, budget);
    if (at < 0) return new Tuple(last ? ["", "", text] : [text, "", ""]);
    return new Tuple([text.slice(0, at), by, text.slice(at + by.length)]);
  };
}

function padded(place: (text: string, fill: string, missing: number) => string): Method {
  return (text, args, budget) => {
    const [width, fill] = bind("ljust", args, ["width", "fillchar"], 1);
    const missing = integerArgument("ljust", width, 0) - text.length;
    const character = fill === undefined ? " " : textArgument("ljust", fill);
    if (character.length > 2 || codePoints(character) !== 1) {
      throw new TemplateError("the fill character must be exactly one character long");
    }
    budget.make(text.length + Math.max(0, missing) * character.length);
    return missing > 0 ? place(text, character, missing) : text;
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
  return (text, _args, budget) => {
    budget.read(text.length, 16);
    return pattern.test(text);
  };
}

const plain =
  (make: (text: string, budget: Budget) => string): Method =>
  (text, _args, budget) =>
    budget.text(make(text, budget));

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
      const items = iterate(bind("join", args, ["iterable"], 1)[0], budget).map((item) => {
        if (typeof item === "string") return item;
        throw new TemplateError(`join: expected str instances, ${typeName(item)} found`);
      });
      budget.make(items.reduce((sum, item) => sum + item.length + text.length, 0));
      return items.join(text);
    },
  ],
  [
    "count",
    (text, args, budget) => occurrences(text, textArgument("count", bind("count", args, ["sub"], 1)[0]), budget),
  ],
  [
    "zfill",
    (text, args, budget) => {
      const width = integerArgument("zfill", bind("zfill", args, ["width"], 1)[0], 0);
      budget.make(Math.max(width, text.length));
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
  ["upper", plain(upperCase)],
  ["lower", plain(lowerCase)],
  ["casefold", plain(lowerCase)],
  ["capitalize", plain(capitalize)],
  [
    "title",
    plain((text, budget) =>
      text.replaceAll(/\p{L}+/gu, (word) => {
        budget.spend(replacementSteps);
        return capitalize(word, budget);
      }),
    ),
  ],
  [
    "swapcase",
    plain((text, budget) => {
      budget.spend(text.length * replacementSteps * 4);
      return Array.from(text, (each) => (each === each.toUpperCase() ? each.toLowerCase() : each.toUpperCase())).join(
        "",
      );
    }),
  ],
  ["isdigit", consistsOf(/^\p{Nd}+$/u)],
  ["isdecimal", consistsOf(/^\p{Nd}+$/u)],
  ["isnumeric", consistsOf(/^\p{N}+$/u)],
  ["isalpha", consistsOf(/^\p{L}+$/u)],
  ["isalnum", consistsOf(/^[\p{L}\p{N}]+$/u)],
  ["isspace", consistsOf(new RegExp(`^[${whiteSpace}]+$`))],
  ["isupper", (text, _args, budget) => isUpper(text, budget)],
  ["islower", (text, _args, budget) => isLower(text, budget)],
]);
