import type { JsonText } from "@heddle/trace-model";

const count = { type: "integer", minimum: 1 };
const number = { type: "number" };
const objects = { type: "array", items: { type: "object" } };

/** What an object of class `LLMStructuredCompletionModel` may say. Members with the value null are absent. */
export const modelSchema: JsonText = JSON.stringify({
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
});
