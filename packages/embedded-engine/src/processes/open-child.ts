import type { EngineProcess, ChildOptions } from "./child.js";
import { startChild } from "./child.js";
import type { Methods } from "./protocol.js";
import { aborted } from "./until-aborted.js";

/** The method that is called first, and once. */
interface OpenMethod<Params> {
  open: { params: Params; result: void; event: never };
}

/**
 * Starts a process and calls `open`. If that fails or the signal aborts, the process has exited before this rejects.
 */
export async function openChild<Params, M extends Methods<M> & OpenMethod<Params>>(
  options: ChildOptions,
  params: Params,
  signal: AbortSignal,
): Promise<EngineProcess<M>> {
  if (signal.aborted) throw aborted();
  const child = startChild<M>(options);
  // Nothing is lost that has not been opened.
  const kill = (): void => child.kill("it was aborted while it was opened");
  signal.addEventListener("abort", kill, { once: true });
  try {
    await child.call("open", params);
    return child;
  } catch (error) {
    await child.close();
    throw signal.aborted ? aborted() : error;
  } finally {
    signal.removeEventListener("abort", kill);
  }
}
