/** The part of a call that was read so far. */
export interface JsonCallReader {
  push(text: string): void;
  /** Present when its text is complete. */
  readonly name: string | undefined;
  /** The text so far, as the model wrote it. */
  readonly arguments: string;
}

const nameKeys = new Set(["name"]);
const argumentKeys = new Set(["arguments", "parameters"]);

/**
 * Reads `{"name": …, "arguments": …}` character by character. Does not validate: invalid JSON is kept as text up to the
 * end of the call.
 */
export function jsonCallReader(): JsonCallReader {
  let name: string | undefined;
  let given = "";
  /** Open braces and brackets; members of the call itself are at depth 1. */
  let depth = 0;
  let inString = false;
  let escaped = false;
  let expectsKey = false;
  let key: string | undefined;
  /** The string or value at depth 1 that is currently read. */
  let raw = "";
  let inValue = false;

  return {
    push(text) {
      for (const character of text) read(character);
    },
    get name() {
      return name;
    },
    get arguments() {
      return given;
    },
  };

  function read(character: string): void {
    if (inString) {
      take(character);
      if (escaped) escaped = false;
      else if (character === "\\") escaped = true;
      else if (character === '"') endString();
      return;
    }
    if (depth === 1 && inValue && isEndOfScalar(character)) endValue();
    if (character === '"') {
      inString = true;
      startValue();
      if (expectsKey && depth === 1) raw = "";
      take(character);
    } else if (character === "{" || character === "[") {
      if (depth > 0) startValue();
      take(character);
      depth++;
      if (depth === 1) expectsKey = true;
    } else if (character === "}" || character === "]") {
      depth--;
      take(character);
      if (depth === 1 && inValue) endValue();
    } else if (depth === 1 && character === ",") {
      expectsKey = true;
    } else if (depth === 1 && character === ":" && !inValue) {
      expectsKey = false;
      raw = "";
    } else if (!isSpace(character) || depth > 1) {
      startValue();
      take(character);
    }
  }

  function startValue(): void {
    if (depth === 1 && !expectsKey) inValue = true;
  }

  function take(character: string): void {
    if (depth === 0) return;
    raw += character;
    if (inValue && key !== undefined && argumentKeys.has(key)) given += character;
  }

  function endString(): void {
    inString = false;
    if (depth !== 1) return;
    if (expectsKey) key = textOf(raw);
    else endValue();
  }

  function endValue(): void {
    inValue = false;
    if (key !== undefined && nameKeys.has(key)) name ??= textOf(raw);
    key = undefined;
    raw = "";
  }

  function isEndOfScalar(character: string): boolean {
    return (character === "," || character === "}" || isSpace(character)) && raw !== "";
  }
}

function isSpace(character: string): boolean {
  return character === " " || character === "\n" || character === "\r" || character === "\t";
}

function textOf(raw: string): string | undefined {
  try {
    const value: unknown = JSON.parse(raw);
    return typeof value === "string" && value !== "" ? value : undefined;
  } catch {
    return undefined;
  }
}
