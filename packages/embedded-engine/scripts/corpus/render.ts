import { renderTemplate } from "@heddle/chat-format";
import type { Example } from "./example.js";
import { isPassage } from "./example.js";

/** The prompt, and the answer with the token that ends it. */
interface Rendered {
  prompt: string;
  answer: string;
}

export type Renderer = (example: Example) => Rendered;

/** Renders a conversation with the chat template of the model. A passage is an answer without a prompt. */
export function renderer(chatTemplate: string): Renderer {
  return (example) => {
    if (isPassage(example)) return { prompt: "", answer: `${example.text}<|endoftext|>` };
    const { messages, tools } = example;
    const prompt = renderTemplate(chatTemplate, {
      messages: messages.slice(0, -1),
      tools,
      add_generation_prompt: true,
    });
    const whole = renderTemplate(chatTemplate, { messages, tools, add_generation_prompt: false });
    if (!whole.startsWith(prompt) || !whole.endsWith("\n"))
      throw new Error(`the template changes its own prompt: ${whole}`);
    return { prompt, answer: whole.slice(prompt.length, -1) };
  };
}
