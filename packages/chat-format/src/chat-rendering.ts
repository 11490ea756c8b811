import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";
import { isJsonObject } from "@heddle/exact-json";
import { templateMessages, templateTools } from "./chat-messages.js";
import type { TemplateLimits } from "./template-limits.js";
import { renderTemplate } from "./template-render.js";
import { templateTraits } from "./template-traits.js";

/** A conversation and the template that it is rendered with: plain data, which can be sent to a thread. */
export interface ChatRendering {
  source: string;
  /** `bos_token`, `eos_token`… */
  specialTokens: Readonly<Record<string, string>>;
  messages: unknown;
  tools: unknown;
  documents: unknown;
  kwargs: unknown;
  addGenerationPrompt: boolean;
  continueFinalMessage: boolean;
  locs: { messages?: Loc; tools?: Loc };
  /** Milliseconds since 1970, for `strftime_now`. */
  now: number;
  limits: TemplateLimits;
}

/** Renders a conversation. Throws `invalid` or `unsupported`, with the location or the message of the template. */
export function renderChat({ source, specialTokens, locs, now, limits, ...request }: ChatRendering): string {
  const tools = templateTools(request.tools, locs.tools);
  const traits = templateTraits(source);
  const sent = templateMessages(request.messages, { traits, loc: locs.messages });
  const messages = tools && traits.toolsInMessage ? withTools(sent, tools) : sent;
  const variables = {
    ...specialTokens,
    ...extraVariables(request.kwargs),
    messages: request.continueFinalMessage ? appendMarker(messages) : messages,
    tools,
    documents: documentList(request.documents),
    add_generation_prompt: request.addGenerationPrompt,
  };
  const text = rendered(source, variables, { now: new Date(now), limits });
  return request.continueFinalMessage ? cutAtMarker(text, locs.messages ?? ["messages"]) : text;
}

/** Gives the tools to the system message, which is added if there is none, unless that has its own. */
function withTools(messages: Record<string, unknown>[], tools: Record<string, unknown>[]): Record<string, unknown>[] {
  const [first, ...rest] = messages;
  const isSystem = first?.["role"] === "system";
  if (isSystem && first?.["tools"] !== undefined && first["tools"] !== null) return messages;
  const text = JSON.stringify(tools.map((tool) => tool["function"]));
  return isSystem ? [{ ...first, tools: text }, ...rest] : [{ role: "system", content: "", tools: text }, ...messages];
}

function rendered(
  source: string,
  variables: Record<string, unknown>,
  options: { now: Date; limits: TemplateLimits },
): string {
  try {
    return renderTemplate(source, variables, options);
  } catch (error) {
    throw new HeddleError("invalid", `chat template: ${error instanceof Error ? error.message : String(error)}`);
  }
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
