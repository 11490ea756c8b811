import { Ajv2020 } from "ajv/dist/2020.js";
import { formats } from "./schema/formats.js";

/** Says why a finished text does not satisfy the schema; undefined when it does. */
export type JsonValidator = (text: string) => string | undefined;

/** A second opinion on finished text, by a schema validator that shares nothing with the grammars. */
export function jsonValidator(schema: unknown): JsonValidator {
  const ajv = new Ajv2020({
    strict: false,
    logger: false,
    code: { regExp: Object.assign(lenientRegExp, { code: "" }) },
  });
  for (const [name, source] of formats) ajv.addFormat(name, new RegExp(`^(?:${source})$`));
  const validate = ajv.compile(isObject(schema) ? withoutIds(schema) : schema === true);
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
 * Patterns count code points where they can; some common escapes (`\-`) are known only without the flag. A dot may stand for the
 * two ends of lines that only ECMAScript knows.
 */
function lenientRegExp(source: string): RegExp {
  try {
    return new RegExp(source, "us");
  } catch {
    return new RegExp(source, "s");
  }
}

/** A `$schema` or `$id` would send the validator looking for other documents. */
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
