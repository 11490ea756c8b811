import { HeddleError } from "@heddle/errors";
import { isObjectId } from "@heddle/trace-model";
import { encodeValue } from "../encoding/encode-value.js";
import type { EncodedValue, SentValue } from "../encoding/encode-value.js";
import { encodeLargeValue, isLarge } from "../encoding/large-values.js";
import type { ObjectCreate } from "./requests.js";

/** A version about to be created: all that follows from the request alone. */
export interface Draft extends EncodedValue {
  project_id: string;
  object_id: string;
  user_id: string;
}

/** Throws `invalid` for what cannot be an object and `conflict` when the digest is not the expected one. */
export async function draftOf(request: ObjectCreate): Promise<Draft> {
  const { project_id, object_id, expected_digest } = request;
  if (!isObjectId(object_id)) {
    throw invalid("object_id must be 1 to 128 characters of letters and digits of any script, _, . and -", "object_id");
  }
  const encoded = isLarge(request.val) ? await encodeLargeValue(sentOf(request)) : encodeValue(request);
  const { digest } = encoded;
  if (expected_digest !== undefined && expected_digest !== digest) {
    throw new HeddleError("conflict", `The value has the digest ${digest}, not ${expected_digest}`, {
      loc: ["expected_digest"],
    });
  }
  return { ...encoded, project_id, object_id, user_id: request.wb_user_id ?? "" };
}

function sentOf({ val, builtin_object_class }: ObjectCreate): SentValue {
  return { val, builtin_object_class };
}

function invalid(message: string, field: string): HeddleError {
  return new HeddleError("invalid", message, { loc: [field] });
}
