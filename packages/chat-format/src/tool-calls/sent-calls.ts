import type { ToolCallDelta, ToolTextDelta, WrittenCall } from "./tool-call.js";

/** What was found since the last delta. */
export class SentCalls {
  readonly #newId: () => string;
  #count = 0;
  #deltas: ToolCallDelta[] = [];
  content = "";

  constructor(newId: () => string) {
    this.#newId = newId;
  }

  /** Returns the index of the call. */
  begin(call: WrittenCall): number {
    const index = this.#count++;
    this.#deltas.push({ index, id: this.#newId(), ...call });
    return index;
  }

  append(index: number, piece: string): void {
    this.#deltas.push({ index, arguments: piece });
  }

  take(): ToolTextDelta {
    const delta = { content: this.content, toolCalls: this.#deltas };
    this.content = "";
    this.#deltas = [];
    return delta;
  }
}
