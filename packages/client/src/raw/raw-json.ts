/**
 * Free JSON of a response as exact text: numbers, key order, spacing and duplicate keys as they were recorded. The requests
 * that have `raw: true` get it.
 */
export class RawJson<Value = unknown> {
  readonly text: string;
  #value: { parsed: Value } | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** The parsed value, made at the first access. Rounds and reorders as `JSON.parse` does. */
  get value(): Value {
    this.#value ??= { parsed: JSON.parse(this.text) as Value };
    return this.#value.parsed;
  }

  toJSON(): Value {
    return this.value;
  }
}
