import type { GenerateRequest } from "@heddle/training";
import { unsupportedFields } from "./completion-request.js";
import { samplingFields } from "./sampling-fields.js";

type StructuredOutput = NonNullable<GenerateRequest["structuredOutput"]>;

/**
 * Returns the fields that SGLang's completions cannot honour, besides those that vLLM's cannot: their log-probabilities of other tokens
 * have texts in the place of token ids, and those of prompts are refused.
 */
export function sglangUnsupportedFields(request: Partial<GenerateRequest>): (keyof GenerateRequest)[] {
  const { topLogprobs, promptLogprobs, allowedTokenIds, beamSearch, repetitionDetection, structuredOutput } = request;
  const found = new Set(unsupportedFields(request));
  if (topLogprobs) found.add("topLogprobs");
  if (promptLogprobs !== undefined) found.add("promptLogprobs");
  if (allowedTokenIds) found.add("allowedTokenIds");
  if (beamSearch) found.add("beamSearch");
  if (repetitionDetection) found.add("repetitionDetection");
  if (structuredOutput && constraintOf(structuredOutput) === undefined) found.add("structuredOutput");
  return [...found];
}

/** Creates the body of `POST /v1/completions` of SGLang; see `samplingFields`. */
export function sglangBody(
  request: GenerateRequest,
  { base, adapter }: { base: string; adapter: string | undefined },
  eosIds: readonly number[],
): Record<string, unknown> {
  const { structuredOutput, topK = 0 } = request;
  return {
    model: base,
    ...(adapter !== undefined && { lora_path: adapter }),
    ...samplingFields(request, eosIds),
    top_k: topK > 0 ? topK : -1,
    no_stop_trim: request.includeStop ?? false,
    logprobs: 0,
    ...(structuredOutput && constraintOf(structuredOutput)),
    stream: true,
    stream_options: { include_usage: true },
  };
}

/** Undefined for what SGLang has in another form or not at all. */
function constraintOf(output: StructuredOutput): Record<string, unknown> | undefined {
  switch (output.type) {
    case "json_schema":
      return output.whitespace === false ? undefined : { json_schema: JSON.stringify(output.schema) };
    case "json_object":
      return { json_schema: '{"type": "object"}' };
    case "regex":
      return { regex: output.regex };
    case "choice":
      return { regex: output.choices.map((choice) => choice.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|") };
    default:
      return undefined;
  }
}
