import { endsInReasoning } from "@heddle/chat-format";
import type { ChatTemplate, OutputFormat, SharedWork } from "@heddle/chat-format";
import { HeddleError } from "@heddle/errors";
import type { Schemas } from "@heddle/server-stub/training";
import { withWireLoc } from "./wire-loc.js";

type ChatRequest = Schemas["ChatCompletionReq"];

export interface Prompt {
  ids: Int32Array;
  /** The completion begins inside of a block of reasoning. */
  opensReasoning: boolean;
  /** How the model writes calls and reasoning. */
  output: OutputFormat;
  /** Text that the content of every choice begins with. */
  echo: string;
}

/** Renders and tokenizes a conversation. Throws `invalid` or `unsupported` with the field. */
export async function renderPrompt(
  request: ChatRequest,
  contextLength: number,
  template: ChatTemplate,
  work: SharedWork,
): Promise<Prompt> {
  const lastTokens = tokensToKeep(request, contextLength);
  const { text, ids } = await withWireLoc(async () => {
    try {
      const conversation = {
        messages: request.messages,
        tools: request.tools,
        documents: request.documents,
        addGenerationPrompt: request.add_generation_prompt,
        continueFinalMessage: request.continue_final_message,
        kwargs: { ...reasoningVariables(request), ...request.chat_template_kwargs },
        template: request.chat_template,
        addSpecialTokens: request.add_special_tokens,
        maxTokens: lastTokens === undefined ? contextLength : undefined,
        lastTokens,
      };
      return await template.render(conversation, work);
    } catch (error) {
      throw renderError(error, request, contextLength);
    }
  });
  const output = template.outputFormat({ template: request.chat_template, tools: request.tools });
  return {
    ids,
    opensReasoning: endsInReasoning(text, output.reasoning),
    output,
    echo: request.echo ? echoed(request) : "",
  };
}

/** A failure of a template is about the template of the request, else about the messages that it does not accept. */
function renderError(error: unknown, { chat_template: own }: ChatRequest, contextLength: number): unknown {
  if (!(error instanceof HeddleError) || error.loc !== undefined) return error;
  if (error.code === "invalid") return error.with({ loc: [own === undefined ? "messages" : "chat_template"] });
  if (error.code !== "too_large") return error;
  const message = `the maximum context length is ${contextLength} tokens; ${error.message}`;
  return error.with({ code: "invalid", message, loc: ["messages"] });
}

function reasoningVariables({ reasoning_effort: effort }: ChatRequest): Record<string, unknown> {
  return effort === undefined ? {} : { reasoning_effort: effort, enable_thinking: effort !== "none" };
}

/** How many tokens of the end of a prompt are kept; undefined: all. */
function tokensToKeep(request: ChatRequest, contextLength: number): number | undefined {
  const { truncate_prompt_tokens: kept } = request;
  const requested = request.max_completion_tokens ?? request.max_tokens ?? 1;
  return kept === -1 ? Math.max(1, contextLength - requested) : kept;
}

/** The content of the last message, if that is one of the assistant. */
function echoed({ messages }: ChatRequest): string {
  const last = messages.at(-1);
  if (last?.role !== "assistant" || last.content === undefined) return "";
  if (typeof last.content === "string") return last.content;
  return last.content.map((part) => (typeof part === "string" ? part : (part.text ?? ""))).join("\n");
}
