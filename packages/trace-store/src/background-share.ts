import { setTimeout as delay } from "node:timers/promises";

/** Pauses of work that nobody waits for, as multiples of how long it took. */
const pauses = { idle: 1, busy: 19 };

/** After some milliseconds of such work: it has half of a core while nobody else uses it, else a twentieth. */
export async function restAfter(ms: number, isIdle: boolean): Promise<void> {
  await delay(ms * (isIdle ? pauses.idle : pauses.busy), undefined, { ref: false });
}
