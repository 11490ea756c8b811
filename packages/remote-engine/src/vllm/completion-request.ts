import type { GenerateRequest } from "@heddle/training";
import { samplingFields } from "./sampling-fields.js";

type StructuredOutput = NonNullable<GenerateRequest["structuredOutput"]>;

/**
 * Returns the fields that vLLM's completions cannot honour: `badWords` are tokens here and texts there, the order of
 * priorities is unknown, and vLLM ignores a priority without an error.
 */
export function unsupportedFields(request: Partial<GenerateRequest>): (keyof GenerateRequest)[] {
  const { badWords, priority, structuredOutput } = request;
  const isSchemaOption = structuredOutput?.type === "json_schema" && structuredOutput.whitespacePattern !== undefined;
  return [
    ...(badWords && badWords.length > 0 ? (["badWords"] as const) : []),
    ...(priority ? (["priority"] as const) : []),
    ...(isSchemaOption ? (["structuredOutput"] as const) : []),
  ];
}

/** Returns whether vLLM can stream the request. */
export function canStream({ promptLogprobs, beamSearch }: GenerateRequest): boolean {
  return promptLogprobs === undefined && !beamSearch;
}

/**
 * Creates the body of `POST /v1/completions` of vLLM; see `samplingFields`.
 *
 * @param model name of the base model or adapter on the server.
 */
export function completionBody(
  request: GenerateRequest,
  model: string,
  eosIds: readonly number[],
): Record<string, unknown> {
  const { structuredOutput, repetitionDetection: repetition } = request;
  return {
    model,
    ...samplingFields(request, eosIds),
    top_k: request.topK ?? 0,
    ...(request.allowedTokenIds && { allowed_token_ids: request.allowedTokenIds }),
    include_stop_str_in_output: request.includeStop ?? false,
    spaces_between_special_tokens: false,
    logprobs: request.topLogprobs ?? 0,
    ...(request.promptLogprobs !== undefined && { prompt_logprobs: request.promptLogprobs }),
    ...(structuredOutput && { structured_outputs: constraintOf(structuredOutput) }),
    ...(request.beamSearch && { use_beam_search: true, length_penalty: request.beamSearch.lengthPenalty }),
    ...(repetition && {
      repetition_detection: {
        max_pattern_size: repetition.maxPatternSize,
        min_pattern_size: repetition.minPatternSize,
        min_count: repetition.minCount,
      },
    }),
    return_tokens_as_token_ids: true,
    ...(canStream(request) && { stream: true, stream_options: { include_usage: true } }),
  };
}

function constraintOf(output: StructuredOutput): Record<string, unknown> {
  switch (output.type) {
    case "json_schema":
      return { json: output.schema, ...(output.whitespace === false && { disable_any_whitespace: true }) };
    case "json_object":
      return { json_object: true };
    case "regex":
      return { regex: output.regex };
    case "choice":
      return { choice: output.choices };
    case "grammar":
      return { grammar: output.grammar };
    default:
      return { structural_tag: JSON.stringify(output.tag) };
  }
}
