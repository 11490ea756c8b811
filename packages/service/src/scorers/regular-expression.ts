import { HeddleError } from "@heddle/errors";
import { RE2JS } from "re2js";
import { textOf } from "../llm-models/variables.js";
import { limitedText } from "./limited-text.js";
import { scorerClass } from "./scorer-class.js";

const maxPattern = 1000;
const maxText = 1_000_000;
const maxMatch = 200;

export const regularExpression = scorerClass({
  name: "RegexScorer",
  description: "Passes when the output matches a regular expression.",
  reads: ["output"],
  parameters: {
    pattern: {
      isRequired: true,
      type: "string",
      minLength: 1,
      maxLength: maxPattern,
      description: `In RE2 syntax, at most ${maxPattern.toLocaleString("en")} characters: without backreferences and look-around. Texts may have ${maxText.toLocaleString("en")} characters.`,
    },
    ignore_case: { type: "boolean", default: false, description: "Whether upper and lower case are the same." },
    full_match: {
      type: "boolean",
      default: false,
      description: "Whether the whole output must match, and not a part of it.",
    },
  },
  result: {
    passed: "whether the output matches",
    match: `the first ${maxMatch} characters of the part that matched; absent when none did`,
  },
  check(parameters) {
    compiled(parameters);
  },
  open(parameters) {
    return (variables) => {
      const text = limitedText(textOf(variables.need("output", "the scorer")), maxText, "output");
      // Compiled anew each time: one that was stopped keeps a state that is not sound.
      const matcher = compiled(parameters).matcher(text);
      const match = (parameters.full_match ? matcher.matches() : matcher.find()) ? (matcher.group() ?? "") : undefined;
      return match === undefined ? { passed: false } : { passed: true, match: match.slice(0, maxMatch) };
    };
  },
});

function compiled({ pattern, ignore_case }: { pattern: string; ignore_case: boolean }): RE2JS {
  try {
    return RE2JS.compile(pattern, ignore_case ? RE2JS.CASE_INSENSITIVE : 0);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new HeddleError("invalid", `pattern is not a regular expression of RE2: ${reason.slice(0, 200)}`);
  }
}
