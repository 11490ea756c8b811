import { expect, test } from "vitest";
import { templateLimits } from "../template-limits.js";
import { renderTemplate } from "../template-render.js";
import { filters } from "./filters.js";
import { textMethods } from "./text-methods.js";

/** What expressions of the tables work on. */
const variables = {
  text: "aB é<9 ".repeat(40_000),
  long: "a".repeat(150_000),
  words: "a b ".repeat(50_000),
  part: `${"a".repeat(5000)}b${"a".repeat(5000)}`,
  digits: "1".repeat(200_000),
  list: Array.from({ length: 20_000 }, (_, index) => index),
  texts: Array.from({ length: 2000 }, (_, index) => `${"same beginning".repeat(20)}${index}`),
  dicts: Array.from({ length: 2000 }, (_, index) => ({ key: index % 100, text: "x".repeat(100) })),
  object: Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key ${index}`, index])),
};

/** Evaluates an expression so often that its work exceeds the limit. Throws the reason. */
function repeat(expression: string, times = 2000): string {
  const template = `{% for i in range(${times}) %}{% set r = ${expression} %}{% endfor %}`;
  return renderTemplate(template, variables, { limits: { ...templateLimits, steps: 100_000 } });
}

const plainFilters = ["abs", "d", "default", "float", "int", "round", "safe"];
const filterExpressions: Record<string, string> = {
  attr: "text | attr(text)",
  batch: "list | batch(3)",
  capitalize: "text | capitalize",
  center: "text | center(300000)",
  count: "text | count",
  dictsort: "object | dictsort",
  e: "text | e",
  escape: "text | escape",
  first: "words | length",
  format: "'%s' | format(text)",
  groupby: "dicts | groupby('key')",
  indent: "text | indent(1)",
  items: "object | items",
  join: "texts | join(', ')",
  last: "object | last",
  length: "text | length",
  list: "list | list",
  lower: "text | lower",
  map: "list | map('abs')",
  max: "texts | max",
  min: "texts | min",
  pprint: "text | pprint",
  reject: "list | reject('odd')",
  rejectattr: "dicts | rejectattr('key')",
  replace: "text | replace('a', 'b')",
  reverse: "list | reverse",
  select: "list | select('odd')",
  selectattr: "dicts | selectattr('key')",
  slice: "list | slice(3)",
  sort: "texts | sort",
  string: "text | string",
  sum: "list | sum",
  title: "text | title",
  tojson: "text | tojson",
  trim: "text | trim",
  truncate: "text | truncate(200000)",
  unique: "texts | unique",
  upper: "text | upper",
  urlencode: "text | urlencode",
  wordcount: "text | wordcount",
};

test("every filter is in the table", () => {
  const known = [...plainFilters, ...Object.keys(filterExpressions)];
  expect(known.toSorted()).toEqual([...filters.keys()].toSorted());
});

const methodArguments: Record<string, string> = {
  count: "'a'",
  endswith: "text",
  find: "'zz'",
  index: "'9'",
  join: "texts",
  center: "300000",
  ljust: "300000",
  rjust: "300000",
  zfill: "300000",
  partition: "'9'",
  removeprefix: "text",
  removesuffix: "text",
  replace: "'a', 'b'",
  rfind: "'zz'",
  rindex: "'a'",
  rpartition: "'a'",
  rsplit: "'9', 5",
  split: "'9'",
  startswith: "text",
};
const methods = [...textMethods.keys()].map((name): [string, string] => [
  name,
  `${name === "join" ? "' '" : "text"}.${name}(${methodArguments[name] ?? ""})`,
]);

const others: [string, string][] = [
  ["+", "text + text"],
  ["~", "text ~ text"],
  ["*", "'ab' * 100000"],
  ["* of a list", "[1] * 100000"],
  ["+ of lists", "list + list"],
  ["%", "'%s' % text"],
  ["==", "text == (text ~ '')"],
  ["<", "text < (text ~ '')"],
  ["in a text", "'zz' in text"],
  ["in a list", "-1 in list"],
  ["in a dict", "text in object"],
  ["slice of a text", "text[1:]"],
  ["slice of a text with steps", "text[::2]"],
  ["slice of a list", "list[1:]"],
  ["item of a text", "text[0]"],
  ["item by a text", "object[text]"],
  ["dict of a text", "{text: 1}"],
  ["call with a list", "dict(**object)"],
  ["namespace", "namespace(**object)"],
  ["range", "range(9999)"],
  ["strftime_now", "strftime_now(text)"],
  ["keys", "object.keys()"],
  ["values", "object.values()"],
  ["items", "object.items()"],
  ["copy of a dict", "object.copy()"],
  ["copy of a list", "list.copy()"],
  ["index of a list", "list.index(19999)"],
  ["count of a list", "list.count(1)"],
  ["is sequence", "text is sequence"],
  ["is upper", "text is upper"],
  ["is in", "-1 is in list"],
  ["a path", "dicts | map(attribute='key.' ~ text) | list"],
  ["large integers", "2 ** 4000 * 2 ** 4000"],
  ["text of a large integer", "(2 ** 4000) | string"],
];

test.each([...Object.entries(filterExpressions), ...methods, ...others])(
  "what %s reads and makes is counted: %s",
  (_, expression) => {
    expect(() => repeat(expression)).toThrow("steps of work");
  },
);

/** Each took quadratic time or more. */
test.each([
  ["a long part", "part.replace('b', 'c') in long"],
  ["a long part from the end", "long.rfind(part[:5001])"],
  ["splitting at a long part", "long.split(part) | length"],
  ["replacing a long part", "long | replace(part, 'c') | length"],
  ["counting a long part", "long.count(part)"],
  ["digits that are not a number", "(digits ~ 'x') | float"],
  ["digits that are not an integer", "(digits ~ 'x') | int"],
  ["the digits of an integer", "digits | int"],
  ["zeros of a format", "('%' ~ digits.replace('1', '0') ~ '!') | format"],
  ["a thousand separators", "'{:,}'.format(digits) | length"],
  ["a long fill character", "'a'.ljust(100000, text)"],
])("%s takes linear time", (_, expression) => {
  const source = `{{ ${expression} }}`;
  const began = performance.now();
  try {
    renderTemplate(source, variables);
  } catch (error) {
    expect((error as Error).name).toMatch(/^Template/);
  }
  expect(performance.now() - began).toBeLessThan(5000);
});

test("a variable of the outermost block is as expensive as its distance", () => {
  const source = `{% set x = 1 %}${"{% for a in [1] %}".repeat(150)}{% for i in range(9999) %}{{ x }}{% endfor %}${"{% endfor %}".repeat(150)}`;
  expect(() => renderTemplate(source, {}, { limits: { ...templateLimits, steps: 100_000 } })).toThrow("steps of work");
});

test("a conversation of a million tokens is rendered", () => {
  const messages = Array.from({ length: 2000 }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: ' words and <tags>, "quotes" '.repeat(75),
  }));
  const source = `{% for m in messages %}{% set c = m.content | trim %}{% if '</think>' in c %}{% set c = c.split('</think>')[-1] %}{% endif %}<|{{ m.role }}|>{{ c.replace('<', '&lt;') }}{{ m | tojson }}{% endfor %}`;
  expect(renderTemplate(source, { messages: messages.slice(0, 900) })).toContain("<|user|>words");
});
