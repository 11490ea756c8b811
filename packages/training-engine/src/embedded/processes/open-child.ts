import type { Child, ChildOptions } from "./child.js";
import { startChild } from "./child.js";
import type { Methods } from "./protocol.js";
import { aborted } from "./until-aborted.js";

/** What a process is asked for first and once. */
interface OpenMethod<Params> {
  open: { params: Params; result: void; event: never };
}

/** Starts a process and lets it open; when that fails or the signal aborts, the process is gone before this rejects. */
export async function openChild<Params, M extends Methods<M> & OpenMethod<Params>>(
  options: ChildOptions,
  opening: Params,
  signal: AbortSignal,
): Promise<Child<M>> {
  if (signal.aborted) throw aborted();
  const child = startChild<M>(options);
  const closeChild = (): void => void child.close();
  signal.addEventListener("abort", closeChild, { once: true });
  try {
    await child.call("open", opening);
    return child;
  } catch (error) {
    await child.close();
    throw signal.aborted ? aborted() : error;
  } finally {
    signal.removeEventListener("abort", closeChild);
  }
}
