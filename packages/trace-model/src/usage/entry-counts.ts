import { forEachItem, forEachMember, jsonType, stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { fitsTotal, safe } from "./buckets.js";
import type { ReportedCounts } from "./buckets.js";
import { usageAttributes, usageSenders, usageWrappers } from "./senders.js";
import type { CountKind } from "./senders.js";

/** A count under one of the names of `usageSenders`. */
interface NamedCount {
  path: string;
  kind: CountKind;
  part: "inside" | "apart" | "otherwise" | undefined;
  count: number;
}

/** Names of counts as they occur in the JSON: a count, an object with further names, or both under different keys. */
interface NameNode {
  name?: Omit<NamedCount, "count">;
  below?: Map<string, NameNode>;
}

const names = nameTree();

/**
 * The counts in an entry of `summary.usage`. Whether two names of the input are different tokens or the same ones twice
 * follows from the reported total; without one, equal counts are the same. Of several names of a part, and of the total, the
 * greatest count is taken.
 */
export function countsOfEntry(entry: JsonText): ReportedCounts {
  const counts = collect([...countsBelow(entry).values()]);
  const same = largest(counts);
  return toReported(isSame(counts, same) ? same : counts);
}

/** An entry that a span has, below the attribute of `usageAttributes`. */
export interface UsagePlace {
  attribute: string;
  entry: JsonText;
}

/** What a span reports. */
export interface SpanCounts {
  counts: ReportedCounts;
  /** Of which kinds there is a count, be it 0, and the name of the attribute that it is from. */
  names: ReadonlyMap<CountKind, string>;
}

/** The counts of a span, of each kind from the first place that has it; undefined where none has any. */
export function countsOfSpan(places: readonly UsagePlace[]): SpanCounts | undefined {
  const found = new Map<CountKind, string>();
  const taken: NamedCount[] = [];
  for (const { attribute, entry } of places) {
    const before = taken.length;
    const isInside = usageAttributes[attribute] === "inside";
    for (const one of countsBelow(jsonType(entry) === "object" ? entry : `{"${attribute}":${entry}}`).values()) {
      if (found.has(one.kind)) continue;
      if (isInside) one.part = "inside";
      taken.push(one);
    }
    for (let index = before; index < taken.length; index++) {
      const { kind, path } = taken[index] as NamedCount;
      if (!found.has(kind) || currentNames.has(path)) found.set(kind, `${attribute}.${path}`);
    }
  }
  if (found.size === 0) return undefined;
  return { counts: toReported(largest(collect(taken))), names: found };
}

/** Those that win over older ones next to them. */
const currentNames = new Set(["input_tokens", "output_tokens"]);

/** By path, so that the last of repeated keys counts. */
function countsBelow(entry: JsonText): Map<string, NamedCount> {
  const found = new Map<string, NamedCount>();
  visit(entry, names, found);
  return found;
}

function visit(object: JsonText, node: NameNode, found: Map<string, NamedCount>): void {
  forEachMember(object, (key, from, to) => {
    const next = node.below?.get(key) ?? (key.includes(".") ? nodeAt(node, key.split(".")) : undefined);
    if (next === undefined) return;
    const value = object.slice(from, to);
    const type = jsonType(value);
    if (next.below !== undefined && type === "object") visit(value, next, found);
    else if (next.below !== undefined && type === "array") visitItems(value, next, found);
    else if (next.name !== undefined) {
      const count = wholeCount(stringValue(value) ?? value);
      const { path, kind, part } = next.name;
      if (count !== undefined) found.set(path, { path, kind, part, count });
    }
  });
}

/** Details of several requests, which add up. */
function visitItems(list: JsonText, node: NameNode, found: Map<string, NamedCount>): void {
  forEachItem(list, (_, from, to) => {
    const item = list.slice(from, to);
    if (jsonType(item) !== "object") return;
    const inItem = new Map<string, NamedCount>();
    visit(item, node, inItem);
    for (const [path, one] of inItem) {
      found.set(path, { ...one, count: safe(one.count + (found.get(path)?.count ?? 0)) });
    }
  });
}

function nodeAt(node: NameNode, path: readonly string[]): NameNode | undefined {
  let at: NameNode | undefined = node;
  for (const segment of path) at = at?.below?.get(segment);
  return at;
}

interface Collected extends ReportedCounts {
  moreInput: number;
  /** The greatest count under one name. */
  greatest: { input: number; output: number };
}

function collect(named: readonly NamedCount[]): Collected {
  let [requests, input, moreInput, cacheRead, cacheCreation, output, reasoning, total] = [0, 0, 0, 0, 0, 0, 0, 0];
  let [cacheCreationParts, uncachedInput] = [0, 0];
  let [greatestInput, greatestOutput] = [0, 0];
  let [cacheInside, cacheApart, reasoningApart] = [false, false, false];
  for (const { kind, part, count } of named) {
    if (count === 0 || (part === "otherwise" && hasBetter(named, kind))) continue;
    if (kind === "reasoning") reasoningApart ||= part === "apart";
    else {
      cacheInside ||= part === "inside";
      cacheApart ||= part === "apart";
    }
    switch (kind) {
      case "requests":
        requests = safe(requests + count);
        break;
      case "input":
        input = safe(input + count);
        greatestInput = Math.max(greatestInput, count);
        break;
      case "more_input":
        moreInput = Math.max(moreInput, count);
        break;
      case "uncached_input":
        uncachedInput = Math.max(uncachedInput, count);
        break;
      case "cache_read":
        cacheRead = Math.max(cacheRead, count);
        break;
      case "cache_creation":
        cacheCreation = Math.max(cacheCreation, count);
        break;
      case "cache_creation_part":
        cacheCreationParts = safe(cacheCreationParts + count);
        break;
      case "output":
        output = safe(output + count);
        greatestOutput = Math.max(greatestOutput, count);
        break;
      case "reasoning":
        reasoning = Math.max(reasoning, count);
        break;
      default:
        total = Math.max(total, count);
    }
  }
  if (input === 0) {
    input = greatestInput = uncachedInput;
    cacheApart ||= uncachedInput > 0;
  } else cacheInside ||= uncachedInput > 0 && greatestInput > uncachedInput;
  return {
    requests,
    input,
    cache_read: cacheRead,
    cache_creation: Math.max(cacheCreation, cacheCreationParts),
    output,
    reasoning,
    total,
    cache_apart: cacheApart && !cacheInside,
    reasoning_apart: reasoningApart,
    moreInput,
    greatest: { input: greatestInput, output: greatestOutput },
  };
}

const hasBetter = (named: readonly NamedCount[], wanted: CountKind) =>
  named.some(({ kind, part, count }) => kind === wanted && part !== "otherwise" && count > 0);

/** With the greatest count of each kind in place of the sum. */
const largest = (counts: Collected): Collected => ({
  ...counts,
  input: counts.greatest.input,
  output: counts.greatest.output,
});

/** Whether counts under several names are the same tokens. */
function isSame(added: Collected, same: Collected): boolean {
  if (added.input === same.input && added.output === same.output) return true;
  if (added.total > 0) return fitsTotal(toReported(same)) && !fitsTotal(toReported(added));
  return isRepeated(added.input, same.input) && isRepeated(added.output, same.output);
}

const isRepeated = (sum: number, one: number) => sum === one || sum === 2 * one;

function toReported(collected: Collected): ReportedCounts {
  const { requests, cache_read, cache_creation, output, reasoning, total, cache_apart, reasoning_apart } = collected;
  const input = safe(collected.input + collected.moreInput);
  return { requests, input, cache_read, cache_creation, output, reasoning, total, cache_apart, reasoning_apart };
}

function nameTree(): NameNode {
  const root: NameNode & { below: Map<string, NameNode> } = { below: new Map() };
  for (const [path, name] of Object.values(usageSenders).flatMap((sender) => Object.entries(sender))) {
    const [kind, part] = typeof name === "string" ? [name, undefined] : name;
    let node: NameNode = root;
    for (const segment of path.split(".")) {
      const below: Map<string, NameNode> = (node.below ??= new Map());
      const next = below.get(segment) ?? {};
      for (const spelling of spellings(segment)) below.set(spelling, next);
      node = next;
    }
    node.name = { path, kind, part };
  }
  for (const wrapper of usageWrappers) for (const spelling of spellings(wrapper)) root.below.set(spelling, root);
  return root;
}

function spellings(name: string): string[] {
  const camelCase = name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  return [name, camelCase, camelCase.charAt(0).toUpperCase() + camelCase.slice(1)];
}

/** A count as a whole number the columns can hold; the store refuses a row with a negative one. Undefined for no number. */
function wholeCount(token: JsonText): number | undefined {
  if (token.trim() === "" || jsonType(token) !== "number") return undefined;
  const value = Math.trunc(Number(token));
  if (Number.isNaN(value)) return undefined;
  return value > 0 ? Math.min(value, Number.MAX_SAFE_INTEGER) : 0;
}
