import { fileDigest, formatRef } from "@heddle/trace-model";
import { splitProject } from "../access/project-id.js";
import type { Services } from "../services.js";

/** Most ops published at once. */
const publishedAtOnce = 500;
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
  readonly #sources = new Map<string, Promise<void>>();

  constructor(services: Services) {
    this.#services = services;
  }

  /** The op refs for object ids that are already fit to be one, by object id. What is new is published at once. */
  async refs(projectId: string, objectIds: Iterable<string>): Promise<Map<string, string>> {
    const wanted = [...new Set(objectIds)];
    const refs = new Map<string, string>();
    for (let from = 0; from < wanted.length; from += publishedAtOnce) {
      const some = wanted.slice(from, from + publishedAtOnce);
      const found = await Promise.all(some.map(async (objectId) => await this.#ref(projectId, objectId)));
      for (const [index, ref] of found.entries()) refs.set(some[index] ?? "", ref);
    }
    return refs;
  }

  #ref(projectId: string, objectId: string): Promise<string> {
    const key = `${projectId}/${objectId}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const made = this.#publish(projectId, objectId);
    remember(this.#known, key, made);
    return made;
  }

  async #publish(projectId: string, objectId: string): Promise<string> {
    await this.#source(projectId);
    const { digest } = await this.#services.store.objects.create({
      project_id: projectId,
      object_id: objectId,
      val: `{"_type":"CustomWeaveType","weave_type":{"type":"Op"},"files":{"obj.py":"${sourceDigest}"}}`,
    });
    const { entity = "", project = "" } = splitProject(projectId) ?? {};
    return formatRef({ kind: "op", entity, project, name: objectId, digest, edges: [] });
  }

  /** The placeholder is stored once for all ops of a project. */
  #source(projectId: string): Promise<void> {
    const known = this.#sources.get(projectId);
    if (known !== undefined) return known;
    const stored = this.#storeSource(projectId);
    remember(this.#sources, projectId, stored);
    return stored;
  }

  async #storeSource(projectId: string): Promise<void> {
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
  }
}

/** What fails is forgotten, so that the next span tries it again. */
function remember<T>(known: Map<string, Promise<T>>, key: string, made: Promise<T>): void {
  known.set(key, made);
  made.catch(() => known.delete(key));
  if (known.size <= maxKnown) return;
  const [oldest] = known.keys();
  if (oldest !== undefined) known.delete(oldest);
}
