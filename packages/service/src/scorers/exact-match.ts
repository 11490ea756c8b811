import { stringValue } from "@heddle/exact-json";
import { sameJson } from "./same-json.js";
import { scorerClass } from "./scorer-class.js";

export const exactMatch = scorerClass({
  name: "ExactMatchScorer",
  description: "Passes when the output and the expected value are the same JSON value.",
  reads: ["output", "expected"],
  parameters: {
    ignore_case: {
      type: "boolean",
      default: false,
      description: "Whether upper and lower case of texts are the same.",
    },
    ignore_whitespace: {
      type: "boolean",
      default: false,
      description: "Whether white space around texts does not count, and any inside of them counts as one space.",
    },
  },
  result: { passed: "whether the values are the same" },
  open(options) {
    return (variables) => {
      const output = variables.need("output", "the scorer");
      const expected = variables.need("expected", "the scorer");
      const [one, other] = [stringValue(output), stringValue(expected)];
      if (one === undefined || other === undefined) return { passed: sameJson(output, expected) };
      return { passed: normalized(one, options) === normalized(other, options) };
    };
  },
});

function normalized(
  text: string,
  { ignore_case, ignore_whitespace }: { ignore_case: boolean; ignore_whitespace: boolean },
): string {
  const cased = ignore_case ? text.toLowerCase() : text;
  return ignore_whitespace ? cased.trim().replaceAll(/\s+/g, " ") : cased;
}
