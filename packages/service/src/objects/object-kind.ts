import { stringMember } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { formatTime } from "@heddle/trace-model";
import type { Among, StoredObject, TraceStore } from "@heddle/trace-store";
import type { ProjectWriter } from "./project-writer.js";

/** A kind of object with operations of its own: what it writes, and what it shows of a stored value. */
export interface ObjectKind<Body, Created, Shown> {
  /** What its versions have in common, whoever stored them. */
  among: Among;
  /** Whether only the latest version of each name is listed. */
  latest_only?: boolean;
  create(writer: ProjectWriter, body: Body, store: TraceStore): Promise<Created>;
  /** Returns the digest of the source file that is shown with a version; absent where none is. */
  sourceOf?(store: TraceStore, object: StoredObject): Promise<string | undefined>;
  /** `source` is empty where there is none. */
  show(object: StoredObject, source: string): Shown;
}

/** The properties that every kind shows of a version. */
export function versionOf({ object_id, digest, version_index, created_at }: StoredObject) {
  return { object_id, digest, version_index, created_at: formatTime(created_at) };
}

/** The properties that every instance of a class shows: those of the version, its name and its description. */
export function instanceOf(object: StoredObject) {
  return {
    ...versionOf(object),
    name: stringMember(object.val, "name") || object.object_id,
    description: textOrNull(object.val, "description"),
  };
}

export function textOrNull(val: JsonText, member: string): string | null {
  return stringMember(val, member) ?? null;
}
