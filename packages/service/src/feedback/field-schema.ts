import { createContext, Script } from "node:vm";
import { Validator } from "@cfworker/json-schema";
import type { Schema } from "@cfworker/json-schema";
import { HeddleError } from "@heddle/errors";
import { jsonType } from "@heddle/trace-model";
import type { JsonText } from "@heddle/trace-model";

/** Bytes of JSON text. */
const maxSchema = 64 * 1024;
/** One value may take this long, and all values of one request together. */
const valueMs = 100;
const requestMs = 1000;

const context = createContext({ run: (): unknown => undefined });
const script = new Script("run()");

/**
 * Checks the values of one request against the JSON schemas that users wrote. The schemas are interpreted: none of
 * their text becomes code, and refs lead nowhere outside. A pattern or a schema that makes the check run for long is
 * stopped, so that it cannot hold up other requests.
 */
export class FieldSchemas {
  #spentMs = 0;

  /** Throws `invalid`, with an empty loc, for a value that does not fit, and for a schema that cannot be used. */
  check(schema: JsonText, value: JsonText): void {
    if (jsonType(schema) !== "object" || Buffer.byteLength(schema) > maxSchema) {
      throw invalid(`the field_schema must be an object of at most ${maxSchema} bytes`);
    }
    const began = performance.now();
    const fault = this.#faultOf(schema, value);
    this.#spentMs += performance.now() - began;
    if (fault !== undefined) throw invalid(fault);
  }

  #faultOf(schema: JsonText, value: JsonText): string | undefined {
    const timeout = Math.ceil(Math.min(valueMs, requestMs - this.#spentMs));
    if (timeout < 1) return "the values of this request take too long to check: send fewer at once";
    context["run"] = () => new Validator(JSON.parse(schema) as Schema, "2020-12").validate(JSON.parse(value));
    try {
      const { valid, errors } = script.runInContext(context, { timeout }) as ReturnType<Validator["validate"]>;
      if (valid) return undefined;
      return errors.at(-1)?.error ?? "does not fit the field_schema";
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return "takes too long to check against the field_schema";
      return `the field_schema cannot be used: ${message.slice(0, 200)}`;
    }
  }
}

function invalid(message: string): HeddleError {
  return new HeddleError("invalid", message, { loc: [] });
}
