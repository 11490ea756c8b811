import { inject } from "vitest";

/**
 * A module of the compiled package, by its path below `src`. What it starts, processes and threads, starts a second
 * sooner than from source.
 */
export async function compiledModule<Module>(path: string): Promise<Module> {
  return (await import(`${inject("compiled")}/@heddle/training-engine/dist/${path}`)) as Module;
}
