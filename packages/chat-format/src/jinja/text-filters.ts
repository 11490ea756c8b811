import type { Budget } from "./budget.js";
import type { Filter } from "./filter-type.js";
import { formatPercent } from "./python-format.js";
import type { JsonStyle } from "./python-text.js";
import { replacementSteps, representation, toJson, toText } from "./python-text.js";
import { bind, integerArgument, textArgument } from "./signature.js";
import { TemplateError } from "./template-error.js";
import {
  capitalize,
  centered,
  countMatches,
  lowerCase,
  occurrences,
  replaceText,
  strip,
  upperCase,
} from "./text-operations.js";
import type { Value } from "./values.js";
import { Tuple, isTrue, iterate, typeName } from "./values.js";
import { whiteSpace } from "./white-space.js";

const textFilter =
  (make: (text: string, budget: Budget) => string): Filter =>
  (value, _args, { budget }) =>
    budget.text(make(toText(value, budget), budget));

const tojson: Filter = (value, args, { budget }) => {
  const [ensureAscii, indent, separators, sortKeys] = bind("tojson", args, [
    "ensure_ascii",
    "indent",
    "separators",
    "sort_keys",
  ]);
  const style: JsonStyle = {
    ensureAscii: isTrue(ensureAscii),
    indent: indentation(indent),
    separators:
      separators === undefined || separators === null ? defaultSeparators(indent) : pairOf(separators, budget),
    sortKeys: isTrue(sortKeys),
  };
  budget.make(style.indent?.length ?? 0);
  return toJson(value, style, budget);
};

function indentation(indent: Value): string | undefined {
  if (indent === undefined || indent === null) return undefined;
  if (typeof indent === "string") return indent;
  const width = integerArgument("tojson", indent, 0);
  return " ".repeat(Math.min(Math.max(width, 0), 1 << 24));
}

function defaultSeparators(indent: Value): [string, string] {
  return [indent === undefined || indent === null ? ", " : ",", ": "];
}

function pairOf(separators: Value, budget: Budget): [string, string] {
  const pair = iterate(separators, budget);
  const [item, key] = pair;
  if (typeof item !== "string" || typeof key !== "string" || pair.length > 2) {
    throw new TemplateError("tojson: separators must be two strings");
  }
  return [item, key];
}

const indent: Filter = (value, args, { budget }) => {
  const [width, first, blank] = bind("indent", args, ["width", "first", "blank"]);
  const count = typeof width === "string" ? 0 : integerArgument("indent", width, 4);
  budget.make(count);
  const margin = typeof width === "string" ? width : " ".repeat(Math.max(0, count));
  const text = toText(value, budget);
  const breaks = occurrences(text, "\n", budget);
  budget.make(text.length + (breaks + 1) * margin.length);
  budget.makeItems(breaks + 1);
  const lines = text.split("\n");
  const indented = lines.map((line, at) =>
    at === 0 ? (isTrue(first) ? margin + line : line) : line !== "" || isTrue(blank) ? margin + line : line,
  );
  return indented.join("\n");
};

const replace: Filter = (value, args, { budget }) => {
  const [old, by, count] = bind("replace", args, ["old", "new", "count"], 2);
  const texts = [value, old, by].map((each) => toText(each, budget));
  const [text = "", from = "", to = ""] = texts;
  return replaceText(text, from, to, integerArgument("replace", count, -1), budget);
};

const truncate: Filter = (value, args, { budget }) => {
  const [length, kill, end, leeway] = bind("truncate", args, ["length", "killwords", "end", "leeway"]);
  const text = toText(value, budget);
  const limit = integerArgument("truncate", length, 255);
  const ending = end === undefined ? "..." : textArgument("truncate", end);
  if (text.length <= limit + integerArgument("truncate", leeway, 5)) return text;
  const cut = text.slice(0, Math.max(0, limit - ending.length));
  if (isTrue(kill)) return cut + ending;
  return (cut.includes(" ") ? cut.slice(0, cut.lastIndexOf(" ")) : cut) + ending;
};

const trim: Filter = (value, args, { budget }) => {
  const [set] = bind("trim", args, ["chars"]);
  return strip(
    toText(value, budget),
    set === undefined || set === null ? undefined : textArgument("trim", set),
    budget,
  );
};

const format: Filter = (value, { positional, named }, { budget }) => {
  if (named.size > 0 && positional.length > 0) throw new TemplateError("format takes positional or named values");
  return formatPercent(toText(value, budget), named.size > 0 ? new Map(named) : new Tuple(positional), budget);
};

const center: Filter = (value, args, { budget }) => {
  const text = toText(value, budget);
  const missing = integerArgument("center", bind("center", args, ["width"])[0], 80) - text.length;
  budget.make(text.length + Math.max(0, missing));
  return missing > 0 ? centered(text, " ", missing) : text;
};

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;" };

const escape: Filter = (value, _args, { budget }) => {
  const text = toText(value, budget);
  const escaped = text.replaceAll(/[&<>"']/g, (character) => {
    budget.spend(replacementSteps);
    return entities[character] ?? character;
  });
  return budget.text(escaped);
};

const urlencode: Filter = (value, _args, { budget }) => {
  if (typeof value !== "string") throw new TemplateError(`urlencode takes text, not ${typeName(value)}`);
  budget.read(value.length, 128);
  const encode = (text: string): string =>
    encodeURIComponent(text).replaceAll(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
  return budget.text(encode(value).replaceAll("%2F", "/"));
};

const wordStart = new RegExp(`(^|[-${whiteSpace}({\\[<])([^-${whiteSpace}({\\[<]*)`, "g");

/** The filters of text. */
export const textFilters: [string, Filter][] = [
  ["tojson", tojson],
  ["indent", indent],
  ["replace", replace],
  ["truncate", truncate],
  ["trim", trim],
  ["format", format],
  ["center", center],
  ["escape", escape],
  ["e", escape],
  ["urlencode", urlencode],
  ["upper", textFilter(upperCase)],
  ["lower", textFilter(lowerCase)],
  ["capitalize", textFilter(capitalize)],
  [
    "title",
    textFilter((text, budget) =>
      text.replaceAll(wordStart, (_, before: string, word: string) => {
        budget.spend(replacementSteps);
        return before + capitalize(word, budget);
      }),
    ),
  ],
  ["string", (value, _args, { budget }) => toText(value, budget)],
  ["safe", (value) => value],
  ["pprint", (value, _args, { budget }) => representation(value, budget)],
  ["wordcount", (value, _args, { budget }) => countMatches(toText(value, budget), /[\p{L}\p{N}_]+/gu, budget)],
];
