import type { ToolCallFormat } from "./tool-call.js";

/** Texts that a template contains if its model writes calls in a format. The first match decides. */
const marks: [ToolCallFormat, ...RegExp[]][] = [
  ["deepseek", /<｜tool▁call▁begin｜>/],
  ["mistral", /\[TOOL_CALLS\]/],
  ["tagged-pythonic", /<\|tool_call_start\|>/],
  ["argument-tags", /<tool_call>/, /<arg_key>/],
  ["function-tags", /<tool_call>/, /<function=/, /<parameter=/],
  ["hermes", /<tool_call>/],
  ["pythonic", /\[func_name1\(/],
  ["harmony", /<\|channel\|>/, /to=functions\./],
  ["functools", /functools\[/],
  ["tagged-list", /<\|tool_call\|>/],
  ["tagged-list", /<\|tool\|>/, /<\|\/tool\|>/],
  ["llama-json", /ipython/, /"parameters": /],
];

/** Returns the format of the calls of the model with this template, or undefined if the template does not tell it. */
export function toolCallFormat(template: string): ToolCallFormat | undefined {
  return marks.find(([, ...patterns]) => patterns.every((pattern) => pattern.test(template)))?.[0];
}
