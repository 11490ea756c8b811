import { HeddleError } from "@heddle/errors";
import type { Schemas } from "@heddle/server-stub/training";
import type { GenerateRequest, Sampler } from "@heddle/training";
import { asksForNothing, refusedFields } from "./other-servers-fields.js";
import type { RefusedField } from "./other-servers-fields.js";
import type { SamplingPlan } from "./sampling-plan.js";
import { wireField } from "./wire-loc.js";

type ChatRequest = Schemas["ChatCompletionReq"];
type Field = keyof KnownFields<ChatRequest>;
/** Without the signature of those that nobody knows. */
type KnownFields<T> = {
  [Name in keyof T as string extends Name ? never : number extends Name ? never : Name]: T[Name];
};

/** Fields that no engine of this service can honour, if they hold anything. */
const unknownFields: readonly Field[] = ["mm_processor_kwargs", "kv_transfer_params", "engine_xargs", "vllm_xargs"];

/** Arguments that have no meaning in a beam search, and the value that they may have. */
const excludedByBeams: Partial<Record<keyof GenerateRequest, number>> = {
  frequencyPenalty: 0,
  presencePenalty: 0,
  repetitionPenalty: 1,
  topP: 1,
  topK: 0,
  minP: 0,
  minTokens: 0,
  logitBias: NaN,
  allowedTokenIds: NaN,
  badWords: NaN,
  stop: NaN,
  stopTokenIds: NaN,
  structuredOutput: NaN,
  repetitionDetection: NaN,
};

/** Fields that others replaced, and what other servers call those of `structured_outputs`: a constraint is never ignored. */
const replacedFields: Partial<Record<Field, string>> = {
  functions: "tools",
  function_call: "tool_choice",
  regex: "structured_outputs.regex",
  ebnf: "structured_outputs.grammar",
  grammar: "structured_outputs.grammar",
  json_schema: "structured_outputs.json",
  format: "response_format or structured_outputs.json",
};

/** Throws `unsupported` with the names of all fields that cannot be honoured. */
export function refuseFields(request: ChatRequest, { generate, constraint }: SamplingPlan, sampler: Sampler): void {
  const name = (field: keyof GenerateRequest): string =>
    field === "structuredOutput" ? String(constraint?.loc[0] ?? "structured_outputs") : wireField(field);
  for (const [field, replacement] of Object.entries(replacedFields)) {
    const value = request[field as Field];
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue;
    if (value === "" || (field === "function_call" && value === "none")) continue;
    throw refusal([field], `not supported; use ${replacement}`);
  }
  refuseOthers(request);
  const unknown = unknownFields.filter((field) => Object.keys(request[field] ?? {}).length > 0);
  const refused = [...unknown, ...sampler.unsupportedFields(generate).map(name)];
  if (refused.length > 0) throw refusal(refused, "not supported by this service");
  if (generate.beamSearch === undefined) return;
  const excluded = (Object.keys(excludedByBeams) as (keyof typeof excludedByBeams)[]).filter((field) =>
    isSet(generate[field], excludedByBeams[field] ?? NaN),
  );
  if ((generate.temperature ?? 1) !== 1 && generate.temperature !== 0) excluded.push("temperature");
  if (excluded.length > 0) throw refusal(excluded.map(name), "not possible together with use_beam_search");
}

/** Fields of other servers, all at once. */
function refuseOthers(request: Readonly<Record<string, unknown>>): void {
  const refused = Object.entries(request).flatMap(([name, value]) => {
    const field = Object.hasOwn(refusedFields, name) ? refusedFields[name] : misspeltConstraint(name);
    if (field === undefined || asksForNothing(value, field)) return [];
    return [{ name, reason: field.instead === undefined ? "not supported" : `not supported; use ${field.instead}` }];
  });
  const [first, ...others] = refused;
  if (first === undefined) return;
  const more = others.map(({ name, reason }) => `; ${name}: ${reason}`).join("");
  throw refusal([first.name], `${first.reason}${more}`);
}

const guidedFields = new Set(
  ["json", "regex", "choice", "grammar", "json_object", "whitespace_pattern", "decoding_backend"].map(
    (name) => `guided_${name}`,
  ),
);

/** What begins like the constraints of earlier servers and is none: the output would not be constrained. */
function misspeltConstraint(name: string): RefusedField | undefined {
  return name.startsWith("guided_") && !guidedFields.has(name) ? { instead: "structured_outputs" } : undefined;
}

function isSet(value: unknown, neutral: number): boolean {
  if (value === undefined || value === neutral) return false;
  return !(Array.isArray(value) && value.length === 0) && !(value instanceof Map && value.size === 0);
}

function refusal(fields: readonly string[], reason: string): HeddleError {
  const [first = ""] = fields;
  return new HeddleError("unsupported", `${fields.join(", ")}: ${reason}`, { loc: [first] });
}
