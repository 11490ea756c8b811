import type { Engine } from "../../engine/engine.js";
import { copyText } from "../../stored-calls/call-sides.js";
import type { RetentionUs } from "../../stored-calls/in-flight.js";
import { retentionSettings } from "../../visibility/retention.js";
import { ByteLimit } from "./byte-limit.js";

/** About the memory of a setting without the name of its project. */
const entryBytes = 120;

/** For how long projects keep their calls. Beyond `limitBytes` the table knows those that are not here. */
export class KnownRetention {
  #settings = new Map<string, bigint>();
  #held: ByteLimit;

  constructor(limitBytes: number) {
    this.#held = new ByteLimit(limitBytes, entryBytes);
  }

  /** True while any project may have a setting. */
  get any(): boolean {
    return this.#held.isPartial || this.#settings.size > 0;
  }

  /** About the bytes that it holds. */
  get bytes(): number {
    return this.#held.bytes;
  }

  of(projectId: string): RetentionUs {
    return this.#settings.get(projectId) ?? (this.#held.isPartial ? "stored" : undefined);
  }

  /** Undefined for a project that keeps its calls indefinitely. */
  set(projectId: string, us: bigint | undefined): void {
    if (us === undefined) {
      if (this.#settings.delete(projectId)) this.#held.remove(projectId);
    } else if (this.#settings.has(projectId)) {
      this.#settings.set(projectId, us);
    } else if (this.#held.add(projectId)) {
      this.#settings.set(copyText(projectId), us);
    }
  }

  /** Takes what is stored in place of what was known. No commit may be under way. */
  async load(engine: Engine): Promise<void> {
    const loaded = new KnownRetention(this.#held.limit);
    for await (const settings of retentionSettings(engine)) {
      for (const [projectId, us] of settings) loaded.set(projectId, us);
      if (loaded.#held.isPartial) break;
    }
    this.#settings = loaded.#settings;
    this.#held = loaded.#held;
  }
}
