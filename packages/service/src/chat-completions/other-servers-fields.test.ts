import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { acceptedFields, asksForNothing, refusedFields } from "./other-servers-fields.js";

const text = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8");

/** The fields of chat completions that each server documents. */
const documented: Readonly<Record<string, string>> = {
  OpenAI: `messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens
    metadata modalities n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_retention
    reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options temperature
    tool_choice tools top_logprobs top_p user verbosity web_search_options`,
  vLLM: `thinking_token_budget include_reasoning use_beam_search top_k min_p repetition_penalty watermarking length_penalty
    stop_token_ids include_stop_str_in_output ignore_eos min_tokens skip_special_tokens spaces_between_special_tokens
    truncate_prompt_tokens truncation_side prompt_logprobs logprob_token_ids allowed_token_ids bad_words echo
    add_generation_prompt continue_final_message add_special_tokens documents chat_template chat_template_kwargs
    media_io_kwargs mm_processor_kwargs structured_outputs priority request_id session_id return_tokens_as_token_ids
    return_token_ids routed_experts_prompt_start return_token_offsets return_prompt_text return_mm_kwargs cache_salt
    kv_transfer_params ec_transfer_params vllm_xargs repetition_detection stream_interval guided_json guided_regex
    guided_choice guided_grammar guided_decoding_backend guided_whitespace_pattern structural_tag logits_processors best_of`,
  SGLang: `return_hidden_states return_routed_experts routed_experts_start_len return_cached_tokens_details
    return_prompt_token_ids return_meta_info task regex ebnf stop_regex no_stop_trim lora_path session_params
    separate_reasoning stream_reasoning max_dynamic_patch min_dynamic_patch use_audio_in_video images_config
    custom_logit_processor custom_params input_ids rid extra_key ngram_corpus_id bootstrap_host bootstrap_port
    bootstrap_room routed_dp_rank disagg_prefill_dp_rank data_parallel_rank`,
  "llama.cpp": `dynatemp_range dynatemp_exponent n_predict n_indent n_keep n_cmpl n_cache_reuse typical_p repeat_penalty
    repeat_last_n dry_multiplier dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers xtc_probability
    xtc_threshold mirostat mirostat_tau mirostat_eta grammar json_schema n_probs min_keep t_max_predict_ms id_slot
    cache_prompt return_tokens samplers timings_per_token return_progress sse_ping_interval post_sampling_probs
    response_fields lora top_n_sigma reasoning_format thinking_forced_open parse_tool_calls`,
  "Ollama and NVIDIA": `format options keep_alive think nvext`,
};

interface ChatSchema {
  properties: Record<string, unknown>;
}

test.each(Object.entries(documented))("every field of %s is honoured, harmless, or refused by name", (_, names) => {
  const { components } = JSON.parse(text("spec/dist/training.json")) as {
    components: { schemas: { ChatCompletionReq: ChatSchema } };
  };
  const known = components.schemas.ChatCompletionReq.properties;
  const fates = names.split(/\s+/).map((name) => {
    const fate = [known, acceptedFields, refusedFields].filter((fields) => Object.hasOwn(fields, name)).length;
    return [name, fate] as const;
  });
  expect(fates.filter(([, fate]) => fate !== 1)).toEqual([]);
});

test("the guide names every field that is accepted without an effect", () => {
  const guide = text("packages/docs/guides/chat-completions.md");
  expect(Object.keys(acceptedFields).filter((name) => !guide.includes(`\`${name}\``))).toEqual([]);
});

test.each([
  ["modalities", ["text"], true],
  ["modalities", ["text", "audio"], false],
  ["verbosity", "medium", true],
  ["verbosity", "low", false],
  ["web_search_options", null, true],
  ["web_search_options", {}, false],
  ["nvext", {}, true],
  ["nvext", { top_k: null }, true],
  ["nvext", { top_k: 5 }, false],
  ["mirostat", 0, true],
  ["mirostat", 2, false],
  ["separate_reasoning", true, true],
  ["separate_reasoning", false, false],
  ["enable_thinking", false, false],
  ["samplers", [], true],
  ["n_predict", -1, true],
  ["n_predict", 0, false],
])("%s: %j asks for nothing: %j", (name, value, expected) => {
  expect(asksForNothing(value, refusedFields[name] ?? {})).toBe(expected);
});
