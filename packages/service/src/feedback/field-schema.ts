import { HeddleError } from "@heddle/errors";
import type { JsonText } from "@heddle/trace-model";
import { schemaFault } from "../json-schema.js";

/** One value may take this long, and all values of one request together. */
const valueMs = 100;
const requestMs = 1000;

/**
 * Checks the values of one request against the JSON schemas that users wrote. A pattern or a schema that makes the check
 * run for long is stopped, so that it cannot hold up other requests.
 */
export class FieldSchemas {
  #spentMs = 0;

  /** Throws `invalid`, with an empty loc, for a value that does not fit, and for a schema that cannot be used. */
  check(schema: JsonText, value: JsonText): void {
    const began = performance.now();
    const message = this.#faultOf(schema, value);
    this.#spentMs += performance.now() - began;
    if (message !== undefined) throw new HeddleError("invalid", message, { loc: [] });
  }

  #faultOf(schema: JsonText, value: JsonText): string | undefined {
    const timeout = Math.ceil(Math.min(valueMs, requestMs - this.#spentMs));
    if (timeout < 1) return "the values of this request take too long to check: send fewer at once";
    try {
      return schemaFault(schema, value, timeout);
    } catch (error) {
      if (!(error instanceof HeddleError)) throw error;
      if (error.code === "too_large") return "takes too long to check against the field_schema";
      return `the field_schema ${error.message}`;
    }
  }
}
