import { Ajv2020 } from "ajv/dist/2020.js";
import { formats } from "./formats.js";
import { withoutNullable } from "./nullable.js";

/** Returns why a finished text does not satisfy the schema, or undefined if it does. */
export type JsonValidator = (text: string) => string | undefined;

/** Creates a validator of finished text that is independent of the grammars. */
export function jsonValidator(schema: unknown): JsonValidator {
  const ajv = new Ajv2020({
    strict: false,
    logger: false,
    code: { regExp: Object.assign(lenientRegExp, { code: "" }) },
  });
  for (const [name, source] of formats) ajv.addFormat(name, new RegExp(`^(?:${source})$`));
  const plain = withoutNullable(schema);
  const validate = ajv.compile(isObject(plain) ? withoutIds(plain) : plain === true);
  return (text) => {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return "it is not JSON";
    }
    if (validate(value)) return undefined;
    const [first] = validate.errors ?? [];
    return `${first?.instancePath || "the value"} ${first?.message ?? "is not valid"}`;
  };
}

/**
 * Compiles patterns with the flag `u` if possible; some common escapes (`\-`) are valid only without it. A dot matches
 * the two line terminators that only ECMAScript has.
 */
function lenientRegExp(source: string): RegExp {
  try {
    return new RegExp(source, "us");
  } catch {
    return new RegExp(source, "s");
  }
}

/** Removes `$schema` and `$id`, for which the validator would look up other documents. */
function withoutIds({
  $schema: _schema,
  $id: _id,
  id: _oldId,
  ...rest
}: Record<string, unknown>): Record<string, unknown> {
  return rest;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
