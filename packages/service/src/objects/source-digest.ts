import { memberOf, stringMember } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";

/** Name of the source file in the value of an op or a model. */
export const sourceFile = "obj.py";

/** Returns the digest of the source file that a value names; undefined when it names none. */
export function sourceDigest(val: JsonText): string | undefined {
  return stringMember(memberOf(val, "files") ?? "null", sourceFile);
}
