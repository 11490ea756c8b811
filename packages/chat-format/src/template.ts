import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";
import type { ChatRendering } from "./chat-rendering.js";
import { renderChat } from "./chat-rendering.js";
import type { SharedWork } from "./chat-threads.js";
import { encodeTexts, openVocabulary, renderInThread } from "./chat-threads.js";
import { isLarger } from "./json-size.js";
import type { ReasoningTags } from "./reasoning.js";
import { reasoningTags } from "./reasoning.js";
import { toolCallFormat } from "./tool-calls/detect-format.js";
import { tagsOf } from "./tool-calls/block-formats.js";
import type { ToolCallFormat } from "./tool-calls/tool-call.js";
import { chooseTemplate, maxTemplateLength, readChatTemplates } from "./template-files.js";
import type { TemplateLimits } from "./template-limits.js";
import { templateLimits } from "./template-limits.js";
import type { TokenVocabulary } from "./token-vocabulary.js";
import type { EncodeOptions } from "./tokenizer.js";

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
  maxTokens?: number | undefined;
  /** Only so many tokens of the prompt, the last ones. Its text is whole. */
  lastTokens?: number | undefined;
  /** Locations of messages and tools in the caller's arguments, for errors. Default `messages` and `tools`. */
  locs?: { messages?: Loc; tools?: Loc };
}

interface RenderedChat {
  text: string;
  ids: Int32Array;
}

export interface ChatTemplate {
  /** The tokens of the model. What splits a text into them is in a thread: see `encode`. */
  readonly tokenizer: TokenVocabulary;
  /**
   * Renders and tokenizes a request. Rejects with `invalid` or `unsupported` and the location or the message of the
   * template, with `too_large` for a text over the limits, and with `rate_limited` or `busy` when too many wait.
   */
  render(request: ChatRequest, work?: SharedWork): Promise<RenderedChat>;
  /** Renders a request without tokenizing it. */
  renderText(request: ChatRequest, work?: SharedWork): Promise<string>;
  /** Tokenizes texts in a thread, as the tokenizer does. */
  encode(texts: readonly string[], options?: EncodeOptions, work?: SharedWork): Promise<Int32Array[]>;
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
  /** The directory is part of this package: small requests are rendered with its template in the calling thread. */
  trusted?: boolean;
  /** For whom the template is used, where a request does not say it. */
  work?: SharedWork | undefined;
  /** Maximum time of a rendering in a worker thread, in milliseconds. Default 5,000. */
  timeMs?: number;
  limits?: Partial<TemplateLimits>;
  /** Time for `strftime_now`. */
  now?: () => Date;
}

/** Characters and elements of a request that is rendered in the calling thread. */
const maxInlineRequest = 64 * 1024;

/**
 * Opens the chat template of a model directory, with its tokenizer in a thread. A directory without a template can only
 * render templates of requests. Rejects as `openTokenizer` does.
 */
export async function openChatTemplate(
  directory: string,
  {
    trusted = false,
    timeMs = 5000,
    limits: given = {},
    now = () => new Date(),
    work: ownWork = {},
  }: ChatTemplateOptions = {},
): Promise<ChatTemplate> {
  const tokenizer = await openVocabulary(directory);
  const templates = await readChatTemplates(directory);
  const limits = { ...templateLimits, ...given };

  function isSpecial(tag: string): boolean {
    const id = tokenizer.idOf(tag);
    return id !== undefined && tokenizer.specialIds.has(id);
  }

  function sourceOf({ template, tools }: Pick<ChatRequest, "template" | "tools">): string {
    return template ?? chooseTemplate(templates, { tools: hasTools({ tools }) });
  }

  async function renderText(request: ChatRequest, work: SharedWork = ownWork): Promise<string> {
    const { messages, tools, documents, kwargs, locs = {} } = request;
    const { addGenerationPrompt = true, continueFinalMessage = false } = request;
    if (addGenerationPrompt && continueFinalMessage) {
      throw new HeddleError("invalid", "a prompt cannot both begin a new message and continue the last one", {
        loc: ["continueFinalMessage"],
      });
    }
    const source = sourceOf(request);
    if (source.length > maxTemplateLength) {
      throw new HeddleError("too_large", `the chat template has more than ${maxTemplateLength} characters`, {
        loc: ["template"],
      });
    }
    const conversation = { messages, tools, documents, kwargs };
    const rendering: ChatRendering = {
      source,
      specialTokens: tokenizer.specialTokens,
      ...conversation,
      addGenerationPrompt,
      continueFinalMessage,
      locs,
      now: now().getTime(),
      limits,
    };
    const inline = trusted && [...templates.values()].includes(source) && !isLarger(conversation, maxInlineRequest);
    return inline ? renderChat(rendering) : await renderInThread(rendering, { timeMs, work });
  }

  async function encode(
    texts: readonly string[],
    options: EncodeOptions = {},
    work: SharedWork = ownWork,
  ): Promise<Int32Array[]> {
    return texts.length === 0 ? [] : await encodeTexts({ directory, texts, options }, work);
  }

  return {
    tokenizer,
    renderText,
    outputFormat(request) {
      const source = sourceOf(request);
      const toolCalls = toolCallFormat(source);
      const reasoning = reasoningTags(source);
      const tags = [
        reasoning.open,
        reasoning.close,
        ...(reasoning.content ?? []),
        ...(toolCalls && hasTools(request) ? tagsOf(toolCalls) : []),
      ];
      // Some tags are several special tokens with a text between them.
      const parts = tags.flatMap((tag) => [tag, ...(tag.match(/<\|\w+\|>/gu) ?? [])]);
      return { toolCalls, reasoning, specialTags: parts.some(isSpecial) };
    },
    async render(request, work) {
      const text = await renderText(request, work);
      const { addSpecialTokens, maxTokens, lastTokens } = request;
      const [ids = new Int32Array()] = await encode([text], { addSpecialTokens, maxTokens, lastTokens }, work);
      return { text, ids };
    },
    encode,
  };
}

function hasTools({ tools }: Pick<ChatRequest, "tools">): boolean {
  return Array.isArray(tools) && tools.length > 0;
}
