/** Work that can be interrupted between its steps. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** How long work may keep the event loop from everybody else, in milliseconds. */
const sliceMs = 4;

/** Does all steps at once. */
export function runSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Does the steps with pauses for everybody else: `giveWay` resolves when the work may go on. */
export async function runStepsWithPauses<T>(steps: Steps<T>, giveWay: () => Promise<unknown>): Promise<T> {
  let until = performance.now() + sliceMs;
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (performance.now() < until) continue;
    await giveWay();
    until = performance.now() + sliceMs;
  }
}
