import type { Span } from "./span.js";
import { textOf } from "./values.js";

const maxItems = 10_000;

/** Collects what a stream yields; text and bytes become one text. */
class Collector {
  #items: unknown[] = [];
  #more = 0;

  add(item: unknown): void {
    if (this.#items.length < maxItems) this.#items.push(item);
    else this.#more += 1;
  }

  value(): unknown {
    const items = this.#items;
    const rest = this.#more > 0 ? [`[… ${this.#more} more]`] : [];
    if (items.length === 0) return items;
    if (items.every((item) => typeof item === "string")) return [...items, ...rest].join("");
    if (items.every((item) => item instanceof Uint8Array)) {
      const bytes = new Uint8Array(items.reduce((sum, { length }) => sum + length, 0));
      let at = 0;
      for (const item of items) {
        bytes.set(item, at);
        at += item.length;
      }
      return textOf(bytes) + rest.join("");
    }
    return [...items, ...rest];
  }
}

export interface Observer {
  item: (item: unknown) => void;
  end: () => void;
  fail: (error: unknown) => void;
  /** Items that whoever iterates is not to see. */
  isHidden?: (item: unknown) => boolean;
}

/** Runs only the first of the ends that it is given: a stream can be read to its end, cancelled and fail. */
export function firstEnd(): (end: () => void) => void {
  let isOver = false;
  return (end) => {
    if (!isOver) end();
    isOver = true;
  };
}

export interface AnyIterator {
  next: (...args: unknown[]) => unknown;
  return?: (...args: unknown[]) => unknown;
  throw?: (...args: unknown[]) => unknown;
  [Symbol.asyncIterator]?: () => AnyIterator;
}

/** The iterator itself, observed: its methods run inside the span, so that calls made between two items are its children. */
export function observeIterator<Iterator extends AnyIterator>(
  iterator: Iterator,
  span: Span,
  observer: Observer,
): Iterator {
  const see = (result: unknown, again: () => unknown): unknown => {
    const { done, value } = result as IteratorResult<unknown>;
    if (done) observer.end();
    else {
      observer.item(value);
      if (observer.isHidden?.(value)) return again();
    }
    return result;
  };
  for (const method of ["next", "return", "throw"] as const) {
    const original = iterator[method];
    if (typeof original !== "function") continue;
    const call = (...args: unknown[]): unknown => {
      const fail = (error: unknown): never => {
        observer.fail(error);
        throw error;
      };
      try {
        const result = span.run(() => original.apply(iterator, args));
        if (result instanceof Promise) return result.then((each) => see(each, () => call()), fail);
        return see(result, () => call());
      } catch (error) {
        return fail(error);
      }
    };
    iterator[method] = call;
  }
  return iterator;
}

/** A stream with the same content, of which the observer sees every chunk when the reader does. */
function observeStream(stream: ReadableStream<unknown>, span: Span, observer: Observer): ReadableStream<unknown> {
  const reader = stream.getReader();
  return new ReadableStream<unknown>(
    {
      async pull(controller) {
        try {
          const { done, value } = await span.run(() => reader.read());
          if (done) {
            observer.end();
            controller.close();
          } else {
            observer.item(value);
            controller.enqueue(value);
          }
        } catch (error) {
          observer.fail(error);
          throw error;
        }
      },
      cancel(reason) {
        observer.end();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** What the function returned, for its caller; the call ends with it, or when it has been read. */
export function settle(result: unknown, span: Span): unknown {
  const collector = new Collector();
  const once = firstEnd();
  const observer: Observer = {
    item: (item) => collector.add(item),
    end: () => once(() => span.end(collector.value())),
    fail: (error) => once(() => span.fail(error)),
  };
  if (typeof result === "object" && result !== null && Object.isExtensible(result)) {
    if (typeof ReadableStream === "function" && result instanceof ReadableStream && !result.locked)
      return observeStream(result, span, observer);
    const iterable = result as AnyIterator & { [Symbol.iterator]?: unknown };
    if (typeof iterable.next === "function" && (iterable[Symbol.asyncIterator] ?? iterable[Symbol.iterator]))
      return observeIterator(iterable, span, observer);
    const open = iterable[Symbol.asyncIterator];
    if (typeof open === "function") {
      iterable[Symbol.asyncIterator] = () => observeIterator(open.call(iterable), span, observer);
      return iterable;
    }
  }
  span.end(result);
  return result;
}
