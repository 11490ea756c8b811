import { fileDigest, formatRef } from "@heddle/trace-model";
import { splitProject } from "../access/project-id.js";
import type { Services } from "../services.js";

/** Most op refs remembered; beyond that the oldest is asked for again, which is cheap. */
const maxKnown = 10_000;

/**
 * Op objects for operations whose source nobody has: the first use of a name in a project publishes an op with placeholder
 * source, later ones use its ref.
 */
export class PlaceholderOps {
  readonly #services: Pick<Services, "blobs" | "store">;
  readonly #source: Uint8Array;
  readonly #known = new Map<string, Promise<string>>();

  /** `source` is the content of the file `obj.py` of each op. */
  constructor(services: Pick<Services, "blobs" | "store">, source: string) {
    this.#services = services;
    this.#source = new TextEncoder().encode(source);
  }

  /** The op refs for object ids that are already fit to be one, by object id. What is new is published at once. */
  async refs(projectId: string, objectIds: Iterable<string>): Promise<Map<string, string>> {
    const refs = [...new Set(objectIds)].map(async (objectId): Promise<[string, string]> => [
      objectId,
      await this.#ref(projectId, objectId),
    ]);
    return new Map(await Promise.all(refs));
  }

  #ref(projectId: string, objectId: string): Promise<string> {
    const key = `${projectId}/${objectId}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const made = this.#publish(projectId, objectId);
    this.#known.set(key, made);
    // A failed publish is tried again by the next span.
    made.catch(() => this.#known.delete(key));
    if (this.#known.size > maxKnown) {
      const [oldest] = this.#known.keys();
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    return made;
  }

  async #publish(projectId: string, objectId: string): Promise<string> {
    const { blobs, store } = this.#services;
    const sourceDigest = fileDigest(this.#source);
    const { key, size } = await blobs.put(this.#source);
    await store.files.add({
      project_id: projectId,
      digest: sourceDigest,
      name: "obj.py",
      size_bytes: size,
      mime: "text/x-python",
      blob_key: key,
    });
    const { digest } = await store.objects.create({
      project_id: projectId,
      object_id: objectId,
      val: `{"_type":"CustomWeaveType","weave_type":{"type":"Op"},"files":{"obj.py":"${sourceDigest}"}}`,
    });
    const { entity = "", project = "" } = splitProject(projectId) ?? {};
    return formatRef({ kind: "op", entity, project, name: objectId, digest, edges: [] });
  }
}
