import { HeddleError } from "@heddle/errors";
import type { Schemas } from "@heddle/server-stub/training";
import type { SamplingFeature } from "@heddle/training";

type ChatRequest = Schemas["ChatCompletionReq"];
type Field = keyof ChatRequest;

/** Fields that no engine of this service can honour, if they hold anything. */
const unknownFields: readonly Field[] = ["mm_processor_kwargs", "kv_transfer_params", "engine_xargs", "vllm_xargs"];

/** The fields that need a feature of the engine. */
const neededBy: Readonly<Record<SamplingFeature, readonly Field[]>> = {
  penalties: ["frequency_penalty", "presence_penalty", "repetition_penalty"],
  logit_bias: ["logit_bias"],
  allowed_token_ids: ["allowed_token_ids"],
  bad_words: ["bad_words"],
  min_p: ["min_p"],
  min_tokens: ["min_tokens"],
  stop: ["stop", "stop_token_ids"],
  prompt_logprobs: ["prompt_logprobs"],
  top_logprobs: ["top_logprobs"],
  beam_search: ["use_beam_search"],
  repetition_detection: ["repetition_detection"],
  structured_outputs: ["structured_outputs", "response_format", "tool_choice"],
};

/** Fields that have no meaning in a beam search. */
const excludedByBeams: readonly Field[] = [
  "frequency_penalty",
  "presence_penalty",
  "repetition_penalty",
  "temperature",
  "top_p",
  "top_k",
  "min_p",
  "min_tokens",
  "logit_bias",
  "allowed_token_ids",
  "bad_words",
  "stop",
  "stop_token_ids",
  "structured_outputs",
  "response_format",
  "tool_choice",
  "repetition_detection",
];

/** Whether a field asks for something that its absence does not. */
const asksFor: Partial<Record<Field, (request: ChatRequest) => boolean>> = {
  repetition_penalty: ({ repetition_penalty }) => repetition_penalty !== 1,
  temperature: ({ temperature = 1 }) => temperature !== 1 && temperature !== 0,
  top_p: ({ top_p = 1 }) => top_p !== 1,
  top_k: ({ top_k = 0 }) => top_k > 0,
  response_format: ({ response_format }) => response_format !== undefined && response_format.type !== "text",
  tool_choice: ({ tool_choice }) => tool_choice === "required" || typeof tool_choice === "object",
  prompt_logprobs: ({ prompt_logprobs }) => prompt_logprobs !== undefined,
};

/** Throws `unsupported` with the names of all fields that cannot be honoured. */
export function refuseFields(request: ChatRequest, features: readonly SamplingFeature[]): void {
  const missing = Object.entries(neededBy).flatMap(([feature, fields]) =>
    features.includes(feature as SamplingFeature) ? [] : fields,
  );
  const refused = [...unknownFields, ...missing].filter((field) => isSet(request, field));
  if (refused.length > 0) throw refusal(refused, "not supported by this service");
  if (!request.use_beam_search) return;
  const excluded = excludedByBeams.filter((field) => isSet(request, field));
  if (excluded.length > 0) throw refusal(excluded, "not possible together with use_beam_search");
}

function isSet(request: ChatRequest, field: Field): boolean {
  const asks = asksFor[field];
  if (asks !== undefined) return asks(request);
  const value = request[field];
  if (typeof value !== "object") return Boolean(value);
  return (Array.isArray(value) ? value : Object.keys(value)).length > 0;
}

function refusal(fields: readonly string[], reason: string): HeddleError {
  const [first = ""] = fields;
  return new HeddleError("unsupported", `${fields.join(", ")}: ${reason}`, { loc: [first] });
}
