import { withMembers } from "../json/edit.js";
import { jsonType, objectEntries, stringValue } from "../json/members.js";
import type { JsonText } from "../json/scan.js";
import { type AttributeTree, attributesJson, findAttribute, treeJson } from "./attribute-tree.js";
import type { SpanEvent } from "./traces.js";

/* Which attributes mean what. Of each list the first one that is present wins; `event` names an event of the span. */

interface Source {
  name: string;
  path?: readonly string[];
}

const inputSources = sources(
  "ai.prompt",
  "gen_ai.prompt",
  "input.value",
  "mlflow.spanInputs",
  "gen_ai.input.messages",
  "pydantic_ai.all_messages",
  "traceloop.entity.input",
  "gcp.vertex.agent.tool_call_args",
  "gcp.vertex.agent.llm_request",
  "event gen_ai.user.message",
  "input",
  "inputs",
);

const outputSources = sources(
  "ai.response",
  "gen_ai.completion",
  "output.value",
  "gen_ai.output.messages",
  "mlflow.spanOutputs",
  "final_result",
  "event gen_ai.content.completion",
  "traceloop.entity.output",
  "gcp.vertex.agent.tool_response",
  "gcp.vertex.agent.llm_response",
  "event gen_ai.choice",
  "output",
  "outputs",
);

const attributeSources: ReadonlyArray<readonly [string, readonly Source[]]> = [
  ["system", sources("gen_ai.system", "llm.system", "gen_ai.system_instructions", "system_prompt")],
  ["kind", sources("weave.span.kind", "traceloop.span.kind", "openinference.span.kind")],
  ["model", sources("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.model.id")],
  ["provider", sources("llm.provider", "ai.model.provider")],
  ["model_parameters", sources("gen_ai.request", "llm.invocation_parameters")],
  ["agent", sources("gen_ai.agent.name")],
  ["tools", sources("gen_ai.agent.tools")],
  ["operation", sources("gen_ai.operation.name")],
];

const inputTokens = sources("gen_ai.usage.input_tokens");
const promptTokens = sources("gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "ai.usage.promptTokens");
const outputTokens = sources("gen_ai.usage.output_tokens");
const completionTokens = sources(
  "gen_ai.usage.completion_tokens",
  "llm.token_count.completion",
  "ai.usage.completionTokens",
);
const totalTokens = sources("llm.usage.total_tokens", "llm.token_count.total");

/** What a span says of a model call, as JSON texts of the call's fields. */
export interface SpanContent {
  inputs: JsonText;
  output?: JsonText;
  attributes: JsonText;
  summary: JsonText;
}

/** Maps the attributes and events of a span. When nothing is recognised, all attributes go into `attributes`. */
export function spanContent(tree: AttributeTree, events: readonly SpanEvent[]): SpanContent {
  const input = first(inputSources, tree, events);
  const output = first(outputSources, tree, events);
  const recognised = recognisedAttributes(tree, events);
  const usage = usageJson(tree, events);
  const nothing = !input && !output && !usage && Object.keys(recognised).length === 0;
  return {
    inputs: input ? unwrappedInput(input) : "{}",
    output: output && unwrappedOutput(output),
    attributes: withMembers(nothing ? allAttributes(tree) : "{}", { ...recognised, ...ownAttributes(tree) }),
    summary: usage ? `{"usage":{${JSON.stringify(usageKey(recognised))}:${usage}}}` : "{}",
  };
}

function recognisedAttributes(tree: AttributeTree, events: readonly SpanEvent[]): Record<string, JsonText> {
  const recognised: Record<string, JsonText> = {};
  for (const [name, candidates] of attributeSources) {
    const hit = first(candidates, tree, events);
    if (hit) recognised[name] = hit.value;
  }
  return recognised;
}

/** What the user set as `wandb.attributes` wins over what the conventions say. */
function ownAttributes(tree: AttributeTree): Record<string, JsonText> {
  const own = findAttribute(tree, ["wandb", "attributes"]);
  if (own === undefined || jsonType(own) !== "object") return {};
  return Object.fromEntries(objectEntries(own).map(({ key, value }) => [key, value]));
}

interface Hit {
  name: string;
  value: JsonText;
}

function sources(...names: string[]): Source[] {
  return names.map((name) => (name.startsWith("event ") ? { name: name.slice(6) } : { name, path: name.split(".") }));
}

function first(candidates: readonly Source[], tree: AttributeTree, events: readonly SpanEvent[]): Hit | undefined {
  for (const { name, path } of candidates) {
    const value = path ? findAttribute(tree, path) : eventContent(name, events);
    if (value !== undefined) return { name, value };
  }
  return undefined;
}

/** Several events of one name make a list, as a conversation has several messages. */
function eventContent(name: string, events: readonly SpanEvent[]): JsonText | undefined {
  const contents = events.filter((event) => event.name === name).map((event) => attributesJson(event.attributes));
  return contents.length > 1 ? `[${contents.join(",")}]` : contents[0];
}

function unwrappedInput({ name, value }: Hit): JsonText {
  const lone = (name === "input" || name === "inputs") && jsonType(value) === "object";
  return lone ? value : `{${JSON.stringify(name)}:${value}}`;
}

function unwrappedOutput({ name, value }: Hit): JsonText {
  return name === "output" || name === "outputs" ? value : `{${JSON.stringify(name)}:${value}}`;
}

function allAttributes(tree: AttributeTree): JsonText {
  return tree.size === 0 ? "{}" : treeJson(tree);
}

function usageKey(recognised: Readonly<Record<string, JsonText>>): string {
  const model = recognised.model === undefined ? undefined : stringValue(recognised.model);
  return model || "usage";
}

/**
 * Token counts. Exporters that follow two conventions report one count under both names; only one of them is taken,
 * as the two are added wherever usage is summed.
 */
function usageJson(tree: AttributeTree, events: readonly SpanEvent[]): JsonText | undefined {
  const input = tokenCount(inputTokens, tree, events);
  const prompt = input === undefined ? tokenCount(promptTokens, tree, events) : undefined;
  const output = tokenCount(outputTokens, tree, events);
  const completion = output === undefined ? tokenCount(completionTokens, tree, events) : undefined;
  const reported = tokenCount(totalTokens, tree, events);
  const counts = { input_tokens: input, prompt_tokens: prompt, completion_tokens: completion, output_tokens: output };
  const known = Object.values(counts).filter((value) => value !== undefined);
  if (known.length === 0 && reported === undefined) return undefined;
  const total_tokens = reported ?? known.reduce((sum, value) => sum + value, 0);
  return JSON.stringify({ ...counts, total_tokens });
}

function tokenCount(
  candidates: readonly Source[],
  tree: AttributeTree,
  events: readonly SpanEvent[],
): number | undefined {
  const hit = first(candidates, tree, events);
  if (!hit) return undefined;
  const value = Math.trunc(Number(stringValue(hit.value) ?? hit.value));
  return Number.isSafeInteger(value) ? value : undefined;
}
