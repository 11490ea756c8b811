import { HeddleError } from "@heddle/errors";
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

/** Runs what takes arguments of other names, and gives its errors the locs of the fields. `constraint` is where that is. */
export async function withWireLoc<T>(run: () => Promise<T>, constraint: Loc = ["structured_outputs"]): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw wireError(error, constraint);
  }
}

export function wireError(error: unknown, constraint: Loc): unknown {
  if (!(error instanceof HeddleError) || error.loc === undefined) return error;
  const { code, message, details, cause } = error;
  const [first, ...rest] = error.loc;
  const loc = first === "structuredOutput" ? constraint : [fields[String(first)] ?? first, ...rest].map(snakeCase);
  const located = new HeddleError(code, message, { loc, details, cause });
  located.stack = error.stack;
  return located;
}

function snakeCase(step: string | number | undefined): string | number {
  if (typeof step !== "string") return step ?? "";
  return step.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
