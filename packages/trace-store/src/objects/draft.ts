import { HeddleError } from "@heddle/errors";
import { storable } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { asBuiltinClass, findRefs, isObjectId, objectClasses, valueDigest } from "@heddle/trace-model";
import { unsafeFilePath } from "./file-paths.js";
import type { ObjectCreate, ObjectKind } from "./requests.js";

/** A version about to be created: all that follows from the request alone. */
export interface Draft {
  project_id: string;
  kind: ObjectKind;
  object_id: string;
  digest: string;
  base_class: string;
  leaf_class: string;
  val: string;
  exact: string;
  refs: readonly string[];
  size_bytes: number;
  user_id: string;
}

/** Throws `invalid` for what cannot be an object and `conflict` when the digest is not the expected one. */
export function draftOf(request: ObjectCreate): Draft {
  const { project_id, object_id, expected_digest } = request;
  if (!isObjectId(object_id)) {
    throw invalid("object_id must be 1 to 128 characters of letters and digits of any script, _, . and -", "object_id");
  }
  const val = valueOf(request);
  const { text, exact = "" } = storable(val);
  const unsafe = unsafeFilePath(text);
  if (unsafe !== undefined) {
    throw invalid(`files must be named by relative paths without "..": ${JSON.stringify(unsafe)}`, "val");
  }
  const digest = valueDigest(val);
  if (expected_digest !== undefined && expected_digest !== digest) {
    throw new HeddleError("conflict", `The value has the digest ${digest}, not ${expected_digest}`, {
      loc: ["expected_digest"],
    });
  }
  const { kind, base_object_class, leaf_object_class } = objectClasses(val);
  return {
    project_id,
    kind,
    object_id,
    digest,
    base_class: base_object_class ?? "",
    leaf_class: leaf_object_class ?? "",
    val: text,
    exact,
    refs: findRefs(val),
    size_bytes: Buffer.byteLength(val),
    user_id: request.wb_user_id ?? "",
  };
}

function valueOf({ val, builtin_object_class }: ObjectCreate): JsonText {
  return builtin_object_class === undefined ? val : asBuiltinClass(val, builtin_object_class);
}

function invalid(message: string, field: string): HeddleError {
  return new HeddleError("invalid", message, { loc: [field] });
}
