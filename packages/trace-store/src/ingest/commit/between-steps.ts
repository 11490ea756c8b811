import { mainThread } from "@heddle/concurrency";

/** Calls of a commit whose steps take a few milliseconds each. What is set aside costs more than that where it outlives a collection. */
const fewCalls = 2048;

/** Lets others have the event loop between two steps of a commit that has so many calls. */
export async function betweenSteps(calls: number): Promise<void> {
  if (calls > fewCalls) await mainThread.giveWay();
}
