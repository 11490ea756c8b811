import { forEachConcurrently } from "@heddle/concurrency";
import { LRUCache } from "lru-cache";
import { ProjectWriter } from "../objects/project-writer.js";
import type { ObjectStores } from "../objects/object-stores.js";

/** Most ops published at once. */
const publishedAtOnce = 500;
/** Most op refs remembered; beyond that the least recently used is asked for again, which is cheap. */
const maxKnown = 10_000;

/** Op objects of calls whose source is not known: the first call of a name in a project publishes one, later ones use its ref. */
export class PlaceholderOps {
  readonly #services: ObjectStores;
  readonly #source: string;
  readonly #known = new LRUCache<string, Promise<string>>({ max: maxKnown });
  readonly #sources = new LRUCache<string, Promise<string>>({ max: maxKnown });

  /** `comment` is the source of the ops. */
  constructor(services: ObjectStores, comment: string) {
    this.#services = services;
    this.#source = `# ${comment}\n`;
  }

  /** As {@link refs}, for one object id. */
  async ref(projectId: string, objectId: string): Promise<string> {
    return await this.#ref(projectId, objectId);
  }

  /** The op refs for object ids that are already fit to be one, by object id. What is new is published at once. */
  async refs(projectId: string, objectIds: Iterable<string>): Promise<Map<string, string>> {
    const wanted = [...new Set(objectIds)];
    const refs = new Map<string, string>();
    await forEachConcurrently(wanted, publishedAtOnce, async (objectId) => {
      refs.set(objectId, await this.#ref(projectId, objectId));
    });
    return refs;
  }

  #ref(projectId: string, objectId: string): Promise<string> {
    const key = `${projectId}/${objectId}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const published = this.#publish(projectId, objectId);
    remember(this.#known, key, published);
    return published;
  }

  async #publish(projectId: string, objectId: string): Promise<string> {
    const digest = await this.#sourceOf(projectId);
    return (await new ProjectWriter(this.#services, projectId).publishOpOf(objectId, digest)).ref;
  }

  /** The digest of the source, which is stored once for all ops of a project. */
  #sourceOf(projectId: string): Promise<string> {
    const known = this.#sources.get(projectId);
    if (known !== undefined) return known;
    const stored = new ProjectWriter(this.#services, projectId).putSource(this.#source);
    remember(this.#sources, projectId, stored);
    return stored;
  }
}

/** What fails is forgotten, so that the next call tries it again. */
function remember(known: LRUCache<string, Promise<string>>, key: string, value: Promise<string>): void {
  known.set(key, value);
  value.catch(() => known.delete(key));
}
