import { fileDigest, formatRef } from "@heddle/trace-model";
import { splitProject } from "../access/project-id.js";
import type { Services } from "../services.js";

/** Most op refs remembered; beyond that the oldest is asked for again, which is cheap. */
const maxKnown = 10_000;

/** Op objects of calls whose source is not known: the first call of a name in a project publishes one, later ones use its ref. */
export class PlaceholderOps {
  readonly #services: Services;
  readonly #source: Uint8Array;
  readonly #known = new Map<string, Promise<string>>();

  /** `comment` is the source of the ops. */
  constructor(services: Services, comment: string) {
    this.#services = services;
    this.#source = new TextEncoder().encode(`# ${comment}\n`);
  }

  /** As {@link refs}, for one object id. */
  async ref(projectId: string, objectId: string): Promise<string> {
    return await this.#ref(projectId, objectId);
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
    // A failed publish is tried again by the next call.
    made.catch(() => this.#known.delete(key));
    if (this.#known.size > maxKnown) {
      const [oldest] = this.#known.keys();
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    return made;
  }

  async #publish(projectId: string, objectId: string): Promise<string> {
    const { blobs, store } = this.#services;
    const digestOfSource = fileDigest(this.#source);
    const { key, size } = await blobs.put(this.#source);
    await store.files.add({
      project_id: projectId,
      digest: digestOfSource,
      name: "obj.py",
      size_bytes: size,
      mime: "text/x-python",
      blob_key: key,
    });
    const { digest } = await store.objects.create({
      project_id: projectId,
      object_id: objectId,
      val: `{"_type":"CustomWeaveType","weave_type":{"type":"Op"},"files":{"obj.py":"${digestOfSource}"}}`,
    });
    const { entity = "", project = "" } = splitProject(projectId) ?? {};
    return formatRef({ kind: "op", entity, project, name: objectId, digest, edges: [] });
  }
}
