/** Who has a job, or waits for its turn. */
export interface JobOwner {
  entity: string;
  key_id: string;
  project_id: string;
}

/** The counts of a level, and the name of one there. */
type Level = [counts: Map<string, number>, name: string];

/** Slots that an entity, or one of its keys, has at most: where there are several, one is left for the others. */
const most = (slots: number): number => Math.max(1, Math.min(Math.ceil(slots * 0.75), slots - 1));
/** Of an entity, and of a key of it: what is beyond that is given back as soon as another one waits. */
const entityShare = (slots: number): number => Math.max(1, Math.floor(slots * 0.75));
const keyShare = (slots: number): number => Math.max(1, Math.floor(slots / 2));

/** How jobs share the slots of a pool. */
class SlotShares {
  readonly #slots: number;
  readonly #entities = new Map<string, number>();
  readonly #keys = new Map<string, number>();
  readonly #projects = new Map<string, number>();

  constructor(slots: number, owners: Iterable<JobOwner>) {
    this.#slots = slots;
    for (const owner of owners) this.add(owner, 1);
  }

  add(owner: JobOwner, slots: number): void {
    for (const [counts, name] of this.#levels(owner)) counts.set(name, (counts.get(name) ?? 0) + slots);
  }

  /** Entities that get no further slot. */
  fullEntities(): string[] {
    return [...this.#entities].filter(([, taken]) => taken >= most(this.#slots)).map(([entity]) => entity);
  }

  /** Keys that get no further slot. */
  fullKeys(): { entity: string; key_id: string }[] {
    return [...this.#keys]
      .filter(([, taken]) => taken >= most(this.#slots))
      .map(([name]) => JSON.parse(name) as [string, string])
      .map(([entity, key]) => ({ entity, key_id: key }));
  }

  /**
   * Whether one who waits has a smaller share than one who has a slot: compared by entity, in the same entity by key, and
   * of the same key by project. False for jobs of one project, which run in the order of their creation.
   */
  deserves(waiting: JobOwner, running: JobOwner): boolean {
    const theirs = this.#levels(running);
    for (const [at, [counts, name]] of this.#levels(waiting).entries()) {
      const other = theirs[at]?.[1] ?? "";
      if (other !== name) return (counts.get(other) ?? 0) > (counts.get(name) ?? 0);
    }
    return false;
  }

  /** Whether one who runs has so much more than its share that one who waits does not have to wait for its slice. */
  exceeds(running: JobOwner, waiting: JobOwner): boolean {
    const [[entities, entity], [keys, key]] = this.#levels(running);
    if (running.entity !== waiting.entity) return (entities.get(entity) ?? 0) > entityShare(this.#slots);
    return running.key_id !== waiting.key_id && (keys.get(key) ?? 0) > keyShare(this.#slots);
  }

  #levels({ entity, key_id, project_id }: JobOwner): [Level, Level, Level] {
    return [
      [this.#entities, entity],
      [this.#keys, JSON.stringify([entity, key_id])],
      [this.#projects, JSON.stringify([entity, key_id, project_id])],
    ];
  }
}

/** How jobs share slots. Those of no known key count for nobody. */
export function sharesOf(slots: number, held: readonly { job: JobOwner }[]): SlotShares {
  return new SlotShares(
    slots,
    held.map(({ job }) => job).filter(({ key_id }) => key_id !== ""),
  );
}
