import type { Budget } from "./budget.js";
import type { Filter, FilterContext } from "./filter-type.js";
import { attributeOf, pathOf } from "./members.js";
import { binary, concatenated, equal, order } from "./operators.js";
import { toText } from "./python-text.js";
import { lowerCase } from "./text-operations.js";
import { bind, integerArgument, textArgument } from "./signature.js";
import { TemplateError } from "./template-error.js";
import { runTest } from "./tests.js";
import type { Value } from "./values.js";
import { Generator, Tuple, isTrue, iterate, lengthOf, typeName } from "./values.js";

/** Text is compared without regard to case, as Jinja's filters do by default. */
function sortKey(value: Value, caseSensitive: Value, budget: Budget): Value {
  return typeof value === "string" && !isTrue(caseSensitive) ? lowerCase(value, budget) : value;
}

function sorted(items: readonly Value[], keyOf: (item: Value) => Value, reverse: Value, budget: Budget): Value[] {
  const keyed = budget.list(items).map((item) => ({ item, key: keyOf(item) }));
  const sign = isTrue(reverse) ? -1 : 1;
  return keyed.toSorted((a, b) => sign * order(a.key, b.key, budget)).map(({ item }) => item);
}

const sort: Filter = (value, args, { budget }) => {
  const [reverse, caseSensitive, attribute] = bind("sort", args, ["reverse", "case_sensitive", "attribute"]);
  const paths = typeof attribute === "string" ? attribute.split(",") : undefined;
  const keyOf = (item: Value): Value => {
    const keys = (paths ?? []).map((path) => sortKey(pathOf(item, path, budget), caseSensitive, budget));
    return paths ? new Tuple(keys) : sortKey(item, caseSensitive, budget);
  };
  return sorted(iterate(value, budget), keyOf, reverse, budget);
};

const dictsort: Filter = (value, args, { budget }) => {
  const [caseSensitive, by, reverse] = bind("dictsort", args, ["case_sensitive", "by", "reverse"]);
  if (!(value instanceof Map)) throw new TemplateError(`dictsort takes a dict, not ${typeName(value)}`);
  const at = by === "value" ? 1 : 0;
  budget.makeEntries(value.size);
  const pairs = Array.from(value, (pair) => new Tuple(pair));
  return sorted(pairs, (pair) => sortKey((pair as Tuple).items[at], caseSensitive, budget), reverse, budget);
};

function extreme(name: string, sign: number): Filter {
  return (value, args, { budget }) => {
    const [caseSensitive, attribute] = bind(name, args, ["case_sensitive", "attribute"]);
    const keyOf = (item: Value): Value =>
      sortKey(attribute === undefined ? item : pathOf(item, attribute, budget), caseSensitive, budget);
    const items = budget.list(iterate(value, budget));
    if (items.length === 0) return undefined;
    return items.reduce((best, item) => (sign * order(keyOf(item), keyOf(best), budget) > 0 ? item : best));
  };
}

const unique: Filter = (value, args, { budget }) => {
  const [caseSensitive, attribute] = bind("unique", args, ["case_sensitive", "attribute"]);
  const seen: Value[] = [];
  const kept = budget.list(iterate(value, budget)).filter((item) => {
    const key = sortKey(attribute === undefined ? item : pathOf(item, attribute, budget), caseSensitive, budget);
    const isNew = !seen.some((each) => equal(each, key, budget));
    if (isNew) seen.push(key);
    return isNew;
  });
  return new Generator(kept);
};

const groupby: Filter = (value, args, { budget }) => {
  const [attribute, fallback, caseSensitive] = bind("groupby", args, ["attribute", "default", "case_sensitive"], 1);
  const keyOf = (item: Value): Value => pathOf(item, attribute, budget) ?? fallback;
  const compared = (item: Value): Value => sortKey(keyOf(item), caseSensitive, budget);
  const groups: { key: Value; items: Value[] }[] = [];
  for (const item of sorted(iterate(value, budget), compared, false, budget)) {
    const last = groups.at(-1);
    if (last && equal(sortKey(last.key, caseSensitive, budget), compared(item), budget)) last.items.push(item);
    else groups.push({ key: keyOf(item), items: [item] });
  }
  return groups.map(({ key, items }) => new Tuple([key, items]));
};

const map: Filter = (value, args, context) => {
  const { budget } = context;
  if (!isTrue(value)) return new Generator([]);
  const attribute = args.named.get("attribute");
  if (attribute !== undefined) {
    const fallback = args.named.get("default");
    return new Generator(
      budget.list(iterate(value, budget)).map((item) => pathOf(item, attribute, budget) ?? fallback),
    );
  }
  const [name, ...positional] = args.positional;
  const filter = textArgument("map", name);
  const inner = { positional, named: args.named };
  return new Generator(budget.list(iterate(value, budget)).map((item) => context.filter(filter, item, inner)));
};

function selecting({ attribute, keep }: { attribute: boolean; keep: boolean }): Filter {
  return (value, { positional: given, named }, { budget }) => {
    if (!isTrue(value)) return new Generator([]);
    const path = attribute ? given[0] : undefined;
    const [test, ...positional] = attribute ? given.slice(1) : given;
    const kept = budget.list(iterate(value, budget)).filter((item) => {
      const tested = attribute ? pathOf(item, path, budget) : item;
      const passes =
        test === undefined
          ? isTrue(tested)
          : runTest(textArgument("select", test), tested, { positional, named }, budget);
      return passes === keep;
    });
    return new Generator(kept);
  };
}

const join: Filter = (value, args, { budget }) => {
  const [separator, attribute] = bind("join", args, ["d", "attribute"]);
  const by = toText(separator, budget);
  const items = budget
    .list(iterate(value, budget))
    .map((item) => toText(attribute === undefined ? item : pathOf(item, attribute, budget), budget));
  budget.make(items.reduce((sum, item) => sum + item.length + by.length, 0));
  return items.join(by);
};

const sum: Filter = (value, args, { budget }) => {
  const [attribute, start] = bind("sum", args, ["attribute", "start"]);
  const items = budget
    .list(iterate(value, budget))
    .map((item) => (attribute === undefined || attribute === null ? item : pathOf(item, attribute, budget)));
  return items.reduce((total, item) => binary("+", total, item, budget), start ?? 0);
};

const first: Filter = (value, _args, { budget }) => iterate(value, budget)[0];
const last: Filter = (value, _args, { budget }) => iterate(value, budget).at(-1);

const reverse: Filter = (value, _args, { budget }) => {
  const items = budget.list(iterate(value, budget)).toReversed();
  return typeof value === "string" ? concatenated(items, budget) : new Generator(items);
};

const length: Filter = (value, _args, { budget }) => {
  const count = lengthOf(value, budget);
  if (count === undefined) throw new TemplateError(`object of type '${typeName(value)}' has no len()`);
  return count;
};

const items: Filter = (value, _args, context: FilterContext) => {
  if (value === undefined) return new Generator([]);
  if (!(value instanceof Map)) throw new TemplateError("Can only get item pairs from a mapping.");
  context.budget.makeEntries(value.size);
  return new Generator(Array.from(value, (pair) => new Tuple(pair)));
};

function batches(list: readonly Value[], size: number, fill: Value): Value[] {
  if (size < 1) throw new TemplateError("batch takes a positive number");
  const rows = Array.from({ length: Math.ceil(list.length / size) }, (_, at) =>
    list.slice(at * size, at * size + size),
  );
  return rows.map((row) =>
    fill === undefined || fill === null ? row : [...row, ...Array.from({ length: size - row.length }, () => fill)],
  );
}

const batch: Filter = (value, args, { budget }) => {
  const [count, fill] = bind("batch", args, ["linecount", "fill_with"], 1);
  const size = integerArgument("batch", count, 1);
  budget.makeItems(size);
  return new Generator(batches(budget.list(iterate(value, budget)), size, fill));
};

const slice: Filter = (value, args, { budget }) => {
  const [count, fill] = bind("slice", args, ["slices", "fill_with"], 1);
  const list = budget.list(iterate(value, budget));
  const slices = integerArgument("slice", count, 1);
  budget.makeItems(slices);
  const base = Math.floor(list.length / slices);
  const larger = list.length % slices;
  let at = 0;
  const rows = Array.from({ length: slices }, (_, index): Value => {
    const row = list.slice(at, (at += base + (index < larger ? 1 : 0)));
    return fill !== undefined && fill !== null && index >= larger ? [...row, fill] : [...row];
  });
  return new Generator(rows);
};

/** The filters of lists and dicts. */
export const listFilters: [string, Filter][] = [
  ["sort", sort],
  ["dictsort", dictsort],
  ["max", extreme("max", 1)],
  ["min", extreme("min", -1)],
  ["unique", unique],
  ["groupby", groupby],
  ["map", map],
  ["select", selecting({ attribute: false, keep: true })],
  ["reject", selecting({ attribute: false, keep: false })],
  ["selectattr", selecting({ attribute: true, keep: true })],
  ["rejectattr", selecting({ attribute: true, keep: false })],
  ["join", join],
  ["sum", sum],
  ["first", first],
  ["last", last],
  ["reverse", reverse],
  ["length", length],
  ["count", length],
  ["items", items],
  ["batch", batch],
  ["slice", slice],
  ["list", (value, _args, { budget }) => [...budget.list(iterate(value, budget))]],
  [
    "attr",
    (value, args, { budget }) => attributeOf(value, textArgument("attr", bind("attr", args, ["name"], 1)[0]), budget),
  ],
];
