import { TemplateError } from "./template-error.js";
import { whiteSpace, withoutTrailingSpace } from "./white-space.js";

export type TokenType = "text" | "begin" | "end" | "print" | "endPrint" | "name" | "string" | "number" | "operator";

export interface Token {
  type: TokenType;
  value: string;
  line: number;
}

const space = `[${whiteSpace}]`;
const tagStart = new RegExp(`\\{%([-+]?)${space}*raw${space}*(?:-%\\}${space}*|%\\})|\\{(%|\\{|#)([-+]?)`, "g");
const commentEnd = new RegExp(`\\+#\\}|-#\\}${space}*|#\\}\\n?`, "g");
const rawEnd = new RegExp(`\\{%([-+]?)${space}*endraw${space}*(?:\\+%\\}|-%\\}${space}*|%\\}\\n?)`, "g");
const blockEnd = new RegExp(`\\+%\\}|-%\\}${space}*|%\\}\\n?`, "y");
const printEnd = new RegExp(`-\\}\\}${space}*|\\}\\}`, "y");
const code: [TokenType | undefined, RegExp][] = [
  [undefined, new RegExp(`${space}+`, "y")],
  ["number", /\d(?:_?\d)*(?:\.\d(?:_?\d)*(?:e[+-]?\d(?:_?\d)*)?|e[+-]?\d(?:_?\d)*)/iy],
  ["number", /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[0-9a-f])+|\d(?:_?\d)*/iy],
  ["name", /[\p{L}\p{Nl}_][\p{L}\p{N}\p{M}\p{Pc}]*/uy],
  ["string", /'(?:[^'\\]|\\[^])*'|"(?:[^"\\]|\\[^])*"/y],
  ["operator", /\/\/|\*\*|==|!=|>=|<=|[-+/*%~[\](){}><=.:|,;]/y],
];

/**
 * Splits a template into tokens by the rules of Jinja, with `trim_blocks` and `lstrip_blocks` as `transformers` sets
 * them. Throws a `TemplateError` for text that is not a template.
 */
export function tokenize(template: string): Token[] {
  const source = template.replaceAll(/\r\n?/g, "\n").replace(/\n$/, "");
  const tokens: Token[] = [];
  let at = 0;
  let line = 1;
  let counted = 0;
  let lineStarts = true;

  while (at < source.length) {
    const found = match(tagStart, at);
    if (!found) {
      emit("text", source.slice(at));
      break;
    }
    const [whole, rawSign, kind, sign] = found;
    const text = source.slice(at, found.index);
    emit("text", withoutSpace(text, { sign: rawSign ?? sign, print: kind === "{" }));
    moveTo(found.index + whole.length);
    if (kind === undefined) readRaw();
    else if (kind === "#") skipComment();
    else readTag(kind === "{" ? "print" : "begin");
  }
  return tokens;

  function match(pattern: RegExp, from: number): RegExpExecArray | null {
    pattern.lastIndex = from;
    return pattern.exec(source);
  }

  function emit(type: TokenType, value: string): void {
    if (type === "text" && value === "") return;
    for (; counted < at; counted++) if (source.charCodeAt(counted) === 10) line++;
    tokens.push({ type, value, line });
  }

  function moveTo(end: number): void {
    lineStarts = source.charAt(end - 1) === "\n";
    at = end;
  }

  /** Removes the white space before a tag: all of it for a minus sign, the indentation of a block otherwise. */
  function withoutSpace(text: string, { sign, print }: { sign: string | undefined; print: boolean }): string {
    if (sign === "-") return withoutTrailingSpace(text);
    if (sign === "+" || print) return text;
    const lineStart = text.lastIndexOf("\n") + 1;
    if (lineStart === 0 && !lineStarts) return text;
    return withoutTrailingSpace(text.slice(lineStart)) === "" ? text.slice(0, lineStart) : text;
  }

  function skipComment(): void {
    const end = match(commentEnd, at);
    if (!end) throw new TemplateError(`line ${line}: a comment has no end`);
    moveTo(end.index + end[0].length);
  }

  function readRaw(): void {
    const end = match(rawEnd, at);
    if (!end) throw new TemplateError(`line ${line}: a raw block has no end`);
    emit("text", withoutSpace(source.slice(at, end.index), { sign: end[1], print: false }));
    moveTo(end.index + end[0].length);
  }

  function readTag(begin: "print" | "begin"): void {
    emit(begin, "");
    const brackets: string[] = [];
    for (;;) {
      const end = brackets.length === 0 ? match(begin === "print" ? printEnd : blockEnd, at) : null;
      if (end) {
        emit(begin === "print" ? "endPrint" : "end", "");
        moveTo(at + end[0].length);
        return;
      }
      readCode(brackets);
    }
  }

  function readCode(brackets: string[]): void {
    for (const [type, pattern] of code) {
      const found = match(pattern, at)?.[0];
      if (found === undefined) continue;
      if (type === "operator") balance(found, brackets);
      if (type) emit(type, type === "string" ? unescape(found.slice(1, -1)) : found);
      moveTo(at + found.length);
      return;
    }
    const character = source.charAt(at);
    throw new TemplateError(
      character === "" ? `line ${line}: a tag has no end` : `line ${line}: unexpected ${JSON.stringify(character)}`,
    );
  }

  function balance(operator: string, brackets: string[]): void {
    const closing = ({ "(": ")", "[": "]", "{": "}" } as Record<string, string>)[operator];
    if (closing) brackets.push(closing);
    else if ([")", "]", "}"].includes(operator) && brackets.pop() !== operator) {
      throw new TemplateError(`line ${line}: unexpected ${operator}`);
    }
  }
}

const escapes: Record<string, string> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", v: "\v", a: "\x07", "\n": "" };

/** Evaluates the escape sequences of a Python string. Unknown ones are kept. */
function unescape(text: string): string {
  return text.replaceAll(
    /\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|([0-7]{1,3})|([^]))/gi,
    (whole, x?: string, u?: string, wide?: string, octal?: string, other = "") => {
      if (whole[1] === "X") return whole;
      const hex = x ?? u ?? wide;
      if (hex !== undefined) return String.fromCodePoint(Math.min(Number.parseInt(hex, 16), 0x10ffff));
      if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
      return "\\'\"".includes(other) ? other : (escapes[other] ?? whole);
    },
  );
}
