import type { Token, TokenType } from "./lexer.js";
import { TemplateError } from "./template-error.js";

const names: Partial<Record<TokenType, string>> = { end: "%}", endPrint: "}}", begin: "{%", print: "{{", text: "text" };

/** Reads tokens one after the other. */
export class TokenStream {
  readonly #tokens: Token[];
  #at = 0;
  /** Names that the macros around the current position read, the innermost last. */
  readonly reads: Set<string>[] = [];

  constructor(tokens: Token[]) {
    this.#tokens = tokens;
  }

  get current(): Token | undefined {
    return this.#tokens[this.#at];
  }

  is(type: TokenType, value?: string, offset = 0): boolean {
    const token = this.#tokens[this.#at + offset];
    return token?.type === type && (value === undefined || token.value === value);
  }

  isOperator(...values: string[]): boolean {
    return this.current?.type === "operator" && values.includes(this.current.value);
  }

  isName(...values: string[]): boolean {
    return this.current?.type === "name" && values.includes(this.current.value);
  }

  next(): Token {
    const token = this.#tokens[this.#at++];
    if (!token) throw new TemplateError("the template ends inside a block");
    return token;
  }

  skip(type: TokenType, value?: string): boolean {
    const found = this.is(type, value);
    if (found) this.#at++;
    return found;
  }

  expect(type: TokenType, value?: string): Token {
    if (this.is(type, value)) return this.next();
    return this.fail(`expected ${value ?? names[type] ?? type}`);
  }

  fail(reason: string): never {
    const token = this.current ?? this.#tokens.at(-1);
    const found = this.current
      ? `, found ${this.current.value || (names[this.current.type] ?? this.current.type)}`
      : "";
    throw new TemplateError(`line ${token?.line ?? 1}: ${reason}${found}`);
  }
}
