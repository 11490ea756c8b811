/**
 * One JSON document as exact text: numbers, key order, spacing and duplicate keys as the sender wrote them.
 * Inside a request it is well-formed JSON, with two allowances: bare `NaN` and `Infinity`, and lone surrogate escapes.
 */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The parsed value, made at each access; bare NaN and Infinity are null. Rounds and reorders as JSON.parse does. */
  get value(): unknown {
    try {
      return JSON.parse(this.text);
    } catch {
      return JSON.parse(this.text.replace(stringOrBare, (found) => (found.startsWith('"') ? found : "null")));
    }
  }

  toJSON(): unknown {
    return this.value;
  }
}

const stringOrBare = /"(?:[^"\\]|\\.)*"?|-?Infinity|NaN/g;

/** `rawJson('{"x": 1.0}')`: text that is known to be one JSON document. It is not checked again. */
export function rawJson(text: string): RawJson {
  return new RawJson(text);
}
