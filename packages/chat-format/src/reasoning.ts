import { possibleTagStart, splitTrailing } from "./tag-search.js";

/** Tags around reasoning. */
export interface ReasoningTags {
  open: string;
  close: string;
  /** Tags in front of the content, which are removed, in this order; each may be missing. */
  content?: readonly string[];
}

const thinkTags: ReasoningTags = { open: "<think>", close: "</think>" };
const knownTags: ReasoningTags[] = [
  thinkTags,
  { open: "[THINK]", close: "[/THINK]" },
  { open: "<seed:think>", close: "</seed:think>" },
  {
    open: "<|channel|>analysis<|message|>",
    close: "<|end|>",
    content: ["<|start|>assistant", "<|channel|>commentary<|message|>", "<|channel|>final<|message|>"],
  },
  { open: "<|START_THINKING|>", close: "<|END_THINKING|>" },
];

/** Returns the tags that the model with this template writes around its reasoning. Default `<think>`. */
export function reasoningTags(template: string): ReasoningTags {
  // The end of a channel is that of any message, so that only channels tell them.
  const mark = ({ open, close }: ReasoningTags) => (open.startsWith("<|channel|>") ? "<|channel|>" : close);
  return knownTags.find((tags) => template.includes(mark(tags))) ?? thinkTags;
}

/** Reasoning and content that a piece of sampled text adds. Either may be empty. */
interface ReasoningDelta {
  reasoning: string;
  content: string;
}

export interface ReasoningStream {
  push(text: string): ReasoningDelta;
  /** Returns the text that was held back. `push` must not be called afterwards. */
  end(): ReasoningDelta;
  /** Whether a think block has begun. */
  readonly hasReasoning: boolean;
}

export interface ReasoningOptions {
  /** The prompt has already opened the think block (see `endsInReasoning`). */
  open?: boolean;
  /** Default `<think>`. */
  tags?: ReasoningTags;
}

/** Returns whether the prompt ends inside a think block, so that the completion starts with reasoning. */
export function endsInReasoning(prompt: string, tags: ReasoningTags = thinkTags): boolean {
  return prompt.trimEnd().endsWith(tags.open);
}

/**
 * Separates reasoning, a block in think tags at the beginning of the text, from content. Line breaks next to the tags
 * are removed. A block without an end tag is reasoning up to the end.
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

/** Streaming form of `splitReasoning`. Text that could be part of a tag is held back. */
export function reasoningStream({ open = false, tags = thinkTags }: ReasoningOptions = {}): ReasoningStream {
  const { open: openTag, close: closeTag, content: before = [] } = tags;
  /** Tags that may still come in front of the content. */
  const contentTags = [...before];
  let state: "start" | "reasoning" | "content" = open ? "reasoning" : "start";
  let hasReasoning = open;
  /** Line breaks are dropped until another character follows. */
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
    const content = state === "content" && hasContentBegun(ended) ? takeContent() : "";
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

  /** Removes the tags in front of the content. Returns false while more of them may follow. */
  function hasContentBegun(ended: boolean): boolean {
    for (let [tag] = contentTags; tag !== undefined; [tag] = contentTags) {
      const begun = buffered.trimStart();
      if (begun.startsWith(tag)) buffered = begun.slice(tag.length);
      else if (!ended && tag.startsWith(begun)) return false;
      contentTags.shift();
    }
    return true;
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
