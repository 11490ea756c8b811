import { ProjectWriter } from "../object-kinds/project-writer.js";
import type { Services } from "../services.js";

/** Most op refs remembered; beyond that the oldest is asked for again, which is cheap. */
const maxKnown = 10_000;

/** Op objects of calls whose source is not known: the first call of a name in a project publishes one, later ones use its ref. */
export class PlaceholderOps {
  readonly #services: Services;
  readonly #source: string;
  readonly #known = new Map<string, Promise<string>>();

  /** `comment` is the source of the ops. */
  constructor(services: Services, comment: string) {
    this.#services = services;
    this.#source = `# ${comment}\n`;
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
    return (await new ProjectWriter(this.#services, projectId).publishOp(objectId, this.#source)).ref;
  }
}
