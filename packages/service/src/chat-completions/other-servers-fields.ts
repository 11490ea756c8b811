/*
 * Fields of chat requests to other servers (OpenAI, vLLM, SGLang, llama.cpp, Ollama, NVIDIA, and some providers) that this
 * service does not have. None is ignored in silence: it asks for nothing, changes nothing that a client could notice, or is
 * refused by its name.
 */

/** Fields that are accepted whatever they are, and why that is harmless. */
export const acceptedFields: Readonly<Record<string, string>> = {
  // OpenAI
  prediction: "It only makes other servers faster: the tokens are the same without it.",
  prompt_cache_key: "Prompts are found in the cache by their tokens.",
  prompt_cache_retention: "Prompts stay in the cache as long as there is space.",
  prompt_cache_options: "Prompts stay in the cache as long as there is space.",
  safety_identifier: "Users are not watched.",
  service_tier: "There is one tier.",
  // vLLM and SGLang
  session_id: "Prompts are found in the cache by their tokens.",
  ngram_corpus_id: "It only makes other servers faster: the tokens are the same without it.",
  stream_interval: "A stream has every token as soon as it is generated.",
  return_mm_kwargs: "For requests that only render a prompt.",
  return_token_offsets: "For requests that only render a prompt.",
  rid: "A name of the request for the log of a server.",
  data_parallel_rank: "Which copy of a server has the request does not change the tokens.",
  routed_dp_rank: "Which copy of a server has the request does not change the tokens.",
  stream_reasoning: "A stream has every token as soon as it is generated.",
  // llama.cpp
  cache_prompt: "Prompts are found in the cache by their tokens.",
  id_slot: "Prompts are found in the cache by their tokens.",
  n_cache_reuse: "Prompts are found in the cache by their tokens.",
  n_keep: "The context is never shifted: a prompt that does not fit is refused.",
  n_discard: "The context is never shifted: a prompt that does not fit is refused.",
  sse_ping_interval: "A stream is silent while a prompt is read, for as long as there is a connection.",
  "speculative.n_max": "It only makes other servers faster: the tokens are the same without it.",
  "speculative.n_min": "It only makes other servers faster: the tokens are the same without it.",
  "speculative.p_min": "It only makes other servers faster: the tokens are the same without it.",
  backend_sampling: "Where tokens are sampled does not change them.",
  repeat_last_n: "Part of `repeat_penalty`, which is refused.",
  dynatemp_exponent: "Part of `dynatemp_range`, which is refused.",
  xtc_threshold: "Part of `xtc_probability`, which is refused.",
  mirostat_tau: "Part of `mirostat`, which is refused.",
  mirostat_eta: "Part of `mirostat`, which is refused.",
  dry_base: "Part of `dry_multiplier`, which is refused.",
  dry_allowed_length: "Part of `dry_multiplier`, which is refused.",
  dry_penalty_last_n: "Part of `dry_multiplier`, which is refused.",
  dry_sequence_breakers: "Part of `dry_multiplier`, which is refused.",
  // Ollama
  keep_alive: "Models stay loaded as the service decides.",
};

/** A field that is refused, unless it asks for nothing. */
export interface RefusedField {
  /** What to send instead. */
  instead?: string;
  /** Values that ask for nothing, besides null. Default: false, 0, and what is empty. */
  neutral?: readonly unknown[];
}

export const refusedFields: Readonly<Record<string, RefusedField>> = {
  // OpenAI
  modalities: { neutral: [["text"], []] },
  audio: {},
  verbosity: { neutral: ["medium"] },
  web_search_options: { neutral: [] },
  moderation: {},
  // vLLM
  best_of: { neutral: [1], instead: "n" },
  logits_processors: {},
  media_io_kwargs: {},
  ec_transfer_params: {},
  prompt_embeds: {},
  watermarking: {},
  logprob_token_ids: { instead: "top_logprobs" },
  return_prompt_text: {},
  routed_experts_prompt_start: {},
  thinking_token_budget: { neutral: [] },
  truncation_side: { neutral: ["left"] },
  // SGLang
  stop_regex: { instead: "stop" },
  no_stop_trim: { instead: "include_stop_str_in_output" },
  lora_path: { instead: "model" },
  session_params: {},
  separate_reasoning: { neutral: [true], instead: "include_reasoning" },
  extra_key: { instead: "cache_salt" },
  custom_logit_processor: {},
  custom_params: {},
  return_hidden_states: {},
  return_routed_experts: {},
  routed_experts_start_len: {},
  return_cached_tokens_details: {},
  return_prompt_token_ids: { instead: "return_token_ids" },
  return_meta_info: {},
  bootstrap_host: {},
  bootstrap_port: {},
  bootstrap_room: {},
  disagg_prefill_dp_rank: {},
  use_audio_in_video: {},
  images_config: {},
  max_dynamic_patch: {},
  min_dynamic_patch: {},
  input_ids: {},
  task: {},
  // llama.cpp
  repeat_penalty: { neutral: [1], instead: "repetition_penalty" },
  typical_p: { neutral: [1] },
  top_n_sigma: { neutral: [-1, 0] },
  dynatemp_range: {},
  xtc_probability: {},
  dry_multiplier: {},
  mirostat: {},
  adaptive_target: { neutral: [-1] },
  samplers: {},
  min_keep: { neutral: [0, 1] },
  n_predict: { neutral: [-1], instead: "max_completion_tokens" },
  n_probs: { instead: "logprobs and top_logprobs" },
  n_cmpl: { neutral: [1], instead: "n" },
  n_indent: {},
  t_max_predict_ms: { neutral: [-1, 0] },
  lora: { instead: "model" },
  grammar_lazy: {},
  grammar_triggers: {},
  preserved_tokens: {},
  return_tokens: { instead: "return_token_ids" },
  post_sampling_probs: {},
  response_fields: {},
  timings_per_token: {},
  return_progress: {},
  parse_tool_calls: { neutral: [true] },
  reasoning_format: { neutral: ["auto", "deepseek", "parsed"], instead: "include_reasoning" },
  thinking_forced_open: {},
  generation_prompt: { instead: "continue_final_message" },
  reasoning_budget: { neutral: [-1] },
  reasoning_budget_tokens: { neutral: [-1] },
  thinking_budget_tokens: { neutral: [-1] },
  // Ollama, NVIDIA, and providers
  options: { instead: "the fields of the request itself, such as temperature" },
  think: { neutral: [], instead: "reasoning_effort or chat_template_kwargs" },
  nvext: { instead: "the fields of the request itself, such as top_k and structured_outputs" },
  enable_thinking: { neutral: [], instead: "chat_template_kwargs.enable_thinking" },
  thinking_budget: { neutral: [] },
  thinking: { neutral: [], instead: "reasoning_effort or chat_template_kwargs" },
  extra_body: { instead: "its members as fields of the request" },
  reasoning: { instead: "reasoning_effort" },
  provider: {},
  top_a: {},
  models: { instead: "model" },
  plugins: {},
  transforms: {},
  random_seed: { neutral: [], instead: "seed" },
  safe_prompt: {},
  prompt_mode: {},
  context_length_exceeded_behavior: { neutral: ["error"], instead: "truncate_prompt_tokens" },
};

/** Whether a value of a refused field asks for nothing. */
export function asksForNothing(value: unknown, { neutral }: RefusedField): boolean {
  if (value === null || value === undefined) return true;
  if (neutral !== undefined) return neutral.some((each) => JSON.stringify(each) === JSON.stringify(value));
  if (typeof value !== "object") return value === false || value === 0 || value === "";
  return Object.values(value).every((member) => member === null);
}
