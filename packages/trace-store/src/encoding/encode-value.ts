import { HeddleError } from "@heddle/errors";
import { storable } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { asBuiltinClass, findRefs, objectClasses, valueDigest } from "@heddle/trace-model";
import { RowWriter } from "../engine/row-writer.js";
import { unsafeFilePath } from "./file-paths.js";

/** The value of an object version as it is to be stored. */
export interface EncodedValue {
  kind: "object" | "op";
  base_class: string;
  leaf_class: string;
  digest: string;
  /** The columns of {@link contentColumns}. */
  content: Uint8Array;
  /** Of the text as it was sent. */
  size_bytes: number;
}

/** The columns that hold the value itself. */
export const contentColumns = ["val", "exact", "refs"] as const;

export interface SentValue {
  val: JsonText;
  builtin_object_class?: string | undefined;
}

const writer = new RowWriter();

/** Encodes the value of an object. Throws `invalid` for what cannot be one. */
export function encodeValue({ val: sent, builtin_object_class }: SentValue): EncodedValue {
  const val = builtin_object_class === undefined ? sent : asBuiltinClass(sent, builtin_object_class);
  const { text, exact = "" } = storable(val);
  const unsafe = unsafeFilePath(text);
  if (unsafe !== undefined) {
    const message = `files must be named by relative paths without "..": ${JSON.stringify(unsafe)}`;
    throw new HeddleError("invalid", message, { loc: ["val"] });
  }
  const { kind, base_object_class, leaf_object_class } = objectClasses(val);
  return {
    kind,
    base_class: base_object_class ?? "",
    leaf_class: leaf_object_class ?? "",
    digest: valueDigest(val),
    content: contentOf(text, exact, findRefs(val)),
    size_bytes: Buffer.byteLength(val),
  };
}

function contentOf(val: string, exact: string, refs: readonly string[]): Uint8Array {
  return writer.fieldsOf(() => {
    writer.text(val);
    writer.text(exact);
    writer.texts(refs);
  });
}

/** The content of a version of which nothing is left. */
export const noContent = contentOf("", "", []);
