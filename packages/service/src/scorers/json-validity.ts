import { stringValue } from "@heddle/exact-json";
import { jsonIn } from "../llm-models/variables.js";
import { scorerClass } from "./scorer-class.js";

export const jsonValidity = scorerClass({
  name: "JsonValidityScorer",
  description: "Passes when the output is a text that holds JSON, or a JSON value other than a text.",
  reads: ["output"],
  parameters: {},
  result: { passed: "whether the output is JSON, nested at most 200 deep" },
  open() {
    return (variables) => {
      const text = stringValue(variables.need("output", "the scorer"));
      return { passed: text === undefined || jsonIn(text) !== undefined };
    };
  },
});
