import { isDeepStrictEqual } from "node:util";
import { HeddleError } from "@heddle/errors";
import { isMembers } from "../llm-models/members.js";
import { jsonIn } from "../llm-models/variables.js";

/** A call of a tool in any of the forms that models and SDKs use. */
export interface ToolCall {
  name: string;
  /** Undefined for an expected call whose arguments do not matter. */
  arguments: unknown;
}

export type ArgumentsRule = "exact" | "subset" | "ignore";

const maxCalls = 100;

/**
 * The calls of tools in a value: a message with `tool_calls` or `function_call` (OpenAI) or `tool_use` blocks (Anthropic), a
 * call itself, or a list of these. Anything else has none. Throws `too_large` for too many.
 */
export function toolCallsIn(value: unknown): ToolCall[] {
  const calls = Array.isArray(value) ? value.flatMap(callsOf) : callsOf(value);
  if (calls.length > maxCalls) throw new HeddleError("too_large", `more than ${maxCalls} calls of tools`);
  return calls;
}

function callsOf(value: unknown): ToolCall[] {
  if (!isMembers(value)) return [];
  const { tool_calls, function_call, content, name, type } = value;
  if (Array.isArray(tool_calls)) return tool_calls.flatMap(callsOf);
  if (isMembers(function_call)) return callsOf(function_call);
  if (isMembers(value["function"])) return callsOf(value["function"]);
  if (type === undefined && Array.isArray(content)) {
    return content.flatMap((block) => (isMembers(block) && block["type"] === "tool_use" ? callsOf(block) : []));
  }
  if (typeof name !== "string" || "role" in value) return [];
  return [{ name, arguments: argumentsOf(value["arguments"] ?? value["args"] ?? value["input"]) }];
}

/** Models write arguments as a text that holds JSON. */
function argumentsOf(value: unknown): unknown {
  return typeof value === "string" ? (jsonIn(value)?.value ?? value) : value;
}

export function isSameCall(output: ToolCall, expected: ToolCall, rule: ArgumentsRule): boolean {
  if (output.name !== expected.name) return false;
  if (rule === "ignore" || expected.arguments === undefined) return true;
  if (rule === "exact") return isDeepStrictEqual(output.arguments ?? {}, expected.arguments);
  return isPartOf(expected.arguments, output.arguments ?? {});
}

/** Whether every member of a value, inside of objects too, is in the other. */
function isPartOf(part: unknown, whole: unknown): boolean {
  if (!isMembers(part) || !isMembers(whole)) return isDeepStrictEqual(part, whole);
  return Object.entries(part).every(([key, value]) => Object.hasOwn(whole, key) && isPartOf(value, whole[key]));
}
