import { possibleTagStart, splitTrailing } from "./tag-search.js";

const openTag = "<think>";
const closeTag = "</think>";

/** What a piece of sampled text adds; either may be empty. */
interface ReasoningDelta {
  reasoning: string;
  content: string;
}

export interface ReasoningStream {
  push(text: string): ReasoningDelta;
  /** What was held back; nothing may be pushed afterwards. */
  end(): ReasoningDelta;
  /** Whether there is or was a think block. */
  readonly hasReasoning: boolean;
}

export interface ReasoningOptions {
  /** The prompt has begun the think block already (see `endsInReasoning`). */
  open?: boolean;
}

/** Whether the template left the prompt in a think block, so that the answer begins with reasoning. */
export function endsInReasoning(prompt: string): boolean {
  return prompt.trimEnd().endsWith(openTag);
}

/**
 * Separates what a model thinks from what it says: a block in think tags at the very beginning. Line ends beside the tags belong to
 * neither. A block that never ends is all reasoning.
 */
export function splitReasoning(
  text: string,
  options: ReasoningOptions = {},
): { reasoning: string | undefined; content: string } {
  const stream = reasoningStream(options);
  const first = stream.push(text);
  const rest = stream.end();
  const reasoning = stream.hasReasoning ? first.reasoning + rest.reasoning : undefined;
  return { reasoning, content: first.content + rest.content };
}

/** `splitReasoning` for text that comes piece by piece; a piece that could be part of a tag is held back. */
export function reasoningStream({ open = false }: ReasoningOptions = {}): ReasoningStream {
  let state: "start" | "reasoning" | "content" = open ? "reasoning" : "start";
  let hasReasoning = open;
  /** Line ends are dropped until something else comes. */
  let skippingLineEnds = open;
  let buffered = "";

  return {
    push(text) {
      buffered += text;
      return advance(false);
    },
    end: () => advance(true),
    get hasReasoning() {
      return hasReasoning;
    },
  };

  function advance(ended: boolean): ReasoningDelta {
    if (state === "start") detectReasoning(ended);
    const reasoning = state === "reasoning" ? takeReasoning(ended) : "";
    const content = state === "content" ? takeContent() : "";
    return { reasoning, content };
  }

  function detectReasoning(ended: boolean): void {
    const begun = buffered.trimStart();
    if (begun.startsWith(openTag)) {
      state = "reasoning";
      hasReasoning = true;
      skippingLineEnds = true;
      buffered = begun.slice(openTag.length);
    } else if (ended || !openTag.startsWith(begun)) {
      state = "content";
    }
  }

  function takeReasoning(ended: boolean): string {
    const close = buffered.indexOf(closeTag);
    if (close >= 0) {
      const [text] = splitTrailing(withoutLeadingLineEnds(buffered.slice(0, close)), "\n");
      state = "content";
      skippingLineEnds = true;
      buffered = buffered.slice(close + closeTag.length);
      return text;
    }
    const begun = withoutLeadingLineEnds(buffered);
    const [sure, tail] = ended ? [begun, ""] : cutAt(begun, begun.length - possibleTagStart(begun, closeTag));
    const [text, lineEnds] = splitTrailing(sure, "\n");
    buffered = ended ? "" : lineEnds + tail;
    return text;
  }

  function takeContent(): string {
    const text = withoutLeadingLineEnds(buffered);
    buffered = "";
    return text;
  }

  function withoutLeadingLineEnds(text: string): string {
    if (!skippingLineEnds) return text;
    const rest = text.replace(/^\n+/, "");
    if (rest !== "") skippingLineEnds = false;
    return rest;
  }
}

function cutAt(text: string, index: number): [string, string] {
  return [text.slice(0, index), text.slice(index)];
}
