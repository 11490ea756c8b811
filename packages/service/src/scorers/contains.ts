import { HeddleError } from "@heddle/errors";
import { arrayItems, jsonType } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { textOf } from "../llm-models/variables.js";
import { containsText } from "./contains-text.js";
import { scorerClass } from "./scorer-class.js";

const maxValues = 1000;
const maxListed = 5;
const maxListedLength = 60;

export const contains = scorerClass({
  name: "ContainsScorer",
  description: "Passes when the output contains texts.",
  reads: ["output", "expected"],
  parameters: {
    values: {
      type: "array",
      items: { type: "string", minLength: 1 },
      maxItems: maxValues,
      description: `The texts, at most ${maxValues.toLocaleString("en")}. Without them, \`expected\` of the row is the text or the list of texts.`,
    },
    require: {
      type: "string",
      enum: ["all", "any", "none"],
      default: "all",
      description: "Whether all of the texts, at least one or none must be in the output.",
    },
    ignore_case: { type: "boolean", default: false, description: "Whether upper and lower case are the same." },
  },
  result: {
    passed: "whether the output contains what is required",
    score: "the share of the texts that the output contains, 0 to 1",
    reason: "which texts are missing or, with `none`, were found; absent when it passes",
  },
  open({ values, require, ignore_case }) {
    const cased = (text: string) => (ignore_case ? text.toLowerCase() : text);
    return (variables) => {
      const output = cased(textOf(variables.need("output", "the scorer")));
      const texts = values ?? textsOf(variables.need("expected", "the scorer without `values`"));
      const found = texts.filter((text) => containsText(output, cased(text)));
      const isFound = new Set(found);
      const missing = texts.filter((text) => !isFound.has(text));
      const passed = { all: missing.length === 0, any: found.length > 0, none: found.length === 0 }[require];
      const reason = require === "none" ? `found: ${listed(found)}` : `missing: ${listed(missing)}`;
      return { passed, score: found.length / texts.length, ...(!passed && { reason }) };
    };
  },
});

function textsOf(expected: JsonText): string[] {
  const texts = (jsonType(expected) === "array" ? arrayItems(expected) : [expected]).map(textOf);
  if (texts.length > 0 && texts.length <= maxValues && !texts.includes("")) return texts;
  throw new HeddleError("invalid", `"expected" must be a text or a list of 1 to ${maxValues} texts that are not empty`);
}

function listed(texts: readonly string[]): string {
  const quoted = texts.slice(0, maxListed).map((text) => JSON.stringify(text.slice(0, maxListedLength)));
  return `${quoted.join(", ")}${texts.length > maxListed ? ` and ${texts.length - maxListed} more` : ""}`;
}
