import { HeddleError, mapErrors } from "@heddle/errors";
import type { RawJson } from "@heddle/server-stub";
import { withMembers } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { externalRef, externalRefs, fileDigest, formatRef } from "@heddle/trace-model";
import type { ProjectOf } from "@heddle/trace-model";
import type { CreatedObject } from "@heddle/trace-store";
import { splitProject } from "../access/project-id.js";
import type { ObjectStores } from "./object-stores.js";
import { sourceFile } from "./source-digest.js";

const unknownSource = "# The source of this op is not known.\n";

export interface Published extends CreatedObject {
  ref: string;
}

/** Stores what objects of one project consist of: versions, ops, files and tables. */
export class ProjectWriter {
  readonly project_id: string;
  readonly #services: ObjectStores;
  readonly #projectOf: ProjectOf;
  readonly #userId: string | undefined;

  /** `projectOf` resolves internal refs in what the user sent; `userId` becomes the author of the versions. */
  constructor(
    services: ObjectStores,
    projectId: string,
    { projectOf = () => undefined, userId }: { projectOf?: ProjectOf; userId?: string } = {},
  ) {
    this.project_id = projectId;
    this.#services = services;
    this.#projectOf = projectOf;
    this.#userId = userId;
  }

  /** Publishes an instance of a class: `free` are members that the user sent, `members` the others. */
  async publishInstance(
    objectId: string,
    className: string,
    members: Readonly<Record<string, JsonText>>,
    free?: RawJson,
  ): Promise<Published> {
    const name = JSON.stringify(className);
    const val = withMembers(this.stored(free?.text ?? "{}"), {
      _type: name,
      ...members,
      _class_name: name,
      _bases: '["Object","BaseModel"]',
    });
    return await this.#publish("object", objectId, val);
  }

  /** Publishes an op with its source, or with a placeholder for it. */
  async publishOp(objectId: string, source: string = unknownSource): Promise<Published> {
    return await this.publishOpOf(objectId, await this.putSource(source));
  }

  /** Publishes an op whose source file is stored. */
  async publishOpOf(objectId: string, sourceDigest: string): Promise<Published> {
    const files = JSON.stringify({ [sourceFile]: sourceDigest });
    const val = `{"_type":"CustomWeaveType","weave_type":{"type":"Op"},"files":${files}}`;
    return await this.#publish("op", objectId, val);
  }

  /** Stores a source file and returns its digest. Throws `unprocessable` for text that has no UTF-8. */
  async putSource(source: string): Promise<string> {
    if (/\p{Surrogate}/u.test(source)) {
      throw new HeddleError("unprocessable", "the source has a lone surrogate, which UTF-8 cannot hold");
    }
    const { blobs, store } = this.#services;
    const bytes = Buffer.from(source);
    const digest = fileDigest(bytes);
    const { key, size } = await blobs.put(bytes);
    await store.files.add({
      project_id: this.project_id,
      digest,
      name: sourceFile,
      size_bytes: size,
      mime: "text/x-python",
      blob_key: key,
    });
    return digest;
  }

  /** Stores rows and returns the ref of their table. */
  async putRows(rows: readonly RawJson[]): Promise<string> {
    const { digest } = await this.#services.store.tables.create({
      project_id: this.project_id,
      rows: rows.map(({ text }) => this.stored(text)),
    });
    return formatRef({ kind: "table", ...this.#project(), digest, edges: [] });
  }

  /** Free JSON of the user in the form in which it is stored. */
  stored(text: JsonText): JsonText {
    return externalRefs(text, this.#projectOf);
  }

  /** The same for a ref. */
  storedRef(ref: string): string {
    return externalRef(ref, this.#projectOf);
  }

  async #publish(kind: "object" | "op", objectId: string, val: JsonText): Promise<Published> {
    const object = { project_id: this.project_id, object_id: objectId, val, wb_user_id: this.#userId };
    // The value is not an argument of the user, so an error in it has no loc there.
    const created = await mapErrors(
      (error) => error.with({ loc: undefined }),
      () => this.#services.store.objects.create(object),
    );
    const { digest } = created;
    return { ...created, ref: formatRef({ kind, ...this.#project(), name: objectId, digest, edges: [] }) };
  }

  #project(): { entity: string; project: string } {
    const { entity = "", project = "" } = splitProject(this.project_id) ?? {};
    return { entity, project };
  }
}
