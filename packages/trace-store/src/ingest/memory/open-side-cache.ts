import { keyText } from "../../stored-calls/call-key.js";
import { copyText } from "../../stored-calls/call-sides.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import type { StartSide } from "../../stored-calls/call-sides.js";
import type { OpenSides } from "../../stored-calls/call-sides.js";
import type { OpenSide } from "../../stored-calls/call-sides.js";

interface Entry {
  call: CallKey;
  sides: OpenSides;
  bytes: number;
}

/**
 * The newest open sides with their payloads, so that most calls are completed, and running ones shown, without reading
 * their start back.
 * Bounded by bytes; what was added first goes first.
 */
export class OpenSideCache {
  readonly #entries = new Map<string, Entry>();
  /** The starts of each project that has any, by id. */
  readonly #starts = new Map<string, Map<string, OpenSide<StartSide>>>();
  readonly #limit: number;
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  get(key: string): OpenSides | undefined {
    return this.#entries.get(key)?.sides;
  }

  /** The open starts of a project that are kept, by the id of their call. */
  starts(projectId: string): ReadonlyMap<string, OpenSide<StartSide>> {
    return this.#starts.get(projectId) ?? none;
  }

  set({ project_id, id }: CallKey, sides: OpenSides): void {
    const call = { project_id, id };
    const key = keyText(call);
    this.delete(key);
    const { start, end } = sides;
    const kept: OpenSides = {
      ...(start && {
        start: {
          ...start,
          side: {
            ...start.side,
            fields: copy(start.side.fields),
            trace_id: copyText(start.side.trace_id),
            parent_id: copyText(start.side.parent_id),
          },
        },
      }),
      ...(end && {
        end: { ...end, side: { ...end.side, fields: copy(end.side.fields) } },
      }),
    };
    const bytes = 600 + (start?.side.fields.length ?? 0) + (end?.side.fields.length ?? 0);
    this.#entries.set(key, { call, sides: kept, bytes });
    if (kept.start !== undefined) {
      const starts = this.#starts.get(project_id) ?? new Map<string, OpenSide<StartSide>>();
      this.#starts.set(project_id, starts.set(id, kept.start));
    }
    this.#bytes += bytes;
    for (const [oldest] of this.#entries) {
      if (this.#bytes <= this.#limit) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#bytes -= entry.bytes;
    this.#entries.delete(key);
    const starts = this.#starts.get(entry.call.project_id);
    starts?.delete(entry.call.id);
    if (starts?.size === 0) this.#starts.delete(entry.call.project_id);
  }

  clear(): void {
    this.#entries.clear();
    this.#starts.clear();
    this.#bytes = 0;
  }
}

const none: ReadonlyMap<string, OpenSide<StartSide>> = new Map();

/** A slice of bytes would keep the memory of its whole request. */
function copy(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
