import { stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { withPrefix } from "../error-prefix.js";
import { schemaFault } from "../llm-models/json-schema.js";
import { jsonIn } from "../llm-models/variables.js";
import { scorerClass } from "./scorer-class.js";

export const jsonSchemaMatch = scorerClass({
  name: "JsonSchemaScorer",
  description: "Passes when the output fits a JSON schema; a text is parsed as JSON first.",
  reads: ["output"],
  parameters: {
    schema: {
      isRequired: true,
      type: "object",
      description: "A JSON schema of draft 2020-12, at most 64 KiB. Refs lead to its own definitions only.",
    },
  },
  result: {
    passed: "whether the output fits",
    reason: "the path and what does not fit; absent when it passes",
  },
  check({ schema }) {
    faultOf(schema, "null");
  },
  open({ schema }) {
    return (variables) => {
      const output = variables.need("output", "the scorer");
      const text = stringValue(output);
      const json = text === undefined ? output : jsonIn(text)?.text;
      if (json === undefined) return { passed: false, reason: "the output is not JSON" };
      const reason = faultOf(schema, json);
      return reason === undefined ? { passed: true } : { passed: false, reason };
    };
  },
});

function faultOf(schema: unknown, value: JsonText): string | undefined {
  return withPrefix("schema", () => schemaFault(JSON.stringify(schema), value));
}
