import { vi } from "vitest";

/** Watches a method of an object until `stop`, which returns how many calls of it were in progress at the same time. */
export function watchMostAtOnce<Name extends string>(
  object: Record<Name, (...args: never[]) => Promise<unknown>>,
  name: Name,
): { stop(): number } {
  const method = object[name].bind(object) as (...args: unknown[]) => Promise<unknown>;
  let running = 0;
  let most = 0;
  const watched = async (...args: unknown[]) => {
    most = Math.max(most, ++running);
    return await method(...args).finally(() => (running -= 1));
  };
  const spy = vi.spyOn(object as Record<string, typeof watched>, name as string).mockImplementation(watched);
  return {
    stop() {
      spy.mockRestore();
      return most;
    },
  };
}
