import { Validator } from "@cfworker/json-schema";
import type { Schema } from "@cfworker/json-schema";
import { HeddleError } from "@heddle/errors";
import { jsonType } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";

/** Bytes of JSON text. */
const maxSchema = 64 * 1024;

/**
 * Checks a value against a JSON schema (2020-12) that a user wrote. Returns the dotted path into the value and what does
 * not fit, or undefined when it fits. The schema is interpreted: none of its text becomes code, and refs lead nowhere
 * outside. Throws `invalid` for a schema that cannot be used. Patterns and refs can make it run for long: it is one of the
 * tasks of {@link Computing}.
 */
export function schemaFault(schema: JsonText, value: JsonText): string | undefined {
  if (jsonType(schema) !== "object" || Buffer.byteLength(schema) > maxSchema) {
    throw new HeddleError("invalid", `must be an object of at most ${maxSchema} bytes`);
  }
  const { valid, errors } = validated(schema, value);
  if (valid) return undefined;
  const { error, instanceLocation } = errors.at(-1) ?? { error: "does not fit the schema", instanceLocation: "#" };
  const path = instanceLocation.slice(2).replaceAll("/", ".");
  return path === "" ? error : `${path}: ${error}`;
}

function validated(schema: JsonText, value: JsonText): ReturnType<Validator["validate"]> {
  try {
    return new Validator(JSON.parse(schema) as Schema, "2020-12").validate(JSON.parse(value));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new HeddleError("invalid", `cannot be used: ${reason.slice(0, 200)}`);
  }
}
