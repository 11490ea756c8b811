import { useCallback, useEffect, useState } from "react";
import { childrenStep } from "./json-children.js";
import type { JsonChild, JsonChildren } from "./json-children.js";
import type { JsonSource } from "./json-source.js";

interface Located {
  parts: readonly JsonChildren[];
  error: unknown;
  isLoading: boolean;
}

/** The children of a value that were located so far; `next` locates more, where there are. */
export function useChildren(source: JsonSource, at: JsonChild): Located & { next: (() => void) | undefined } {
  const [located, setLocated] = useState<Located>(() => first(source, at));
  const { parts, isLoading, error } = located;
  const load = useCallback(
    (skip: number) => {
      setLocated((present) => ({ ...present, isLoading: true }));
      source.locate(at, skip).then(
        (part) => setLocated(({ parts: before }) => ({ parts: [...before, part], isLoading: false, error: undefined })),
        (reason: unknown) => setLocated((present) => ({ ...present, isLoading: false, error: reason })),
      );
    },
    [source, at],
  );
  useEffect(() => {
    if (parts.length === 0 && !isLoading && error === undefined) load(0);
  }, [parts.length, isLoading, error, load]);
  const more = parts.at(-1)?.more === true && !isLoading;
  return { ...located, next: more ? () => load(parts.length * childrenStep) : undefined };
}

/** What needs no worker is there at once. */
function first(source: JsonSource, at: JsonChild): Located {
  try {
    const found = source.children(at, 0);
    return { parts: found === undefined ? [] : [found], isLoading: false, error: undefined };
  } catch (error) {
    return { parts: [], isLoading: false, error };
  }
}
