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
  const constraints = [
    responseFormat(request),
    structuredOutputs(request),
    guided(request),
    toolCallConstraint(request, choice),
  ].filter((constraint) => constraint !== undefined);
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

type Given = Partial<NonNullable<ChatRequest["structured_outputs"]>>;

function structuredOutputs({ structured_outputs: given }: ChatRequest): Constraint | undefined {
  return given && constraintOf(given, (name) => ["structured_outputs", ...(name === undefined ? [] : [name])]);
}

/** The names that earlier releases of vLLM have for the fields of `structured_outputs`. */
function guided(request: ChatRequest): Constraint | undefined {
  const given: Given = {
    json: request.guided_json,
    regex: request.guided_regex,
    choice: request.guided_choice,
    grammar: request.guided_grammar,
    json_object: request.guided_json_object,
    structural_tag: request.structural_tag,
    whitespace_pattern: request.guided_whitespace_pattern,
  };
  const [first] = Object.entries(given).find(([, value]) => value !== undefined) ?? ["json"];
  const nameOf = (name = first) => (name === "structural_tag" ? name : `guided_${name}`);
  return constraintOf(given, (name) => [nameOf(name)]);
}

function constraintOf(given: Given, locOf: (name?: string) => Loc): Constraint | undefined {
  const { json, regex, choice, grammar, json_object, structural_tag } = given;
  const found: Constraint[] = [];
  const add = (name: string, output: StructuredOutput) => void found.push({ output, loc: locOf(name) });
  if (json !== undefined) add("json", jsonOutput(json, given, locOf("json")));
  if (regex !== undefined) add("regex", { type: "regex", regex });
  if (choice !== undefined) add("choice", { type: "choice", choices: choice });
  if (grammar !== undefined) add("grammar", { type: "grammar", grammar });
  if (json_object === true) add("json_object", jsonOutput(undefined, given, locOf("json_object")));
  if (structural_tag !== undefined) {
    add("structural_tag", { type: "structural_tag", tag: parsed(structural_tag, locOf("structural_tag")) });
  }
  if (found.length > 1) {
    throw invalid(`only one of ${found.map(({ loc }) => String(loc.at(-1))).join(", ")} is possible`, locOf());
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
  }: Given,
  loc: Loc,
): StructuredOutput {
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
    throw invalid("is not JSON", loc);
  }
}

function invalid(message: string, loc: Loc): HeddleError {
  return new HeddleError("invalid", message, { loc });
}
