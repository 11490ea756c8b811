import { possibleTagStart } from "../tag-search.js";
import type { ToolParameters } from "./argument-text.js";
import type { BlockFormat } from "./block-formats.js";
import type { JsonCallReader } from "./json-call-reader.js";
import { jsonCallReader } from "./json-call-reader.js";
import { normalArguments } from "./json-calls.js";
import type { SentCalls } from "./sent-calls.js";
import type { ToolCallStream, ToolTextDelta, WrittenCall } from "./tool-call.js";

interface OpenBlock {
  /** What precedes the tag and may be dropped, and the text after it, in case the block is text. */
  before: string;
  text: string;
  reader: JsonCallReader | undefined;
  index?: number;
  /** Number of characters of the arguments that were already returned. */
  sent: number;
}

/** Finds the blocks between tags. */
export class BlockStream implements ToolCallStream {
  readonly #format: BlockFormat;
  readonly #tools: ToolParameters;
  readonly #sent: SentCalls;
  #held = "";
  #block: OpenBlock | undefined;
  /** White space and wrappers after a call are dropped until another character follows. */
  #afterCall = false;

  constructor(format: BlockFormat, tools: ToolParameters, sent: SentCalls) {
    this.#format = format;
    this.#tools = tools;
    this.#sent = sent;
  }

  push(text: string): ToolTextDelta {
    this.#held += text;
    while (this.#block ? this.#readBlock(this.#block) : this.#readContent());
    return this.#sent.take();
  }

  end(): ToolTextDelta {
    if (this.#block) {
      this.#appendText(this.#block, this.#held);
      this.#closeBlock(this.#block, "");
    } else {
      this.#emitContent(this.#held);
    }
    this.#held = "";
    return this.#sent.take();
  }

  /** Returns true when a block begins. */
  #readContent(): boolean {
    const { open, wrappers, read } = this.#format;
    const at = this.#held.indexOf(open);
    if (at >= 0) {
      const [text, before] = this.#splitPadding(this.#held.slice(0, at));
      this.#emitContent(text);
      this.#held = this.#held.slice(at + open.length);
      this.#block = { before, text: "", reader: read ? undefined : jsonCallReader(), sent: 0 };
      return true;
    }
    const possible = Math.max(...[open, ...wrappers].map((tag) => possibleTagStart(this.#held, tag)));
    // The end of a wrapper may look like the beginning of a tag.
    const [one] = this.#splitPadding(this.#held.slice(0, this.#held.length - possible));
    const [other] = this.#splitPadding(this.#held);
    const sure = one.length < other.length ? one : other;
    this.#emitContent(sure);
    this.#held = this.#held.slice(sure.length);
    return false;
  }

  /** Returns true when the block is complete. */
  #readBlock(block: OpenBlock): boolean {
    const { open, close } = this.#format;
    const tag = close ?? open;
    const at = this.#held.indexOf(tag);
    const sure = at >= 0 ? at : this.#held.length - possibleTagStart(this.#held, tag);
    this.#appendText(block, this.#held.slice(0, sure));
    this.#held = this.#held.slice(at >= 0 && close !== undefined ? at + close.length : sure);
    if (at >= 0) this.#closeBlock(block, close ?? "");
    return at >= 0;
  }

  #appendText(block: OpenBlock, text: string): void {
    block.text += text;
    const { reader } = block;
    if (!reader) return;
    reader.push(text);
    const { name, arguments: given } = reader;
    if (name === undefined || given.length === block.sent) return;
    // The arguments may turn out to be null, which stands for an empty object.
    if (given.length < 16 && "null".startsWith(given.trim())) return;
    this.#send(block, name, given.slice(block.sent));
    block.sent = given.length;
  }

  #send(block: OpenBlock, name: string, piece: string): void {
    if (block.index === undefined) block.index = this.#sent.begin({ name, arguments: piece });
    else this.#sent.append(block.index, piece);
  }

  #closeBlock(block: OpenBlock, end: string): void {
    this.#block = undefined;
    const calls = block.index === undefined ? this.#callsIn(block) : [];
    if (!calls) {
      this.#emitContent(block.before + this.#format.open + block.text + end);
      return;
    }
    for (const call of calls) this.#sent.begin(call);
    this.#afterCall = true;
  }

  #callsIn({ text, reader }: OpenBlock): WrittenCall[] | undefined {
    if (!reader) return this.#format.read?.(text, this.#tools);
    return reader.name === undefined
      ? undefined
      : [{ name: reader.name, arguments: normalArguments(reader.arguments) }];
  }

  #emitContent(text: string): void {
    const rest = this.#afterCall ? this.#withoutLeadingPadding(text) : text;
    if (rest !== "") this.#afterCall = false;
    this.#sent.content += rest;
  }

  /** Splits a text before the white space and wrappers at its end. */
  #splitPadding(text: string): [kept: string, padding: string] {
    let kept = text;
    for (let before = ""; before !== kept;) {
      before = kept;
      kept = kept.trimEnd();
      const wrapper = this.#format.wrappers.find((tag) => kept.endsWith(tag));
      if (wrapper !== undefined) kept = kept.slice(0, -wrapper.length);
    }
    return [kept, text.slice(kept.length)];
  }

  #withoutLeadingPadding(text: string): string {
    let rest = text;
    for (let before = ""; before !== rest;) {
      before = rest;
      rest = rest.trimStart();
      const wrapper = this.#format.wrappers.find((tag) => rest.startsWith(tag));
      if (wrapper !== undefined) rest = rest.slice(wrapper.length);
    }
    return rest;
  }
}
