import { HeddleError } from "@heddle/errors";
import { stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { limitedText } from "./limited-text.js";
import { scorerClass } from "./scorer-class.js";

type Find = "whole" | "first" | "last";

const maxText = 1_000_000;
const numbers = /[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?/g;
const wholeNumber = new RegExp(`^${numbers.source}$`);

export const numericTolerance = scorerClass({
  name: "NumericToleranceScorer",
  description: "Passes when the output and the expected value are numbers that differ by no more than a tolerance.",
  reads: ["output", "expected"],
  parameters: {
    absolute: { type: "number", minimum: 0, default: 0, description: "The difference that is tolerated." },
    relative: {
      type: "number",
      minimum: 0,
      default: 0,
      description:
        "The difference that is tolerated as a share of the expected number: 0.01 is one percent. The larger of both tolerances counts.",
    },
    find: {
      type: "string",
      enum: ["whole", "first", "last"],
      default: "whole",
      description: `Where a text has the number: the whole text is one, or the first or last number in it counts. Texts may have ${maxText.toLocaleString("en")} characters.`,
    },
  },
  result: {
    passed: "whether the output is near enough",
    difference: "output minus expected; absent when the output has no number",
    reason: "absent when the output has a number",
  },
  open({ absolute, relative, find }) {
    return (variables) => {
      const expected = numberIn(limitedText(variables.need("expected", "the scorer"), maxText, "expected"), "whole");
      if (expected === undefined) throw new HeddleError("invalid", '"expected" must be a number');
      const output = numberIn(limitedText(variables.need("output", "the scorer"), maxText, "output"), find);
      if (output === undefined) return { passed: false, reason: "the output has no number" };
      const difference = output - expected;
      return { passed: Math.abs(difference) <= Math.max(absolute, relative * Math.abs(expected)), difference };
    };
  },
});

/** Undefined for what is not a number, or none that a double can hold. */
function numberIn(value: JsonText, find: Find): number | undefined {
  const text = (stringValue(value) ?? value).trim();
  const found =
    find === "whole" ? wholeNumber.exec(text)?.[0] : (text.match(numbers) ?? []).at(find === "first" ? 0 : -1);
  const number = Number(found ?? "none");
  return Number.isFinite(number) ? number : undefined;
}
