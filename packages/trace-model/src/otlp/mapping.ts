import { kindOfWords } from "../calls/kind.js";
import type { CallKind } from "../calls/kind.js";
import { withOtelSpan } from "../calls/otel-span.js";
import { jsonType, objectEntries, stringValue, withMembers } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { fitsTotal, tokenBuckets } from "../usage/buckets.js";
import type { TokenBuckets } from "../usage/buckets.js";
import { countsOfSpan } from "../usage/entry-counts.js";
import type { SpanCounts, UsagePlace } from "../usage/entry-counts.js";
import { isWrapper } from "../usage/usage-includes.js";
import type { UsageIncludes } from "../usage/usage-includes.js";
import { byModelName, usageRow } from "../usage/usage.js";
import type { UsageRow } from "../usage/usage.js";
import { isList } from "./attribute-node.js";
import { senderAttributes } from "./sender-attributes.js";
import { everyHit, first, sources } from "./sources.js";
import type { Hit, SpanData } from "./sources.js";
import { textJson } from "./value-json.js";

const inputSources = sources(...senderAttributes.inputs);
const outputSources = sources(...senderAttributes.output);
const attributeSources = Object.entries(senderAttributes.attributes).map(
  ([name, names]) => [name, sources(...names)] as const,
);
const usageSources = sources(...senderAttributes.usage);
const ownSources = sources(...senderAttributes.own);

/** The data of a model call in a span, as JSON texts of the call's fields. */
export interface SpanContent {
  inputs: JsonText;
  output?: JsonText;
  attributes: JsonText;
  summary: JsonText;
  /** What `usageOf` reads in the summary. */
  usage: UsageRow[];
  /** What `usageIncludes` finds in the attributes, '' for nothing; undefined where it has to look. */
  usageIncludes: UsageIncludes | "" | undefined;
  /** What `statedKind` finds in the attributes; undefined where it has to look. */
  kind: CallKind | "" | undefined;
}

/**
 * Maps the attributes and events of a span. When nothing is recognised, all attributes go into `attributes`. The whole
 * span is there too, where `all` and `otel_span` are the texts of the two.
 */
export function spanContent(data: SpanData, all: JsonText, otelSpan: JsonText): SpanContent {
  const input = first(inputSources, data);
  const output = first(outputSources, data);
  const recognised = recognisedAttributes(data);
  const hits = everyHit(usageSources, data);
  const counts = countsOfSpan(hits.map(usagePlace));
  const buckets = counts && tokenBuckets(counts.counts);
  const nothing = !input && !output && !counts && recognised.length === 0;
  const model = modelOf(recognised);
  return {
    inputs: input ? unwrappedInput(input) : "{}",
    output: output && unwrappedOutput(output),
    attributes: nothing ? withSpan(all, data, otelSpan) : recognisedJson(recognised, data, otelSpan),
    summary: counts && buckets ? `{"usage":{${textJson(model)}:${countsJson(counts, buckets)}}}` : "{}",
    usage: buckets ? byModelName([usageRow(model, buckets)]) : [],
    // Attributes of the user's own may override the others.
    ...(nothing || first(ownSources, data) !== undefined ? unknown : marksOf(recognised, hits)),
  };
}

/** What is next to a number or a text is counted where that itself would be. */
function usagePlace({ name, value, others = [] }: Hit): UsagePlace {
  if (others.length === 0) return { attribute: name, entry: value };
  const members = others.map(([other, text]) => `${textJson(other.slice(name.length + 1))}:${text}`);
  return { attribute: name, entry: `{${members.join(",")}}` };
}

type Marks = Pick<SpanContent, "kind" | "usageIncludes">;
const unknown: Marks = { kind: undefined, usageIncludes: undefined };

function marksOf(recognised: Members, usage: readonly Hit[]): Marks {
  const operation = valueOf(recognised, "operation");
  const isAbove =
    usage.some(({ name }) => name.includes("aggregated_usage")) ||
    (operation !== undefined && isWrapper(stringValue(operation)));
  return { kind: kindOf(recognised), usageIncludes: isAbove ? "descendants" : "" };
}

function kindOf(recognised: Members): CallKind | "" {
  return kindOfWords([valueOf(recognised, "kind"), valueOf(recognised, "operation")]) ?? "";
}

type Members = Array<[name: string, value: JsonText]>;

const valueOf = (members: Members, wanted: string): JsonText | undefined =>
  members.find(([name]) => name === wanted)?.[1];

function recognisedAttributes(data: SpanData): Members {
  const recognised: Members = [];
  for (const [name, candidates] of attributeSources) {
    const hit = first(candidates, data);
    if (hit) recognised.push([name, hit.value]);
  }
  return recognised;
}

function recognisedJson(recognised: Members, data: SpanData, otelSpan: JsonText): JsonText {
  const own = ownAttributes(data);
  if (own.length > 0) return withOtelSpan(membersJson("{}", [...recognised, ...own]), otelSpan);
  return `{${recognised.map(([name, value]) => `"${name}":${value},`).join("")}"otel_span":${otelSpan}}`;
}

function withSpan(all: JsonText, data: SpanData, otelSpan: JsonText): JsonText {
  const own = ownAttributes(data);
  const { root } = data.tree.layout;
  if (own.length > 0 || isList(root) || root.children.has("otel_span")) {
    return withOtelSpan(membersJson(all, own), otelSpan);
  }
  return `${all.slice(0, -1)}${root.children.size === 0 ? "" : ","}"otel_span":${otelSpan}}`;
}

/** What the user set as `wandb.attributes` overrides the conventions. */
function ownAttributes(data: SpanData): Members {
  const own = first(ownSources, data)?.value;
  if (own === undefined || jsonType(own) !== "object") return [];
  return objectEntries(own).map(({ key, value }) => [key, value]);
}

function membersJson(object: JsonText, members: Members): JsonText {
  return withMembers(object, Object.fromEntries(members));
}

function unwrappedInput(hit: Hit): JsonText {
  const lone = (hit.name === "input" || hit.name === "inputs") && jsonType(hit.value) === "object";
  return lone ? hit.value : wrapped(hit);
}

function unwrappedOutput(hit: Hit): JsonText {
  return hit.name === "output" || hit.name === "outputs" ? hit.value : wrapped(hit);
}

function wrapped({ name, value, others }: Hit): JsonText {
  const rest = others?.map(([other, text]) => `,${textJson(other)}:${text}`).join("") ?? "";
  return `{${textJson(name)}:${value}${rest}}`;
}

function modelOf(recognised: Members): string {
  const model = valueOf(recognised, "model");
  return (model && stringValue(model)) || "usage";
}

/**
 * The entry of `summary.usage`. Cached and reasoning tokens are part of the whole counts in it, whatever the sender does,
 * and the total or the names say so to whoever reads it. A total that is not the sum of the others is as it was reported, and
 * marked.
 */
function countsJson({ counts, names }: SpanCounts, buckets: TokenBuckets): JsonText {
  const { uncached_input, cache_read, cache_creation, output, reasoning, total } = buckets;
  const [input, produced] = [uncached_input + cache_read + cache_creation, output + reasoning];
  const hasParts = partKinds.some((kind) => names.has(kind));
  const sent = wholeName(names.get("input"), "gen_ai.usage.input_tokens", hasParts, ["input_tokens", "prompt_tokens"]);
  const received = wholeName(names.get("output"), "gen_ai.usage.output_tokens", hasParts, [
    "output_tokens",
    "completion_tokens",
  ]);
  const unexplained = isUnexplained(counts);
  const [read, created] = unexplained
    ? ["cached_tokens", "cache_write_tokens"]
    : ["cache_read_input_tokens", "cache_creation_input_tokens"];
  const cached = [
    ...(cache_read > 0 ? [`"${read}":${cache_read}`] : []),
    ...(cache_creation > 0 ? [`"${created}":${cache_creation}`] : []),
  ];
  const members = [
    ...(names.has("input") || input > 0 ? [`"${sent}":${input}`] : []),
    ...(names.has("output") || produced > 0 ? [`"${received}":${produced}`] : []),
    ...(unexplained && cached.length > 0 ? [`"${sent}_details":{${cached.join(",")}}`] : cached),
    ...(reasoning > 0 ? [`"${received}_details":{"reasoning_tokens":${reasoning}}`] : []),
    `"total_tokens":${total}`,
    ...(unexplained ? ['"total_tokens_unexplained":true'] : []),
  ];
  return `{${members.join(",")}}`;
}

const partKinds = ["cache_read", "cache_creation", "cache_creation_part", "reasoning"] as const;

/** The current name where the sender uses it, or reports nothing but parts. */
function wholeName(
  sender: string | undefined,
  current: string,
  hasParts: boolean,
  [name, old]: readonly [string, string],
): string {
  return sender === current || (sender === undefined && hasParts) ? name : old;
}

/** Whether the total is not the sum of the others; what is not reported may be in it. */
function isUnexplained(counts: SpanCounts["counts"]): boolean {
  const { input, output, total } = counts;
  if (total === 0 || fitsTotal(counts)) return false;
  return (input > 0 && output > 0) || total < input + output;
}
