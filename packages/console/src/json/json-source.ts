import { jsonType } from "@heddle/exact-json";
import { jsonChildren } from "./json-children.js";
import type { JsonChild, JsonChildren } from "./json-children.js";
import { scanInWorker } from "./scan-in-worker.js";

/** A text, and what locates values in it. */
export interface JsonSource {
  text: string;
  root(): JsonChild;
  /** Locates children of a value at once; undefined where that would take noticeably long. */
  children(at: JsonChild, skip: number): JsonChildren | undefined;
  /** Locates children of a value of any size. */
  locate(at: JsonChild, skip: number): Promise<JsonChildren>;
}

/** Longer values are scanned by a worker, so that the page responds meanwhile. */
const workerCharacters = 2_000_000;

export function openSource(text: string): JsonSource {
  const [from, to] = [text.length - text.trimStart().length, text.trimEnd().length];
  let worker: ReturnType<typeof scanInWorker> | undefined;
  return {
    text,
    root: () => ({ type: jsonType(text), from, to }),
    children: ({ from: start, to: end }, skip) =>
      end - start < workerCharacters ? jsonChildren(text, start, end, skip) : undefined,
    async locate(at, skip) {
      const found = this.children(at, skip);
      if (found !== undefined) return found;
      worker ??= scanInWorker(text);
      return await worker(at.from, at.to, skip);
    },
  };
}
