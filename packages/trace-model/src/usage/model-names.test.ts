import { expect, test } from "vitest";
import { modelName, priceNames } from "./model-names.js";

test.each([
  ["gpt-4o", "gpt-4o"],
  ["openai/gpt-4o", "gpt-4o"],
  ["openai:gpt-4o", "gpt-4o"],
  ["openrouter/openai/gpt-4o", "gpt-4o"],
  ["azure/gpt-4o", "gpt-4o"],
  ["gpt-35-turbo-0125", "gpt-3.5-turbo-0125"],
  ["heddle/starter", "starter"],
  ["starter", "starter"],
  ["heddle-starter", "starter"],
  ["openai/heddle-starter", "starter"],
  ["openai-responses:gpt-4o", "gpt-4o"],
  ["openai/responses/gpt-4o", "gpt-4o"],
  ["cohere_chat/command-r-plus", "command-r-plus"],
  ["deepinfra/meta-llama/Llama-3.3-70B-Instruct", "meta-llama/Llama-3.3-70B-Instruct"],
  ["huggingface:Qwen/Qwen3-8B", "Qwen/Qwen3-8B"],
  ["github/gpt-4o", "gpt-4o"],
  ["models/gemini-2.5-pro", "gemini-2.5-pro"],
  ["gemini/gemini-2.5-pro", "gemini-2.5-pro"],
  ["google-gla:gemini-2.5-pro", "gemini-2.5-pro"],
  ["publishers/google/models/gemini-2.5-pro", "gemini-2.5-pro"],
  ["projects/p/locations/global/publishers/google/models/gemini-2.5-pro", "gemini-2.5-pro"],
  ["vertex_ai/claude-sonnet-4-5@20250929", "claude-sonnet-4-5-20250929"],
  ["anthropic/claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20250929"],
  ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic.claude-sonnet-4-5-20250929-v1:0"],
  ["bedrock/us-east-1/eu.anthropic.claude-3-haiku-20240307-v1:0", "anthropic.claude-3-haiku-20240307-v1:0"],
  ["bedrock/converse/apac.amazon.nova-pro-v1:0", "amazon.nova-pro-v1:0"],
  [
    "arn:aws:bedrock:us-west-2:123456789012:inference-profile/us.anthropic.claude-3-haiku-20240307-v1:0",
    "anthropic.claude-3-haiku-20240307-v1:0",
  ],
  ["arn:aws:bedrock:us-west-2::foundation-model/amazon.nova-pro-v1:0", "amazon.nova-pro-v1:0"],
  // Served at prices of their own.
  ["global.anthropic.claude-sonnet-5-v1:0", "global.anthropic.claude-sonnet-5-v1:0"],
  ["openai/gpt-oss-120b", "openai/gpt-oss-120b"],
  ["groq/openai/gpt-oss-120b", "openai/gpt-oss-120b"],
  ["meta-llama/Llama-3.3-70B-Instruct-Turbo", "meta-llama/Llama-3.3-70B-Instruct-Turbo"],
  ["accounts/fireworks/models/gpt-oss-120b", "accounts/fireworks/models/gpt-oss-120b"],
  ["ollama/mistral-large", "ollama/mistral-large"],
  ["llama3.1:8b", "llama3.1:8b"],
  ["ft:gpt-4o-mini-2024-07-18:acme::abc", "ft:gpt-4o-mini-2024-07-18:acme::abc"],
  ["heddle-9000", "heddle-9000"],
  // Nothing is left of these.
  ["openai/", "openai/"],
  ["openai", "openai"],
  [" ", " "],
  ["", ""],
])("%s is summed up as %s", (model, name) => {
  expect(modelName(model)).toBe(name);
  expect(modelName(name)).toBe(name);
});

test.each([
  ["gpt-4o", ["gpt-4o"]],
  ["openai/gpt-4o-2024-08-06", ["gpt-4o-2024-08-06", "gpt-4o"]],
  ["claude-opus-4-1@20250805", ["claude-opus-4-1-20250805", "claude-opus-4-1"]],
  ["gemini-2.0-flash-001", ["gemini-2.0-flash-001", "gemini-2.0-flash"]],
  ["grok-4-latest", ["grok-4-latest", "grok-4"]],
  [
    "anthropic.claude-3-haiku-20240307-v1:0:200k",
    ["anthropic.claude-3-haiku-20240307-v1:0:200k", "anthropic.claude-3-haiku-20240307-v1:0"],
  ],
  ["gpt-4-32k", ["gpt-4-32k"]],
])("the price of %s is found under %j", (model, names) => {
  expect(priceNames(model)).toEqual(names);
});
