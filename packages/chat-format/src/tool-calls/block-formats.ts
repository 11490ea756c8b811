import type { ToolParameters } from "./argument-text.js";
import { deepSeekCalls, functoolsCalls, harmonyCalls, listedCalls, llamaCalls, mistralCalls } from "./json-calls.js";
import { pythonCalls } from "./python-calls.js";
import { argumentTags, functionTags } from "./tagged-calls.js";
import type { ToolCallFormat, WrittenCall } from "./tool-call.js";

/** Reads a complete block. Returns undefined for a block that remains text. */
type ReadCalls = (body: string, tools: ToolParameters) => WrittenCall[] | undefined;

/** Calls between tags. */
export interface BlockFormat {
  open: string;
  /** Without it, a block ends where the next one begins, or with the text. */
  close?: string;
  /** Tags around all blocks, which are removed. */
  wrappers: readonly string[];
  /** Tags inside of a block. */
  separators?: readonly string[];
  /** Without it, a block is one JSON object, whose arguments are read as they arrive. */
  read?: ReadCalls;
}

/** Calls that are the whole text. */
export interface MessageFormat {
  /** How such a text begins. */
  starts: readonly string[];
  read: ReadCalls;
}

export const formats: Readonly<Record<ToolCallFormat, BlockFormat | MessageFormat>> = {
  hermes: { open: "<tool_call>", close: "</tool_call>", wrappers: [] },
  "function-tags": { open: "<tool_call>", close: "</tool_call>", wrappers: [], read: functionTags },
  "argument-tags": { open: "<tool_call>", close: "</tool_call>", wrappers: [], read: argumentTags },
  "tagged-pythonic": { open: "<|tool_call_start|>", close: "<|tool_call_end|>", wrappers: [], read: pythonCalls },
  mistral: { open: "[TOOL_CALLS]", wrappers: [], separators: ["[ARGS]", "[CALL_ID]"], read: mistralCalls },
  deepseek: {
    open: "<｜tool▁call▁begin｜>",
    close: "<｜tool▁call▁end｜>",
    wrappers: ["<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"],
    separators: ["<｜tool▁sep｜>"],
    read: deepSeekCalls,
  },
  // Granite 3 writes no end tag, Phi-4-mini does.
  "tagged-list": { open: "<|tool_call|>", close: "<|/tool_call|>", wrappers: [], read: listedCalls },
  functools: { starts: ["functools["], read: functoolsCalls },
  harmony: {
    // The recipient is before or after the channel.
    open: "to=functions.",
    close: "<|call|>",
    wrappers: ["<|channel|>commentary", "<|start|>assistant", "<|end|>"],
    separators: ["<|constrain|>", "<|message|>"],
    read: harmonyCalls,
  },
  "llama-json": { starts: ["{", "<|python_tag|>"], read: llamaCalls },
  pythonic: { starts: ["["], read: pythonCalls },
};

/** Returns the texts that must reach the parser, which may be special tokens. */
export function tagsOf(name: ToolCallFormat): string[] {
  const format = formats[name];
  if ("starts" in format) return [...format.starts];
  const { open, close = open, wrappers, separators = [] } = format;
  return [open, close, ...wrappers, ...separators];
}
