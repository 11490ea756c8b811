/**
 * What a count is of. `input` and `output` are the whole of what was sent and received, as far as the sender counts it;
 * `more_input` is sent in addition to `input`, `uncached_input` is what of it was neither read from a cache nor written to one,
 * and of `cache_creation_part` there are several that add up; the others are parts of them, or reported next to them.
 */
export type CountKind =
  | "requests"
  | "input"
  | "more_input"
  | "uncached_input"
  | "cache_read"
  | "cache_creation"
  | "cache_creation_part"
  | "output"
  | "reasoning"
  | "total";

/**
 * One name of a count. `apart` says that the sender does not count these tokens in its input or output count, `inside`
 * that it does; a name without either leaves it to the other names of the entry, and then to `inside`. `otherwise` is the same
 * thing counted in another way: it is taken where no other name has the kind.
 */
export type CountName = CountKind | readonly [kind: CountKind, part: "inside" | "apart" | "otherwise"];

/**
 * Names of counts in an entry of `summary.usage`, by who sends them: dotted paths. They are the names of counts in
 * attributes of spans as well, below {@link usageAttributes}. All are written `as_this` here, and mean the same `asThis` and
 * `AsThis`.
 */
export const usageSenders: Readonly<Record<string, Readonly<Record<string, CountName>>>> = {
  "weave clients": { requests: "requests", thoughts_tokens: ["reasoning", "apart"] },
  "OpenAI, LiteLLM, Mistral, Groq, xAI, Pydantic AI, AI SDK": {
    prompt_tokens: ["input", "inside"],
    completion_tokens: "output",
    input_tokens: "input",
    output_tokens: "output",
    total_tokens: "total",
    ...named(
      ["prompt_tokens", "prompt_token", "prompt", "input_tokens", "input_token", "input"],
      ["cached_tokens", "cached", "cache_read_tokens", "cache_read", "cache_input"],
      ["cache_read", "inside"],
    ),
    ...named(
      ["prompt_tokens", "prompt_token", "prompt", "input_tokens", "input_token", "input"],
      ["cache_write_tokens", "cache_write", "cache_creation_tokens", "cache_creation"],
      ["cache_creation", "inside"],
    ),
    ...named(
      ["completion_tokens", "completion_token", "completion", "output_tokens", "output_token", "output"],
      ["reasoning_tokens", "reasoning", "thinking_tokens"],
      "reasoning",
    ),
  },
  "Anthropic, Bedrock Converse, MLflow": {
    cache_read_input_tokens: ["cache_read", "apart"],
    cache_creation_input_tokens: ["cache_creation", "apart"],
    cache_write_input_tokens: ["cache_creation", "apart"],
    "cache_creation.ephemeral_5m_input_tokens": ["cache_creation_part", "apart"],
    "cache_creation.ephemeral_1h_input_tokens": ["cache_creation_part", "apart"],
  },
  "LangChain for Anthropic": {
    "input_token_details.ephemeral_5m_input_tokens": ["cache_creation_part", "inside"],
    "input_token_details.ephemeral_1h_input_tokens": ["cache_creation_part", "inside"],
  },
  Gemini: {
    prompt_token_count: ["input", "inside"],
    tool_use_prompt_token_count: "more_input",
    cached_content_token_count: ["cache_read", "inside"],
    candidates_token_count: "output",
    response_token_count: "output",
    thoughts_token_count: ["reasoning", "apart"],
    total_token_count: "total",
  },
  "Bedrock, other spellings": {
    cache_read_input_token_count: ["cache_read", "apart"],
    cache_write_input_token_count: ["cache_creation", "apart"],
    cache_read_input_tokens_count: ["cache_read", "apart"],
    cache_write_input_tokens_count: ["cache_creation", "apart"],
  },
  "Vercel AI SDK": {
    tokens: "total",
    "input_tokens.total": "input",
    "input_tokens.cache_read": ["cache_read", "inside"],
    "output_tokens.total": "output",
  },
  "DeepSeek, Mistral": {
    prompt_cache_hit_tokens: ["cache_read", "inside"],
    num_cached_tokens: ["cache_read", "inside"],
  },
  Cohere: {
    "billed_units.input_tokens": "input",
    "billed_units.output_tokens": "output",
    "tokens.input_tokens": ["input", "otherwise"],
    "tokens.output_tokens": ["output", "otherwise"],
  },
  Ollama: { prompt_eval_count: "input", eval_count: "output" },
  "watsonx, Replicate, Confident, Microsoft.Extensions.AI": {
    input_token_count: "input",
    output_token_count: "output",
    generated_token_count: "output",
    cached_input_token_count: ["cache_read", "inside"],
    reasoning_token_count: "reasoning",
  },
  "Text Generation Inference, Spring AI": {
    generated_tokens: "output",
    generation_tokens: "output",
    "details.generated_tokens": "output",
  },
  "Titan and Llama of Bedrock": { input_text_token_count: "input", generation_token_count: "output" },
  "llama.cpp": {
    tokens_evaluated: "input",
    tokens_predicted: "output",
    // Of `timings`: what the prompt added to the cache, and what was there before.
    "timings.prompt_n": "input",
    "timings.cache_n": ["cache_read", "apart"],
    "timings.predicted_n": "output",
  },
  "OpenRouter's generations": {
    native_tokens_prompt: "input",
    native_tokens_completion: "output",
    native_tokens_cached: ["cache_read", "inside"],
    native_tokens_reasoning: "reasoning",
    tokens_prompt: ["input", "otherwise"],
    tokens_completion: ["output", "otherwise"],
  },
  "Pydantic AI, OpenAI Agents, AI SDK": {
    cache_read_tokens: ["cache_read", "inside"],
    cache_write_tokens: ["cache_creation", "inside"],
    cached_tokens: ["cache_read", "inside"],
    cached_input_tokens: ["cache_read", "inside"],
    reasoning_tokens: "reasoning",
    thinking_tokens: "reasoning",
    reasoning_output_tokens: "reasoning",
  },
  "Pydantic AI before 1.0": { request_tokens: "input", response_tokens: "output" },
  Langfuse: {
    input: "input",
    output: "output",
    total: "total",
    input_cached_tokens: ["cache_read", "apart"],
    input_cache_read: ["cache_read", "apart"],
    input_cache_creation: ["cache_creation", "apart"],
    output_reasoning_tokens: ["reasoning", "apart"],
    output_reasoning: ["reasoning", "apart"],
  },
  "Braintrust, LiveKit": {
    prompt_cached_tokens: ["cache_read", "inside"],
    prompt_cache_creation_tokens: ["cache_creation", "inside"],
    completion_reasoning_tokens: "reasoning",
  },
  Helicone: {
    prompt_cache_read_tokens: ["cache_read", "inside"],
    prompt_cache_write_tokens: ["cache_creation", "inside"],
  },
  "GenAI conventions of OpenTelemetry": {
    "cache_read.input_tokens": ["cache_read", "inside"],
    "cache_creation.input_tokens": ["cache_creation", "inside"],
    "reasoning.output_tokens": "reasoning",
    "details.cache_read_tokens": ["cache_read", "inside"],
    "details.cache_write_tokens": ["cache_creation", "inside"],
    "details.cached_tokens": ["cache_read", "inside"],
    "details.reasoning_tokens": "reasoning",
  },
  "Datadog LLM Observability": { non_cached_input_tokens: "uncached_input" },
  "PostHog LLM analytics": {
    $ai_input_tokens: "input",
    $ai_output_tokens: "output",
    $ai_total_tokens: "total",
    $ai_cache_read_input_tokens: "cache_read",
    $ai_cache_creation_input_tokens: "cache_creation",
    $ai_reasoning_tokens: "reasoning",
  },
  Sentry: {
    "input_tokens.cached": ["cache_read", "inside"],
    "input_tokens.cache_write": ["cache_creation", "inside"],
    "output_tokens.reasoning": "reasoning",
  },
  OpenInference: { prompt: ["input", "inside"], completion: "output" },
};

/** Names of an entry that lead to one more: what a library had around the counts. */
export const usageWrappers = [
  "usage",
  "usage_metadata",
  "token_usage",
  "accumulated_usage",
  // Opik, which writes it with dots
  "original_usage",
  "x_groq",
  "meta",
  "amazon-bedrock-invocationMetrics",
];

/** One meaning of parts in the details of wholes. */
function named(wholes: readonly string[], parts: readonly string[], name: CountName): Record<string, CountName> {
  return Object.fromEntries(wholes.flatMap((whole) => parts.map((part) => [`${whole}_details.${part}`, name])));
}

/**
 * Attributes of OpenTelemetry spans below which counts have the names above, the most specific first. Instrumentations write
 * several conventions at once, so of each kind the first of these that has it is taken, and nothing is added.
 *
 * An attribute that is itself a name above has that count.
 *
 * `inside`: cached tokens are counted as input and reasoning as output whatever the name, as the GenAI conventions
 * demand; an instrumentation that does not is recognised by its numbers. `named`: as the names say.
 */
export const usageAttributes: Readonly<Record<string, "inside" | "named">> = {
  "langfuse.observation.usage_details": "named",
  "gen_ai.usage": "inside",
  "llm.token_count": "inside",
  "ai.usage": "inside",
  "llm.usage": "inside",
  "llm.token.counts": "inside",
  "mlflow.chat.tokenUsage": "inside",
  "braintrust.metrics": "named",
  "langwatch.metrics.value": "named",
  "lk.llm_metrics": "named",
  "confident.llm": "named",
  "gcp.vertex.agent.llm_response.usage_metadata": "named",
  "langsmith.metadata.usage_metadata": "named",
  "genkit:output.usage": "named",
  "_ml_obs.metrics": "inside",
  "opik.usage": "named",
  usage: "named",
  $ai_input_tokens: "named",
  $ai_output_tokens: "named",
  $ai_total_tokens: "named",
  $ai_cache_read_input_tokens: "named",
  $ai_cache_creation_input_tokens: "named",
  $ai_reasoning_tokens: "named",
  // Sums over the spans below, of agents.
  "gen_ai.aggregated_usage": "inside",
};
