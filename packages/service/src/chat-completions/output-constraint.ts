import { HeddleError } from "@heddle/errors";
import type { Loc } from "@heddle/errors";
import type { Schemas } from "@heddle/server-stub/training";
import type { StructuredOutput } from "@heddle/structured-outputs";
import { closedSchema } from "./closed-schema.js";
import type { Constraint } from "./constraint.js";
import { toolCallConstraint } from "./tool-choice.js";
import type { ToolChoice } from "./tool-choice.js";

type ChatRequest = Schemas["ChatCompletionReq"];

/** The constraint of a request. Throws `invalid` for more than one, and for one that is not complete. */
export function outputConstraint(request: ChatRequest, choice: ToolChoice): Constraint | undefined {
  const constraints = [responseFormat(request), structuredOutputs(request), toolCallConstraint(request, choice)].filter(
    (constraint) => constraint !== undefined,
  );
  const [first, second] = constraints;
  if (second === undefined) return first;
  throw invalid(`only one constraint is possible, and ${String(first?.loc[0])} is another`, second.loc);
}

function responseFormat({ response_format: format }: ChatRequest): Constraint | undefined {
  if (format === undefined || format.type === "text") return undefined;
  const loc = ["response_format"];
  if (format.type === "json_object") return { output: { type: "json_object" }, loc };
  if (format.type === "structural_tag") {
    const { type, json_schema: _, ...tag } = format;
    return { output: { type, tag }, loc };
  }
  if (format.json_schema === undefined) throw invalid("is needed for the type json_schema", [...loc, "json_schema"]);
  const { schema } = format.json_schema;
  const output: StructuredOutput = schema === undefined ? { type: "json_object" } : { type: "json_schema", schema };
  return { output, loc: [...loc, "json_schema", "schema"] };
}

function structuredOutputs({ structured_outputs: given }: ChatRequest): Constraint | undefined {
  if (given === undefined) return undefined;
  const loc = ["structured_outputs"];
  const { json, regex, choice, grammar, json_object, structural_tag } = given;
  const found: Constraint[] = [];
  if (json !== undefined) found.push({ output: jsonOutput(json, given), loc: [...loc, "json"] });
  if (regex !== undefined) found.push({ output: { type: "regex", regex }, loc: [...loc, "regex"] });
  if (choice !== undefined) found.push({ output: { type: "choice", choices: choice }, loc: [...loc, "choice"] });
  if (grammar !== undefined) found.push({ output: { type: "grammar", grammar }, loc: [...loc, "grammar"] });
  if (json_object === true) found.push({ output: jsonOutput(undefined, given), loc: [...loc, "json_object"] });
  if (structural_tag !== undefined) {
    const tag = parsed(structural_tag, [...loc, "structural_tag"]);
    found.push({ output: { type: "structural_tag", tag }, loc: [...loc, "structural_tag"] });
  }
  if (found.length > 1) {
    throw invalid(`only one of ${found.map((each) => String(each.loc[1])).join(", ")} is possible`, loc);
  }
  // Clients send the object with nothing but its defaults.
  return found[0];
}

function jsonOutput(
  json: string | object | undefined,
  {
    disable_any_whitespace: compact,
    disable_additional_properties: closed,
    whitespace_pattern: whitespacePattern,
  }: NonNullable<ChatRequest["structured_outputs"]>,
): StructuredOutput {
  const loc = ["structured_outputs", "json"];
  const schema = typeof json === "string" ? parsed(json, loc) : json;
  if (schema === undefined && !compact && whitespacePattern === undefined) return { type: "json_object" };
  return {
    type: "json_schema",
    schema: closed ? closedSchema(schema ?? { type: "object" }) : (schema ?? { type: "object" }),
    ...(compact && { whitespace: false }),
    ...(whitespacePattern !== undefined && { whitespacePattern }),
  };
}

function parsed(text: string, loc: Loc): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw invalid("is no JSON", loc);
  }
}

function invalid(message: string, loc: Loc): HeddleError {
  return new HeddleError("invalid", message, { loc });
}
