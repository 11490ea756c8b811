import { fileDigest, formatRef } from "@heddle/trace-model";
import { splitProject } from "../access/project-id.js";
import type { Services } from "../services.js";

/** Most op refs remembered; beyond that the oldest is asked for again, which is cheap. */
const maxKnown = 10_000;

const source = new TextEncoder().encode("# This op was recorded through OpenTelemetry; its source is not known.\n");
const sourceDigest = fileDigest(source);

/**
 * Op objects for span names: the first span of a name in a project publishes an op with placeholder source, later ones
 * use its ref.
 */
export class OtelOps {
  readonly #services: Services;
  readonly #known = new Map<string, Promise<string>>();

  constructor(services: Services) {
    this.#services = services;
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
    const { key, size } = await blobs.put(source);
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
