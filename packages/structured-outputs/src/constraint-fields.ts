import type { StructuredOutput } from "./structured-output.js";
import { HeddleError } from "@heddle/errors";

const fieldsOf: Record<StructuredOutput["type"], Record<string, "string" | "boolean" | "any">> = {
  json_schema: { schema: "any", whitespace: "boolean", whitespacePattern: "string" },
  json_object: {},
  regex: { regex: "string" },
  choice: { choices: "any" },
  grammar: { grammar: "string" },
  structural_tag: { tag: "any" },
};

/**
 * Checks that a constraint has the fields of its type and no others, which would be ignored. Throws `invalid` with the
 * field.
 */
export function checkFields({ type, ...fields }: StructuredOutput): void {
  if (!Object.hasOwn(fieldsOf, type)) {
    throw new HeddleError("invalid", `There is no constraint of the type ${JSON.stringify(type)}.`, { loc: ["type"] });
  }
  const known = fieldsOf[type];
  for (const [name, value] of Object.entries(fields)) {
    const wanted = Object.hasOwn(known, name) ? known[name] : undefined;
    if (wanted === undefined) {
      throw new HeddleError(
        "invalid",
        `A constraint of the type ${type} has no ${name}; give exactly one constraint.`,
        { loc: [name] },
      );
    }
    if (wanted !== "any" && typeof value !== wanted)
      throw new HeddleError("invalid", `${name} must be a ${wanted}.`, { loc: [name] });
  }
  const [needed] = Object.keys(known);
  if (needed !== undefined && !Object.hasOwn(fields, needed)) {
    throw new HeddleError("invalid", `A constraint of the type ${type} needs ${needed}.`, { loc: [needed] });
  }
}
