import { Validator } from "@cfworker/json-schema";
import type { Schema } from "@cfworker/json-schema";
import { HeddleError } from "@heddle/errors";
import { jsonType } from "@heddle/trace-model";
import type { JsonText } from "@heddle/trace-model";
import { withinTime } from "./time-limit.js";

/** Bytes of JSON text. */
const maxSchema = 64 * 1024;

/** Where a value does not fit a schema, and why. */
export interface SchemaFault {
  /** Dotted path into the value; empty for the value itself. */
  path: string;
  message: string;
}

/**
 * Checks a value against a JSON schema (2020-12) that a user wrote; undefined when it fits. The schema is interpreted:
 * none of its text becomes code, and refs lead nowhere outside. Throws `invalid` for a schema that cannot be used and
 * `too_large` when the check takes longer than `ms`, as patterns and refs can make it run for long.
 */
export function schemaFault(schema: JsonText, value: JsonText, ms: number): SchemaFault | undefined {
  if (jsonType(schema) !== "object" || Buffer.byteLength(schema) > maxSchema) {
    throw new HeddleError("invalid", `must be an object of at most ${maxSchema} bytes`);
  }
  const { valid, errors } = withinTime(ms, () => validated(schema, value));
  if (valid) return undefined;
  const { error, instanceLocation } = errors.at(-1) ?? { error: "does not fit the schema", instanceLocation: "#" };
  return { path: instanceLocation.slice(2).replaceAll("/", "."), message: error };
}

function validated(schema: JsonText, value: JsonText): ReturnType<Validator["validate"]> {
  try {
    return new Validator(JSON.parse(schema) as Schema, "2020-12").validate(JSON.parse(value));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new HeddleError("invalid", `cannot be used: ${reason.slice(0, 200)}`);
  }
}
