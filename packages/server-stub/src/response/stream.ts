import type { HttpRequest, Sink, StreamBody } from "../http.js";
import { piecesBody, writeSlices, yieldToEventLoop } from "./write-slices.js";
import type { BodyPiece } from "./write-slices.js";

/** Rows are gathered to chunks of this many UTF-16 units: one write per row takes 50 % more time. */
const chunk = 65_536;

export interface Encoder {
  /** Text of one item, framing included, in pieces if it is long. Bytes are passed on as they are. */
  encode: (item: unknown) => string | Uint8Array | readonly BodyPiece[];
  /** Send every item at once instead of gathering. */
  eager: boolean;
  /** Sent after the last item. */
  end?: string;
}

/**
 * Takes the first item before anything is sent, so that an error up to there is an ordinary response, and returns the
 * rest as a body. Items are gathered into chunks while the producer keeps up, and sent as soon as it pauses. When the
 * client disconnects, the iterator's `return()` runs. An error after the first item rejects: the response is cut off.
 */
export async function openStream(
  items: AsyncIterable<unknown> | Iterable<unknown>,
  encoder: Encoder,
  request: HttpRequest,
): Promise<StreamBody> {
  const iterator = iterate(items);
  const first = await iterator.next();
  if (request.signal.aborted) await iterator.return?.();
  return (sink) => pump(iterator, first, encoder, sink);
}

async function pump(
  iterator: AsyncIterator<unknown>,
  first: IteratorResult<unknown>,
  { encode, eager, end = "" }: Encoder,
  sink: Sink,
): Promise<void> {
  let hasLeft = false;
  let leave = () => {};
  sink.onClose(() => {
    hasLeft = true;
    leave();
    // Reaches an iterator that hangs in next() now; a generator runs it after its current step.
    Promise.resolve(iterator.return?.()).catch(() => {});
  });
  /** Undefined when the client leaves. A race with one promise for all items would keep every one until the end. */
  const unlessLeft = (next: Promise<IteratorResult<unknown>>) =>
    new Promise<IteratorResult<unknown> | undefined>((resolve, reject) => {
      leave = () => resolve(undefined);
      if (hasLeft) leave();
      next.then(resolve, reject);
    });
  let text = "";
  let pause: Promise<undefined> | undefined;
  const flush = async () => {
    const chunk = text;
    text = "";
    pause = undefined;
    if (chunk !== "") await writeSlices(sink, chunk);
  };
  let result: IteratorResult<unknown> | undefined = first;
  while (!sink.closed && !result?.done) {
    if (result !== undefined) {
      const piece = encode(result.value);
      if (typeof piece === "string") text += piece;
      else {
        await flush();
        await piecesBody(piece instanceof Uint8Array ? [piece] : piece)(sink);
      }
      if (eager || text.length >= chunk) await flush();
      if (sink.closed) return;
    }
    const next = Promise.resolve(iterator.next());
    if (text !== "") {
      // A producer without a next item by then is waiting for something.
      pause ??= yieldToEventLoop();
      result = await Promise.race([next, pause]);
      if (result !== undefined) continue;
      next.catch(() => {});
      await flush();
    }
    result = await unlessLeft(next);
  }
  text += end;
  if (!sink.closed) await flush();
}

function iterate(items: AsyncIterable<unknown> | Iterable<unknown>): AsyncIterator<unknown> {
  if (Symbol.asyncIterator in items) return items[Symbol.asyncIterator]();
  const iterator = items[Symbol.iterator]();
  return {
    next: () => Promise.resolve(iterator.next()),
    return: () => Promise.resolve(iterator.return?.() ?? { done: true, value: undefined }),
  };
}

/** True for what a handler may return as a stream; strings and bytes are values. */
export function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
