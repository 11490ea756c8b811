import { HeddleError } from "@heddle/errors";
import { jsonIn } from "../llm-models/variables.js";
import { commonSubsequence } from "./common-subsequence.js";
import { scorerClass } from "./scorer-class.js";
import { isSameCall, toolCallsIn } from "./tool-calls.js";
import type { ArgumentsRule, ToolCall } from "./tool-calls.js";

interface Rules {
  arguments: ArgumentsRule;
  order: "any" | "same";
}

export const toolCallMatch = scorerClass({
  name: "ToolCallScorer",
  description: "Passes when the output calls the expected tools with the expected arguments.",
  reads: ["output", "expected"],
  parameters: {
    arguments: {
      type: "string",
      enum: ["exact", "subset", "ignore"],
      default: "exact",
      description:
        "`exact`: arguments must be the same. `subset`: the call may have further arguments. `ignore`: only names count. Expected calls without arguments match any.",
    },
    order: {
      type: "string",
      enum: ["any", "same"],
      default: "any",
      description: "Whether the calls must come in the expected order.",
    },
    allow_extra: {
      type: "boolean",
      default: false,
      description: "Whether the output may have calls that are not expected.",
    },
  },
  result: {
    passed: "whether all expected calls were made and, without `allow_extra`, no other",
    score:
      "matched calls divided by the larger of both numbers of calls, or with `allow_extra` by the expected ones, 0 to 1",
    reason: "how many calls matched; absent when it passes",
  },
  open(rules) {
    return (variables) => {
      const output = toolCallsIn(parsed(variables.need("output", "the scorer")));
      const expected = expectedCalls(parsed(variables.need("expected", "the scorer")));
      const matched = matchedCalls(output, expected, rules);
      const extra = rules.allow_extra ? 0 : Math.max(0, output.length - expected.length);
      const total = expected.length + extra;
      const passed = matched === total;
      const reason = `${matched} of ${expected.length} expected calls matched; the output has ${output.length}`;
      return { passed, score: total === 0 ? 1 : matched / total, ...(!passed && { reason }) };
    };
  },
});

/** A text that holds JSON counts as the JSON. */
function parsed(json: string): unknown {
  const value: unknown = JSON.parse(json);
  return typeof value === "string" ? (jsonIn(value)?.value ?? value) : value;
}

/** Besides all that an output may be: the name of a tool, or a list with names. */
function expectedCalls(value: unknown): ToolCall[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  const calls = toolCallsIn(list.map((item) => (typeof item === "string" ? { name: item } : item)));
  if (calls.length > 0 || list.length === 0 || value === null) return calls;
  throw new HeddleError("invalid", '"expected" must be calls of tools: {"name": …, "arguments": {…}}, a list, or []');
}

function matchedCalls(output: readonly ToolCall[], expected: readonly ToolCall[], rules: Rules): number {
  const isMatch = expected.map((call) => output.map((actual) => isSameCall(actual, call, rules.arguments)));
  if (rules.order === "same") {
    return commonSubsequence(expected.length, output.length, (i, j) => isMatch[i]?.[j] === true);
  }
  return mostPairs(isMatch);
}

/** The most pairs of rows and columns that match, each used once (augmenting paths). */
function mostPairs(isMatch: readonly (readonly boolean[])[]): number {
  const rowOf = new Map<number, number>();
  const assign = (row: number, tried: Set<number>): boolean => {
    for (const [column, fits] of (isMatch[row] ?? []).entries()) {
      if (!fits || tried.has(column)) continue;
      tried.add(column);
      const taken = rowOf.get(column);
      if (taken === undefined || assign(taken, tried)) {
        rowOf.set(column, row);
        return true;
      }
    }
    return false;
  };
  return isMatch.filter((_, row) => assign(row, new Set())).length;
}
