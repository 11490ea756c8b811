import { mainThread } from "@heddle/concurrency";

/** Calls of a commit whose steps take a millisecond each. */
const fewCalls = 512;

/** Lets others have the event loop between two steps of a commit that has so many calls. */
export async function betweenSteps(calls: number): Promise<void> {
  if (calls > fewCalls) await mainThread.giveWay();
}
