import { HeddleError, mapErrors } from "@heddle/errors";
import type { Loc } from "@heddle/errors";
import type { Constraint } from "./constraint.js";

/** Arguments of the engine and of templates whose field is not the same word in snake case. */
const fields: Readonly<Record<string, string>> = {
  prompt: "messages",
  kwargs: "chat_template_kwargs",
  template: "chat_template",
  weights: "model",
  baseModel: "model",
  maxTokens: "max_completion_tokens",
  beamSearch: "use_beam_search",
};

/** Runs what takes arguments of other names, and gives its errors the locs of the fields. */
export function withWireLoc<T>(run: () => Promise<T>): Promise<T> {
  return mapErrors((error) => wireError(error), run);
}

/**
 * The error with the loc of the field. `constraint` is that on the output: what is invalid while the text is generated is
 * the constraint, which the engine does not always name.
 */
export function wireError<T>(error: T, constraint?: Pick<Constraint, "loc" | "schemaLocs">): T | HeddleError {
  if (!(error instanceof HeddleError)) return error;
  const argument = error.loc ?? (error.code === "invalid" && constraint ? ["structuredOutput"] : undefined);
  if (argument === undefined) return error;
  const [first, ...rest] = argument;
  const isConstraint = first === "structuredOutput" && constraint !== undefined;
  const loc = isConstraint ? constraintLoc(constraint, rest) : [fields[String(first)] ?? first, ...rest].map(snakeCase);
  return error.with({ loc });
}

/** A place in a schema follows the field that has the schema. */
function constraintLoc({ loc, schemaLocs }: Pick<Constraint, "loc" | "schemaLocs">, place: Loc): Loc {
  if (place[0] === "schema") return [...loc, ...place.slice(1)];
  const tag = place.indexOf("tags") + 1;
  const schema = place.indexOf("json_schema", tag) + 1;
  const ofTag = tag > 0 && schema > 0 ? schemaLocs?.[Number(place[tag])] : undefined;
  return ofTag === undefined ? loc : [...ofTag, ...place.slice(schema)];
}

/** The field of an argument of the engine. */
export function wireField(argument: string): string {
  return fields[argument] ?? String(snakeCase(argument));
}

function snakeCase(step: string | number | undefined): string | number {
  if (typeof step !== "string") return step ?? "";
  return step.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
