import type { StoredCall } from "@heddle/trace-store";

/** Makes the bytes of one export. */
export interface CallEncoder {
  /** What can be sent now that there is this call. */
  add: (call: StoredCall, userName: string | undefined) => Uint8Array | undefined;
  /** The rest. */
  end: () => Uint8Array;
}

const chunkLength = 65_536;

/** Lines of text, in chunks. `line` is undefined for a call that is left out. */
export class LineEncoder implements CallEncoder {
  #text: string;
  readonly #line: (call: StoredCall, userName: string | undefined) => string | undefined;

  constructor(head: string, line: (call: StoredCall, userName: string | undefined) => string | undefined) {
    this.#text = head;
    this.#line = line;
  }

  add(call: StoredCall, userName: string | undefined): Uint8Array | undefined {
    this.#text += this.#line(call, userName) ?? "";
    return this.#text.length < chunkLength ? undefined : this.end();
  }

  end(): Uint8Array {
    const bytes = Buffer.from(this.#text);
    this.#text = "";
    return bytes;
  }
}
