import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";
import { templateMessages, templateTools, templateTraits } from "./chat-messages.js";
import { isObject } from "./model-file.js";
import { chooseTemplate, maxTemplateLength, readChatTemplates } from "./template-files.js";
import type { TemplateLimits } from "./template-limits.js";
import { templateLimits } from "./template-limits.js";
import { renderTemplate } from "./template-render.js";
import { renderInThread } from "./template-thread.js";
import type { Tokenizer } from "./tokenizer.js";

/** A conversation as it came in: nothing of it was checked yet. */
export interface ChatRequest {
  messages: unknown;
  tools?: unknown;
  documents?: unknown;
  /** Ends with the beginning of the answer. Default true. */
  addGenerationPrompt?: boolean;
  /** Ends in the middle of the last message, which the model then goes on with. Not with `addGenerationPrompt`. */
  continueFinalMessage?: boolean;
  /** More variables for the template (`enable_thinking`); names it does not know do nothing. */
  kwargs?: unknown;
  /** Instead of the model's own. */
  template?: string;
  /** Default false: chat templates write the beginning token themselves. */
  addSpecialTokens?: boolean;
  /** More tokens are refused as `too_large`. */
  maxTokens?: number;
  /** Where messages and tools stand in what the caller was given, for errors. Default `messages` and `tools`. */
  locs?: { messages?: Loc; tools?: Loc };
}

interface RenderedChat {
  text: string;
  ids: Int32Array;
}

export interface ChatTemplate {
  readonly tokenizer: Tokenizer;
  /** `invalid` or `unsupported` with the place, or with what the template says; `too_large` when the text is endless. */
  render(request: ChatRequest): Promise<RenderedChat>;
  /** The text alone. */
  renderText(request: ChatRequest): Promise<string>;
}

export interface ChatTemplateOptions {
  /** The directory was packaged by us: its own template is rendered in this thread. */
  trusted?: boolean;
  /** For a template in a thread. Default 5,000. */
  timeMs?: number;
  limits?: Partial<TemplateLimits>;
  /** For `strftime_now`. */
  now?: () => Date;
}

/** The chat template of a model directory. Reads the files once; a directory without a template renders those of requests only. */
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

  async function renderText(request: ChatRequest): Promise<string> {
    const { addGenerationPrompt = true, continueFinalMessage = false, locs = {} } = request;
    if (addGenerationPrompt && continueFinalMessage) {
      throw new HeddleError("invalid", "a prompt cannot both begin a new message and continue the last one", {
        loc: ["continueFinalMessage"],
      });
    }
    const tools = templateTools(request.tools, locs.tools);
    const source = request.template ?? chooseTemplate(templates, { tools: tools !== null });
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
    async render(request) {
      const text = await renderText(request);
      const { addSpecialTokens, maxTokens } = request;
      return { text, ids: tokenizer.encode(text, { addSpecialTokens, maxTokens }) };
    },
  };
}

const reservedVariables = ["messages", "tools", "documents", "add_generation_prompt", "namespace"];

function extraVariables(kwargs: unknown): Record<string, unknown> {
  if (kwargs === undefined || kwargs === null) return {};
  if (!isObject(kwargs))
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

/** The space tells whether the template trims what it shows. */
const continuationMarker = "\u{F0000}heddle:the message goes on\u{F0000} ";

function appendMarker(messages: Record<string, unknown>[]): Record<string, unknown>[] {
  return messages.map((message, index) =>
    index === messages.length - 1 ? { ...message, content: String(message["content"]) + continuationMarker } : message,
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
