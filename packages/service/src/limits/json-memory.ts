/** What a value takes in memory besides its text, at most. */
export const valueBytes = 40;

/** Estimates what JSON takes in memory when it is parsed, from its text as it comes. */
export class JsonMemory {
  #inString = false;
  #isEscaped = false;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  push(chunk: Uint8Array): void {
    let [inString, isEscaped, separators] = [this.#inString, this.#isEscaped, 0];
    for (let at = 0; at < chunk.length; at++) {
      const c = chunk[at];
      if (isEscaped) isEscaped = false;
      else if (inString) {
        if (c === 0x5c) isEscaped = true;
        else if (c === 0x22) inString = false;
      } else if (c === 0x22) inString = true;
      else if (c === 0x2c || c === 0x3a || c === 0x7b || c === 0x5b) separators += 1;
    }
    this.#inString = inString;
    this.#isEscaped = isEscaped;
    this.#bytes += chunk.length + separators * valueBytes;
  }
}
