/**
 * What a count is of. `input` and `output` are the whole of what was sent and received, as far as the sender counts it;
 * `more_input` is sent in addition to `input`; the others are parts of them, or reported next to them.
 */
export type CountKind =
  | "requests"
  | "input"
  | "more_input"
  | "cache_read"
  | "cache_creation"
  | "output"
  | "reasoning"
  | "total";

/**
 * One name of a count. `apart` says that the sender does not count these tokens in its input or output count, `inside`
 * that it does; a name without either leaves it to the other names of the entry, and then to `inside`.
 */
export type CountName = CountKind | readonly [kind: CountKind, part: "inside" | "apart"];

/**
 * Names of counts in an entry of `summary.usage`, by who sends them: dotted paths. They are the names of counts in
 * attributes of spans as well, below {@link usageAttributes}.
 */
export const usageSenders: Readonly<Record<string, Readonly<Record<string, CountName>>>> = {
  "weave clients": { requests: "requests", thoughts_tokens: ["reasoning", "apart"] },
  "OpenAI chat completions, LiteLLM, Mistral, Groq, xAI": {
    prompt_tokens: ["input", "inside"],
    completion_tokens: "output",
    total_tokens: "total",
    "prompt_tokens_details.cached_tokens": ["cache_read", "inside"],
    "prompt_tokens_details.cache_write_tokens": ["cache_creation", "inside"],
    "prompt_tokens_details.cache_creation_tokens": ["cache_creation", "inside"],
    "completion_tokens_details.reasoning_tokens": "reasoning",
  },
  "OpenAI responses": {
    input_tokens: "input",
    output_tokens: "output",
    total_tokens: "total",
    "input_tokens_details.cached_tokens": ["cache_read", "inside"],
    "input_tokens_details.cache_write_tokens": ["cache_creation", "inside"],
    "output_tokens_details.reasoning_tokens": "reasoning",
  },
  "Anthropic, MLflow": {
    input_tokens: "input",
    output_tokens: "output",
    cache_read_input_tokens: ["cache_read", "apart"],
    cache_creation_input_tokens: ["cache_creation", "apart"],
    "output_tokens_details.thinking_tokens": "reasoning",
    total_tokens: "total",
  },
  "Gemini, REST": {
    promptTokenCount: ["input", "inside"],
    toolUsePromptTokenCount: "more_input",
    cachedContentTokenCount: ["cache_read", "inside"],
    candidatesTokenCount: "output",
    thoughtsTokenCount: ["reasoning", "apart"],
    totalTokenCount: "total",
  },
  "Gemini, Python": {
    prompt_token_count: ["input", "inside"],
    tool_use_prompt_token_count: "more_input",
    cached_content_token_count: ["cache_read", "inside"],
    candidates_token_count: "output",
    thoughts_token_count: ["reasoning", "apart"],
    total_token_count: "total",
  },
  "Bedrock Converse": {
    inputTokens: "input",
    outputTokens: "output",
    totalTokens: "total",
    cacheReadInputTokens: ["cache_read", "apart"],
    cacheWriteInputTokens: ["cache_creation", "apart"],
  },
  "Bedrock invocation metrics": {
    inputTokenCount: "input",
    outputTokenCount: "output",
    cacheReadInputTokenCount: ["cache_read", "apart"],
    cacheWriteInputTokenCount: ["cache_creation", "apart"],
  },
  "Vercel AI SDK": {
    promptTokens: ["input", "inside"],
    completionTokens: "output",
    inputTokens: "input",
    outputTokens: "output",
    totalTokens: "total",
    cachedInputTokens: ["cache_read", "inside"],
    "inputTokenDetails.cacheReadTokens": ["cache_read", "inside"],
    "inputTokenDetails.cacheWriteTokens": ["cache_creation", "inside"],
    tokens: "total",
    reasoningTokens: "reasoning",
    "outputTokenDetails.reasoningTokens": "reasoning",
  },
  LangChain: {
    input_tokens: "input",
    output_tokens: "output",
    total_tokens: "total",
    "input_token_details.cache_read": ["cache_read", "inside"],
    "input_token_details.cache_creation": ["cache_creation", "inside"],
    "output_token_details.reasoning": "reasoning",
  },
  DeepSeek: { prompt_cache_hit_tokens: ["cache_read", "inside"] },
  Cohere: { "billed_units.input_tokens": "input", "billed_units.output_tokens": "output" },
  Ollama: { prompt_eval_count: "input", eval_count: "output" },
  "watsonx, Replicate, Confident": {
    input_token_count: "input",
    output_token_count: "output",
    generated_token_count: "output",
  },
  "Pydantic AI, OpenAI Agents": {
    cache_read_tokens: ["cache_read", "inside"],
    cache_write_tokens: ["cache_creation", "inside"],
    cached_tokens: ["cache_read", "inside"],
    cached_input_tokens: ["cache_read", "inside"],
    cache_write_input_tokens: ["cache_creation", "apart"],
    reasoning_tokens: "reasoning",
    thinking_tokens: "reasoning",
    reasoning_output_tokens: "reasoning",
  },
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
  "GenAI conventions of OpenTelemetry": {
    "cache_read.input_tokens": ["cache_read", "inside"],
    "cache_creation.input_tokens": ["cache_creation", "inside"],
    "reasoning.output_tokens": "reasoning",
    "details.cache_read_tokens": ["cache_read", "inside"],
    "details.cache_write_tokens": ["cache_creation", "inside"],
    "details.cached_tokens": ["cache_read", "inside"],
    "details.reasoning_tokens": "reasoning",
  },
  Sentry: {
    "input_tokens.cached": ["cache_read", "inside"],
    "input_tokens.cache_write": ["cache_creation", "inside"],
    "output_tokens.reasoning": "reasoning",
  },
  OpenInference: {
    prompt: ["input", "inside"],
    completion: "output",
    "prompt_details.cache_read": ["cache_read", "inside"],
    "prompt_details.cache_input": ["cache_read", "inside"],
    "prompt_details.cache_write": ["cache_creation", "inside"],
    "completion_details.reasoning": "reasoning",
  },
};

/**
 * Attributes of OpenTelemetry spans below which counts have the names above, the most specific first. Instrumentations write
 * several conventions at once, so of each kind the first of these that has it is taken, and nothing is added.
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
  "mlflow.chat.tokenUsage": "inside",
  "braintrust.metrics": "named",
  "langwatch.metrics.value": "named",
  "lk.llm_metrics": "named",
  "confident.llm": "named",
  "gcp.vertex.agent.llm_response.usage_metadata": "named",
  "langsmith.metadata.usage_metadata": "named",
  // Sums over the spans below, of agents.
  "gen_ai.aggregated_usage": "inside",
};
