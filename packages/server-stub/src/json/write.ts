import { ResponseTooLarge } from "../http.js";
import { JsonPieces } from "./pieces.js";
import { RawJson } from "./raw-json.js";

/** Length in UTF-16 units from which a text is a piece of its own. */
const pieceLength = 65_536;

/**
 * `JSON.stringify` for responses: the text of `RawJson` is emitted as it is, a bigint as its digits.
 * Numbers that JSON cannot hold are null, keys whose value is undefined are left out.
 */
export function writeJson(value: unknown): string {
  const output = new Output(Infinity);
  write(value, output);
  return output.text;
}

/**
 * The same in pieces, of which a small document has one. A long text of `RawJson` is a piece itself, so that one that
 * appears many times takes its memory once; so is a long `JsonPieces`, whose text is not made here. Throws
 * `ResponseTooLarge` beyond `maxLength` UTF-16 units.
 */
export function writeJsonPieces(value: unknown, maxLength: number): (string | JsonPieces)[] {
  const output = new Output(maxLength);
  output.inPieces = true;
  write(value, output);
  if (output.pieces.length === 0 || output.text !== "") output.endPiece();
  return output.pieces;
}

class Output {
  text = "";
  readonly pieces: (string | JsonPieces)[] = [];
  inPieces = false;
  readonly #maxLength: number;
  #length = 0;

  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  raw(text: string): void {
    if (!this.inPieces || text.length < pieceLength) {
      this.text += text;
      return;
    }
    this.endPiece();
    this.text = text;
    this.endPiece();
  }

  later(value: JsonPieces): void {
    if (!this.inPieces || value.length < pieceLength) {
      for (const text of value.pieces()) this.text += text;
      return;
    }
    this.endPiece();
    this.#add(value);
  }

  /** To be called between values: ends the piece when it is long enough. */
  split(): void {
    if (this.inPieces && this.text.length >= pieceLength) this.endPiece();
  }

  endPiece(): void {
    this.#add(this.text);
    this.text = "";
  }

  #add(piece: string | JsonPieces): void {
    this.#length += piece.length;
    if (this.#length > this.#maxLength) throw new ResponseTooLarge(this.#maxLength);
    this.pieces.push(piece);
  }
}

function write(value: unknown, output: Output): void {
  switch (typeof value) {
    case "string":
      output.text += quote(value);
      break;
    case "number":
      output.text += Number.isFinite(value) ? String(value) : "null";
      break;
    case "boolean":
      output.text += value ? "true" : "false";
      break;
    case "bigint":
      output.text += value.toString();
      break;
    case "object":
      if (value === null) output.text += "null";
      else writeObject(value, output);
      break;
    default:
      output.text += "null";
  }
}

function writeObject(value: object, output: Output): void {
  if (value instanceof RawJson) {
    output.raw(value.text);
  } else if (value instanceof JsonPieces) {
    output.later(value);
  } else if (Array.isArray(value)) {
    output.text += "[";
    for (let index = 0; index < value.length; index++) {
      if (index > 0) output.text += ",";
      write(value[index], output);
      output.split();
    }
    output.text += "]";
  } else if ("toJSON" in value && typeof value.toJSON === "function") {
    write(value.toJSON(), output);
  } else {
    let separator = "{";
    for (const key of Object.keys(value)) {
      const item = (value as Record<string, unknown>)[key];
      if (item === undefined || typeof item === "function") continue;
      output.text += `${separator}${quote(key)}:`;
      separator = ",";
      write(item, output);
      output.split();
    }
    output.text += separator === "{" ? "{}" : "}";
  }
}

/** Most strings need no escape, and then quoting by hand is several times faster. */
function quote(text: string): string {
  return needsEscape.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** Characters that need an escape: quotes, backslashes, control characters, surrogates. */
const needsEscape = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;
