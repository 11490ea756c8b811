import type { OpenSides } from "./stored-calls.js";

/**
 * The newest open sides with their payloads, so that most calls are completed without reading their start back.
 * Bounded by bytes; what was added first goes first.
 */
export class OpenSideCache {
  readonly #entries = new Map<string, { sides: OpenSides; bytes: number }>();
  readonly #limit: number;
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  get(key: string): OpenSides | undefined {
    return this.#entries.get(key)?.sides;
  }

  set(key: string, sides: OpenSides): void {
    this.delete(key);
    const { start, end } = sides;
    const kept: OpenSides = {
      ...(start && {
        start: {
          ...start,
          side: { ...start.side, fields: copy(start.side.fields), trace_id: copyText(start.side.trace_id) },
        },
      }),
      ...(end && {
        end: { ...end, side: { ...end.side, fields: copy(end.side.fields), derived: copy(end.side.derived) } },
      }),
    };
    const bytes = 600 + (start?.side.fields.length ?? 0) + (end?.side.fields.length ?? 0);
    this.#entries.set(key, { sides: kept, bytes });
    this.#bytes += bytes;
    for (const [oldest] of this.#entries) {
      if (this.#bytes <= this.#limit) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }
}

/** Slices of bytes and of texts would keep the memory of their whole request. */
function copyText(text: string): string {
  return Buffer.from(text).toString();
}

function copy(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
