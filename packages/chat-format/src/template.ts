import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";
import { templateMessages, templateTools } from "./chat-messages.js";
import { isJsonObject } from "@heddle/durable-files";
import type { ReasoningTags } from "./reasoning.js";
import { reasoningTags } from "./reasoning.js";
import { toolCallFormat } from "./tool-calls/detect-format.js";
import { tagsOf } from "./tool-calls/block-formats.js";
import type { ToolCallFormat } from "./tool-calls/tool-call.js";
import { chooseTemplate, maxTemplateLength, readChatTemplates } from "./template-files.js";
import type { TemplateLimits } from "./template-limits.js";
import { templateLimits } from "./template-limits.js";
import { renderTemplate } from "./template-render.js";
import { renderInThread } from "./template-thread.js";
import { templateTraits } from "./template-traits.js";
import type { Tokenizer } from "./tokenizer.js";

/** A submitted conversation, not validated yet. */
export interface ChatRequest {
  messages: unknown;
  tools?: unknown;
  documents?: unknown;
  /** End the prompt with the start of an assistant message. Default true. */
  addGenerationPrompt?: boolean;
  /** End the prompt inside the last message, so that the model continues it. Excludes `addGenerationPrompt`. */
  continueFinalMessage?: boolean;
  /** Additional variables for the template, such as `enable_thinking`. */
  kwargs?: unknown;
  /** Template to use instead of the model's. */
  template?: string;
  /** Default false, because chat templates write the beginning-of-text token themselves. */
  addSpecialTokens?: boolean;
  /** Maximum tokens; a longer prompt is `too_large`. */
  maxTokens?: number;
  /** Locations of messages and tools in the caller's arguments, for errors. Default `messages` and `tools`. */
  locs?: { messages?: Loc; tools?: Loc };
}

interface RenderedChat {
  text: string;
  ids: Int32Array;
}

export interface ChatTemplate {
  readonly tokenizer: Tokenizer;
  /**
   * Renders and tokenizes a request. Rejects with `invalid` or `unsupported` and the location or the message of the
   * template, and with `too_large` for a text over the limits.
   */
  render(request: ChatRequest): Promise<RenderedChat>;
  /** Renders a request without tokenizing it. */
  renderText(request: ChatRequest): Promise<string>;
  /** What the template of a request tells about the text that the model writes. */
  outputFormat(request: Pick<ChatRequest, "template" | "tools">): OutputFormat;
}

export interface OutputFormat {
  /** Undefined if the template does not tell how calls are written. */
  toolCalls: ToolCallFormat | undefined;
  reasoning: ReasoningTags;
  /** Tags of calls or reasoning are special tokens, which the text must contain in order to be parsed. */
  specialTags: boolean;
}

export interface ChatTemplateOptions {
  /** The directory is part of this package: its template is rendered in the calling thread. */
  trusted?: boolean;
  /** Maximum time of a rendering in a worker thread, in milliseconds. Default 5,000. */
  timeMs?: number;
  limits?: Partial<TemplateLimits>;
  /** Time for `strftime_now`. */
  now?: () => Date;
}

/**
 * Opens the chat template of a model directory. A directory without a template can only render templates of requests.
 */
export async function openChatTemplate(
  directory: string,
  tokenizer: Tokenizer,
  { trusted = false, timeMs = 5000, limits: given = {}, now = () => new Date() }: ChatTemplateOptions = {},
): Promise<ChatTemplate> {
  const templates = await readChatTemplates(directory);
  const limits = { ...templateLimits, ...given };

  async function run(source: string, variables: Record<string, unknown>): Promise<string> {
    if (!trusted || ![...templates.values()].includes(source)) {
      return renderInThread({ source, variables, now: now().getTime(), limits }, { timeMs });
    }
    try {
      return renderTemplate(source, variables, { now: now(), limits });
    } catch (error) {
      throw new HeddleError("invalid", `chat template: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  function isSpecial(tag: string): boolean {
    const id = tokenizer.idOf(tag);
    return id !== undefined && tokenizer.specialIds.has(id);
  }

  function sourceOf({ template, tools }: Pick<ChatRequest, "template" | "tools">): string {
    return template ?? chooseTemplate(templates, { tools: hasTools({ tools }) });
  }

  async function renderText(request: ChatRequest): Promise<string> {
    const { addGenerationPrompt = true, continueFinalMessage = false, locs = {} } = request;
    if (addGenerationPrompt && continueFinalMessage) {
      throw new HeddleError("invalid", "a prompt cannot both begin a new message and continue the last one", {
        loc: ["continueFinalMessage"],
      });
    }
    const tools = templateTools(request.tools, locs.tools);
    const source = sourceOf(request);
    if (source.length > maxTemplateLength) {
      throw new HeddleError("too_large", `the chat template has more than ${maxTemplateLength} characters`, {
        loc: ["template"],
      });
    }
    const messages = templateMessages(request.messages, { traits: templateTraits(source), loc: locs.messages });
    const variables = {
      ...tokenizer.specialTokens,
      ...extraVariables(request.kwargs),
      messages: continueFinalMessage ? appendMarker(messages) : messages,
      tools,
      documents: documentList(request.documents),
      add_generation_prompt: addGenerationPrompt,
    };
    const text = await run(source, variables);
    return continueFinalMessage ? cutAtMarker(text, locs.messages ?? ["messages"]) : text;
  }

  return {
    tokenizer,
    renderText,
    outputFormat(request) {
      const source = sourceOf(request);
      const toolCalls = toolCallFormat(source);
      const reasoning = reasoningTags(source);
      const tags = [reasoning.open, reasoning.close, ...(toolCalls && hasTools(request) ? tagsOf(toolCalls) : [])];
      return { toolCalls, reasoning, specialTags: tags.some(isSpecial) };
    },
    async render(request) {
      const text = await renderText(request);
      const { addSpecialTokens, maxTokens } = request;
      return { text, ids: tokenizer.encode(text, { addSpecialTokens, maxTokens }) };
    },
  };
}

function hasTools({ tools }: Pick<ChatRequest, "tools">): boolean {
  return Array.isArray(tools) && tools.length > 0;
}

const reservedVariables = ["messages", "tools", "documents", "add_generation_prompt", "namespace"];

function extraVariables(kwargs: unknown): Record<string, unknown> {
  if (kwargs === undefined || kwargs === null) return {};
  if (!isJsonObject(kwargs))
    throw new HeddleError("invalid", "the variables for the chat template must be an object", { loc: ["kwargs"] });
  const taken = reservedVariables.find((name) => Object.hasOwn(kwargs, name));
  if (taken === undefined) return kwargs;
  throw new HeddleError(
    "invalid",
    `${taken} cannot be a variable for the chat template: the request has a field of that name`,
    {
      loc: ["kwargs", taken],
    },
  );
}

function documentList(documents: unknown): unknown[] | null {
  if (documents === undefined || documents === null) return null;
  if (Array.isArray(documents)) return documents;
  throw new HeddleError("invalid", "documents must be a list", { loc: ["documents"] });
}

/** The trailing space is missing from the rendered text if the template trims messages. */
const continuationMarker = "\u{F0000}heddle:the message continues\u{F0000} ";

function appendMarker(messages: Record<string, unknown>[]): Record<string, unknown>[] {
  return messages.map((message, index) =>
    index === messages.length - 1 ? { ...message, content: markedContent(message["content"]) } : message,
  );
}

function markedContent(content: unknown): unknown {
  if (!Array.isArray(content)) return String(content) + continuationMarker;
  return content.map((part: { text: string }, at) =>
    at === content.length - 1 ? { ...part, text: part.text + continuationMarker } : part,
  );
}

function cutAtMarker(text: string, loc: Loc): string {
  const at = text.lastIndexOf(continuationMarker.trimEnd());
  if (at < 0) {
    throw new HeddleError(
      "invalid",
      "the chat template does not contain the last message unchanged, so it cannot be continued",
      { loc },
    );
  }
  const trimmed = !text.startsWith(continuationMarker, at);
  return trimmed ? text.slice(0, at).trimEnd() : text.slice(0, at);
}
