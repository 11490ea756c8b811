import { HeddleError, mapErrors } from "@heddle/errors";
import type { Loc } from "@heddle/errors";

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
 * The error with the loc of the field. `constraint` is the loc of the constraint on the output: what is invalid while the
 * text is generated is the constraint, which the engine does not always name.
 */
export function wireError<T>(error: T, constraint?: Loc): T | HeddleError {
  if (!(error instanceof HeddleError)) return error;
  const argument = error.loc ?? (error.code === "invalid" && constraint ? ["structuredOutput"] : undefined);
  if (argument === undefined) return error;
  const [first, ...rest] = argument;
  const isConstraint = first === "structuredOutput" && constraint !== undefined;
  // A place in a schema follows the field that has the schema.
  const place = rest[0] === "schema" ? rest.slice(1) : [];
  const loc = isConstraint ? [...constraint, ...place] : [fields[String(first)] ?? first, ...rest].map(snakeCase);
  return error.with({ loc });
}

/** The field of an argument of the engine. */
export function wireField(argument: string): string {
  return fields[argument] ?? String(snakeCase(argument));
}

function snakeCase(step: string | number | undefined): string | number {
  if (typeof step !== "string") return step ?? "";
  return step.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
