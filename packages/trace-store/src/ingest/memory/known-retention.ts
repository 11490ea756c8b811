import type { Engine } from "../../engine/engine.js";
import { copyText } from "../../stored-calls/call-sides.js";
import type { RetentionUs } from "../../stored-calls/in-flight.js";
import { retentionSettings } from "../../visibility/retention.js";

/** About the memory of a setting without the name of its project. */
const entryBytes = 120;

/** For how long projects keep their calls. Beyond `limitBytes` the table knows those that are not here. */
export class KnownRetention {
  #settings = new Map<string, bigint>();
  #bytes = 0;
  #isPartial = false;
  readonly #limit: number;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  /** True while any project may have a setting. */
  get any(): boolean {
    return this.#isPartial || this.#settings.size > 0;
  }

  /** About the bytes that it holds. */
  get bytes(): number {
    return this.#bytes;
  }

  of(projectId: string): RetentionUs {
    return this.#settings.get(projectId) ?? (this.#isPartial ? "stored" : undefined);
  }

  /** Undefined for a project that keeps its calls indefinitely. */
  set(projectId: string, us: bigint | undefined): void {
    const bytes = entryBytes + projectId.length;
    if (this.#settings.has(projectId)) {
      if (us !== undefined) this.#settings.set(projectId, us);
      else if (this.#settings.delete(projectId)) this.#bytes -= bytes;
    } else if (us !== undefined) {
      if (this.#bytes + bytes > this.#limit) {
        this.#isPartial = true;
        return;
      }
      this.#settings.set(copyText(projectId), us);
      this.#bytes += bytes;
    }
  }

  /** Takes what is stored in place of what was known. No commit may be under way. */
  async load(engine: Engine): Promise<void> {
    const loaded = new KnownRetention(this.#limit);
    for await (const settings of retentionSettings(engine)) {
      for (const [projectId, us] of settings) loaded.set(projectId, us);
      if (loaded.#isPartial) break;
    }
    this.#settings = loaded.#settings;
    this.#bytes = loaded.#bytes;
    this.#isPartial = loaded.#isPartial;
  }
}
