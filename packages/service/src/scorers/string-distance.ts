import { distance } from "fastest-levenshtein";
import { textOf } from "../llm-models/variables.js";
import { limitedText } from "./limited-text.js";
import { scorerClass } from "./scorer-class.js";
import { thresholdParameter, thresholdResult, withPassed } from "./threshold.js";

/** The time grows with the product of both lengths. */
const maxText = 10_000;

export const stringDistance = scorerClass({
  name: "StringDistanceScorer",
  description: "Compares the output with the expected text by the number of edits between them (Levenshtein).",
  reads: ["output", "expected"],
  parameters: {
    ignore_case: { type: "boolean", default: false, description: "Whether upper and lower case are the same." },
    threshold: thresholdParameter,
  },
  result: {
    score: "1 minus the distance divided by the length of the longer text, 0 to 1; 1 for equal texts",
    distance: `insertions, deletions and replacements of UTF-16 units; texts may have ${maxText.toLocaleString("en")}`,
    ...thresholdResult,
  },
  open({ ignore_case, threshold }) {
    return (variables) => {
      const [output = "", expected = ""] = ["output", "expected"].map((name) => {
        const text = limitedText(textOf(variables.need(name, "the scorer")), maxText, name);
        return ignore_case ? text.toLowerCase() : text;
      });
      const edits = distance(output, expected);
      const score = 1 - edits / Math.max(output.length, expected.length, 1);
      return { ...withPassed(score, threshold), distance: edits };
    };
  },
});
