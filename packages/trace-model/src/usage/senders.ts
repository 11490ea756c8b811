/**
 * What a count is of. `input` and `output` are the whole of what was sent and received, as far as the sender counts it;
 * the others are parts of them, or reported next to them.
 */
export type CountKind = "requests" | "input" | "cache_read" | "cache_creation" | "output" | "reasoning" | "total";

/**
 * One name of a count. `apart` says that the sender does not count these tokens in its input or output count, `inside`
 * that it does; a name without either leaves it to the other names of the entry, and then to `inside`.
 */
export type CountName = CountKind | readonly [kind: CountKind, part: "inside" | "apart"];

/**
 * Names of counts in an entry of `summary.usage`, by who sends them: dotted paths. Different names of the input or of the
 * output are added; of several names of a part, and of the total, the greatest value counts.
 */
export const usageSenders: Readonly<Record<string, Readonly<Record<string, CountName>>>> = {
  "weave clients": { requests: "requests" },
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
    toolUsePromptTokenCount: "input",
    cachedContentTokenCount: ["cache_read", "inside"],
    candidatesTokenCount: "output",
    thoughtsTokenCount: ["reasoning", "apart"],
    totalTokenCount: "total",
  },
  "Gemini, Python": {
    prompt_token_count: ["input", "inside"],
    tool_use_prompt_token_count: "input",
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
  "Vercel AI SDK": {
    promptTokens: ["input", "inside"],
    completionTokens: "output",
    inputTokens: "input",
    outputTokens: "output",
    totalTokens: "total",
    cachedInputTokens: ["cache_read", "inside"],
    "inputTokenDetails.cacheReadTokens": ["cache_read", "inside"],
    "inputTokenDetails.cacheWriteTokens": ["cache_creation", "inside"],
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
};

/**
 * Attributes of OpenTelemetry spans with counts, by what they are of: the first that a span has is taken. Instrumentations
 * write several conventions at once, so these are never added. All of them count cached tokens as input and reasoning as
 * output, as the GenAI conventions demand; an instrumentation that does not is recognised by its numbers.
 */
export const usageAttributes = {
  /** Under the name that the count has in `summary.usage`. */
  input: {
    input_tokens: ["gen_ai.usage.input_tokens"],
    prompt_tokens: [
      "gen_ai.usage.prompt_tokens",
      "llm.token_count.prompt",
      "ai.usage.promptTokens",
      "ai.usage.inputTokens",
      "llm.usage.prompt_tokens",
      "mlflow.chat.tokenUsage.input_tokens",
    ],
  },
  output: {
    output_tokens: ["gen_ai.usage.output_tokens"],
    completion_tokens: [
      "gen_ai.usage.completion_tokens",
      "llm.token_count.completion",
      "ai.usage.completionTokens",
      "ai.usage.outputTokens",
      "llm.usage.completion_tokens",
      "mlflow.chat.tokenUsage.output_tokens",
    ],
  },
  total: [
    "llm.usage.total_tokens",
    "llm.token_count.total",
    "gen_ai.usage.total_tokens",
    "ai.usage.totalTokens",
    "ai.usage.tokens",
    "mlflow.chat.tokenUsage.total_tokens",
  ],
  cache_read: [
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "llm.token_count.prompt_details.cache_read",
    "ai.usage.cachedInputTokens",
    "ai.usage.inputTokenDetails.cacheReadTokens",
    "llm.usage.cache_read_input_tokens",
    "mlflow.chat.tokenUsage.cache_read_input_tokens",
  ],
  cache_creation: [
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.details.cache_write_tokens",
    "llm.token_count.prompt_details.cache_write",
    "ai.usage.inputTokenDetails.cacheWriteTokens",
    "llm.usage.cache_creation_input_tokens",
    "mlflow.chat.tokenUsage.cache_creation_input_tokens",
  ],
  reasoning: [
    "gen_ai.usage.reasoning.output_tokens",
    "gen_ai.usage.reasoning_tokens",
    "gen_ai.usage.details.reasoning_tokens",
    "llm.token_count.completion_details.reasoning",
    "ai.usage.reasoningTokens",
    "ai.usage.outputTokenDetails.reasoningTokens",
    "llm.usage.reasoning_tokens",
  ],
} as const;
