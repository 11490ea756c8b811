/**
 * Prefixes that name who serves a model, or through whom: LiteLLM, OpenRouter, LangChain, Pydantic AI and the AI SDK put them
 * in front of the model's own name. Organisations whose open models many serve at prices of their own are not among them,
 * and neither are programs that run models locally.
 */
const providers = new Set(
  `openai openai-chat openai-responses responses azure azure_ai azure-ai azure_openai azure-openai azureopenai
  text-completion-openai anthropic claude
  google gemini vertex_ai vertex-ai vertexai vertex_ai_beta google-gla google-vertex google_genai
  google_vertexai google_ai_studio google-ai-studio models bedrock bedrock_converse amazon-bedrock
  amazon_bedrock aws-bedrock converse invoke groq mistral cohere cohere_chat deepseek xai x-ai grok
  perplexity moonshot cerebras together together_ai togetherai fireworks fireworks_ai fireworks-ai
  dashscope alibaba deepinfra sambanova databricks nvidia_nim nebius novita hyperbolic huggingface github
  github_copilot watsonx snowflake minimax zai openrouter litellm litellm_proxy vercel gateway heddle wandb`.split(
    /\s+/,
  ),
);

/** Open models: their organisation is part of their name. */
const openModels = /^(?:openai\/gpt-oss|google\/gemma|cohere\/c4ai)/i;

/** Profiles of Bedrock that serve a model in one geography, at its price; `global.` has prices of its own. */
const geography = /^(?:us-gov|us|eu|apac|jp|au|ca|sa)\.(?=[a-z0-9]+\.)/;
const region = /^[a-z]{2}(?:-[a-z]+)+-\d\//;

/**
 * The name under which usage of a model is summed up: the spellings of one model of one provider have the same. Without what
 * only says who was asked: resource paths of Google and AWS, prefixes of providers and routers, and geographies of
 * Bedrock. A version is part of the name.
 */
export function modelName(model: string): string {
  // Most names are plain.
  if (!special.test(model)) return model;
  let name = model.trim();
  name = /^arn:aws[\w-]*:bedrock:.*:(?:foundation-model|inference-profile)\/(.+)$/.exec(name)?.[1] ?? name;
  name = /^(?:projects\/.+\/)?publishers\/[^/]+\/models\/(.+)$/.exec(name)?.[1] ?? name;
  for (;;) {
    const prefix = /^([\w-]+)[/:](?=.)/.exec(name)?.[1];
    if (prefix === undefined || !providers.has(prefix.toLowerCase()) || openModels.test(name)) break;
    name = name.slice(prefix.length + 1).replace(region, "");
  }
  name = name
    .replace(geography, "")
    .replace(/@(\d{6,8})$/, "-$1")
    .replace(/@(?:default|latest)$/, "")
    .replace(/^gpt-35-/, "gpt-3.5-")
    // As it is served to clients that split names at a slash.
    .replace(/^heddle-(?=starter$)/, "");
  return name === "" ? model : name;
}

const special = /[/:@\s]|^gpt-35-|^heddle-|^(?:us-gov|us|eu|apac|jp|au|ca|sa)\./;

/**
 * Names under which the price of a model is looked for, the best first: its name, and that of the model without the version: a
 * date, a number of three digits, `latest`, or the size of the context that Bedrock appends.
 */
export function priceNames(model: string): string[] {
  const name = modelName(model);
  const shorter = name.replace(/(?::\d+k|-(?:\d{4}-\d{2}-\d{2}|20\d{6}|\d{3}|latest))$/, "");
  return shorter === name || shorter === "" ? [name] : [name, shorter];
}
