import { startChild, type Child, type ChildOptions } from "./child.js";
import type { Methods } from "./protocol.js";
import { aborted } from "./until-aborted.js";

/** What a process is asked for first and once. */
interface Opening<Params> {
  open: { params: Params; result: void; event: never };
}

/** Starts a process and lets it open; when that fails or the signal aborts, the process is gone before this rejects. */
export async function openChild<Params, M extends Methods<M> & Opening<Params>>(
  options: ChildOptions,
  opening: Params,
  signal: AbortSignal,
): Promise<Child<M>> {
  if (signal.aborted) throw aborted();
  const child = startChild<M>(options);
  const giveUp = (): void => void child.close();
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    await child.call("open", opening);
    return child;
  } catch (error) {
    await child.close();
    throw signal.aborted ? aborted() : error;
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
