import { withOtelSpan } from "../calls/otel-span.js";
import { withMembers } from "../json/edit.js";
import { jsonType, objectEntries, stringValue } from "../json/members.js";
import type { JsonText } from "../json/scan.js";
import { safe, tokenBuckets } from "../usage/buckets.js";
import type { TokenBuckets } from "../usage/buckets.js";
import { usageRow } from "../usage/usage.js";
import type { UsageRow } from "../usage/usage.js";
import { isList } from "./attribute-node.js";
import { senderAttributes } from "./sender-attributes.js";
import { first, sources } from "./sources.js";
import type { Hit, SpanData } from "./sources.js";
import type { Sources } from "./source-path.js";
import { textJson } from "./value-json.js";

const inputSources = sources(...senderAttributes.inputs);
const outputSources = sources(...senderAttributes.output);
const attributeSources = Object.entries(senderAttributes.attributes).map(
  ([name, names]) => [name, sources(...names)] as const,
);
const inputTokens = sources(...senderAttributes.usage.input.input_tokens);
const promptTokens = sources(...senderAttributes.usage.input.prompt_tokens);
const outputTokens = sources(...senderAttributes.usage.output.output_tokens);
const completionTokens = sources(...senderAttributes.usage.output.completion_tokens);
const totalTokens = sources(...senderAttributes.usage.total);
const cacheReadTokens = sources(...senderAttributes.usage.cache_read);
const cacheCreationTokens = sources(...senderAttributes.usage.cache_creation);
const reasoningTokens = sources(...senderAttributes.usage.reasoning);
const ownSources = sources(...senderAttributes.own);

/** The data of a model call in a span, as JSON texts of the call's fields. */
export interface SpanContent {
  inputs: JsonText;
  output?: JsonText;
  attributes: JsonText;
  summary: JsonText;
  /** What `usageOf` reads in the summary. */
  usage: UsageRow[];
}

/**
 * Maps the attributes and events of a span. When nothing is recognised, all attributes go into `attributes`. The whole
 * span is there too, where `all` and `otel_span` are the texts of the two.
 */
export function spanContent(data: SpanData, all: JsonText, otelSpan: JsonText): SpanContent {
  const input = first(inputSources, data);
  const output = first(outputSources, data);
  const recognised = recognisedAttributes(data);
  const counts = tokenCounts(data);
  const nothing = !input && !output && !counts && recognised.length === 0;
  const model = modelOf(recognised);
  return {
    inputs: input ? unwrappedInput(input) : "{}",
    output: output && unwrappedOutput(output),
    attributes: nothing ? withSpan(all, data, otelSpan) : recognisedJson(recognised, data, otelSpan),
    summary: counts ? `{"usage":{${textJson(model)}:${countsJson(counts)}}}` : "{}",
    usage: counts ? usageRows(model, counts) : [],
  };
}

type Members = Array<[name: string, value: JsonText]>;

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
  const model = recognised.find(([name]) => name === "model")?.[1];
  return (model && stringValue(model)) || "usage";
}

interface TokenCount {
  name: string;
  value: number;
}

interface TokenCounts {
  sent: TokenCount | undefined;
  received: TokenCount | undefined;
  total: number;
  /** What the counts come to when the span reports parts of them. */
  parts: TokenBuckets | undefined;
}

/**
 * Token counts. Exporters that follow two conventions report one count under both names; only one of them is taken,
 * as the two are added wherever usage is summed.
 */
function tokenCounts(data: SpanData): TokenCounts | undefined {
  const sent = tokenCount("input_tokens", inputTokens, data) ?? tokenCount("prompt_tokens", promptTokens, data);
  const received =
    tokenCount("output_tokens", outputTokens, data) ?? tokenCount("completion_tokens", completionTokens, data);
  const reported = tokenCount("total_tokens", totalTokens, data);
  const cacheRead = tokenCount("", cacheReadTokens, data);
  const cacheCreation = tokenCount("", cacheCreationTokens, data);
  const reasoning = tokenCount("", reasoningTokens, data);
  const hasParts = cacheRead !== undefined || cacheCreation !== undefined || reasoning !== undefined;
  if (!sent && !received && !reported && !hasParts) return undefined;
  const parts = hasParts
    ? tokenBuckets({
        requests: 0,
        input: positive(sent),
        cache_read: positive(cacheRead),
        cache_creation: positive(cacheCreation),
        output: positive(received),
        reasoning: positive(reasoning),
        total: positive(reported),
        cache_apart: false,
        reasoning_apart: false,
      })
    : undefined;
  const total = reported?.value ?? (sent?.value ?? 0) + (received?.value ?? 0);
  return { sent, received, total, parts };
}

function tokenCount(name: string, candidates: Sources, data: SpanData): TokenCount | undefined {
  const hit = first(candidates, data);
  if (!hit) return undefined;
  const value = Math.trunc(Number(stringValue(hit.value) ?? hit.value));
  return Number.isSafeInteger(value) ? { name, value } : undefined;
}

function positive(count: TokenCount | undefined): number {
  return Math.max(count?.value ?? 0, 0);
}

/** With parts, the whole counts include them, and the total says so to whoever reads the entry. */
function countsJson({ sent, received, total, parts }: TokenCounts): JsonText {
  if (parts === undefined) return `{${countJson(sent)}${countJson(received)}"total_tokens":${total}}`;
  const { uncached_input, cache_read, cache_creation, output, reasoning } = parts;
  const [input, produced] = [uncached_input + cache_read + cache_creation, output + reasoning];
  const [sentName, receivedName] = [sent?.name ?? "input_tokens", received?.name ?? "output_tokens"];
  const members = [
    `"${sentName}":${input}`,
    `"${receivedName}":${produced}`,
    ...(cache_read > 0 ? [`"cache_read_input_tokens":${cache_read}`] : []),
    ...(cache_creation > 0 ? [`"cache_creation_input_tokens":${cache_creation}`] : []),
    ...(reasoning > 0 ? [`"${receivedName}_details":{"reasoning_tokens":${reasoning}}`] : []),
    `"total_tokens":${input + produced}`,
  ];
  return `{${members.join(",")}}`;
}

function countJson(count: TokenCount | undefined): string {
  return count === undefined ? "" : `"${count.name}":${count.value},`;
}

function usageRows(model: string, { sent, received, total, parts }: TokenCounts): UsageRow[] {
  const [input, output] = [positive(sent), positive(received)];
  const whole = { requests: 0, uncached_input: input, cache_read: 0, cache_creation: 0, output, reasoning: 0 };
  const sum = (buckets: Omit<TokenBuckets, "total">) =>
    buckets.uncached_input + buckets.cache_read + buckets.cache_creation + buckets.output + buckets.reasoning;
  return parts === undefined
    ? [usageRow(model, { ...whole, total: safe(Math.max(total, 0) || sum(whole)) })]
    : [usageRow(model, { ...parts, total: safe(sum(parts)) })];
}
