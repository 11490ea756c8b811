import { HeddleError } from "@heddle/errors";
import { ComputingBudget } from "@heddle/concurrency";
import type { JsonText } from "@heddle/exact-json";
import { Computing } from "../computing/computing.js";

/** One value may take this long, and all values of one request together. */
const valueMs = 250;
const requestMs = 1000;

/** Checks the values of one request against the JSON schemas that users wrote. */
export class FieldSchemas {
  readonly #exceeded = new HeddleError(
    "invalid",
    "the values of this request take too long to check: send fewer at once",
    { loc: [] },
  );
  readonly #computing = Computing.ofRequest(new ComputingBudget(requestMs, () => this.#exceeded));

  /** Throws `invalid`, with an empty loc, for a value that does not fit, and for a schema that cannot be used. */
  async check(schema: JsonText, value: JsonText): Promise<void> {
    const message = await this.#faultOf(schema, value);
    if (message !== undefined) throw new HeddleError("invalid", message, { loc: [] });
  }

  async #faultOf(schema: JsonText, value: JsonText): Promise<string | undefined> {
    try {
      return await this.#computing.run("schemaFault", { schema, value }, { timeMs: valueMs });
    } catch (error) {
      if (!(error instanceof HeddleError) || error === this.#exceeded) throw error;
      if (error.code === "too_large") return "takes too long to check against the field_schema";
      if (error.code === "invalid") return `the field_schema ${error.message}`;
      throw error;
    }
  }
}
