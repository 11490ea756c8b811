import type { JsonSchema } from "./schema-value.js";

const count = { type: "integer", minimum: 1 } as const;
const number = { type: "number" } as const;
const objects = { type: "array", items: { type: "object" } } as const;

/** What an object of class `LLMStructuredCompletionModel` may say. Members with the value null are absent. */
export const modelSchema = {
  type: "object",
  required: ["llm_model_id"],
  properties: {
    llm_model_id: { type: "string", minLength: 1 },
    default_params: {
      type: "object",
      properties: {
        messages_template: {
          type: "array",
          items: { type: "object", required: ["role"], properties: { role: { type: "string" } } },
        },
        prompt: { type: "string" },
        temperature: number,
        top_p: number,
        max_tokens: count,
        max_completion_tokens: count,
        presence_penalty: number,
        frequency_penalty: number,
        stop: { type: ["string", "array"], items: { type: "string" } },
        n_times: { const: 1 },
        functions: objects,
        tools: objects,
        response_format: {
          anyOf: [
            { enum: ["json", "json_object", "text"] },
            { type: "object", required: ["type"], properties: { type: { type: "string" } } },
          ],
        },
        stream: { const: false },
      },
    },
  },
} as const satisfies JsonSchema;
