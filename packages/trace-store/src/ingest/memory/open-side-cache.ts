import { keyText } from "../../stored-calls/call-key.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import type { EndSide, ExactText, OpenSide, OpenSides, StartSide } from "../../stored-calls/call-sides.js";
import { copyText } from "../../stored-calls/call-sides.js";

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

  /** About the bytes that it holds. */
  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): OpenSides | undefined {
    return this.#entries.get(key)?.sides;
  }

  /** The open starts of a project that are kept, by the id of their call. */
  starts(projectId: string): ReadonlyMap<string, OpenSide<StartSide>> {
    return this.#starts.get(projectId) ?? none;
  }

  set({ project_id, id }: CallKey, sides: OpenSides): void {
    const call = { project_id: copyText(project_id), id: copyText(id) };
    const key = keyText(call);
    this.delete(key);
    const { start, end } = sides;
    const kept: OpenSides = {
      ...(start && {
        start: {
          ...start,
          side: {
            ...copySide(start.side),
            trace_id: copyText(start.side.trace_id),
            parent_id: copyText(start.side.parent_id),
          },
        },
      }),
      ...(end && { end: { ...end, side: copySide(end.side) } }),
    };
    const bytes = entryBytes + sizeOf(kept.start?.side) + sizeOf(kept.end?.side);
    this.#entries.set(key, { call, sides: kept, bytes });
    if (kept.start !== undefined) {
      const starts = this.#starts.get(call.project_id) ?? new Map<string, OpenSide<StartSide>>();
      this.#starts.set(call.project_id, starts.set(call.id, kept.start));
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

/** About the memory of an entry without its sides. */
const entryBytes = 600;

function sizeOf(side: StartSide | EndSide | undefined): number {
  if (side === undefined) return 0;
  return side.exact.reduce((bytes, [, text]) => bytes + text.length, side.fields.length);
}

function copySide<Side extends StartSide | EndSide>(side: Side): Side {
  const exact = side.exact.map(([column, text]): ExactText => [column, Buffer.from(text)]);
  return { ...side, fields: side.fields.copy(), exact };
}
