type Fetch = (request: Request) => Promise<Response>;

/**
 * Sends at most `most` requests at a time, those that wait in the order in which they came. A request is in flight until its
 * response begins. One that is aborted while it waits is never sent.
 */
export function limitInFlight(most: number, send: Fetch): Fetch {
  const waiting: (() => void)[] = [];
  let inFlight = 0;
  const turn = async (signal: AbortSignal): Promise<void> => {
    if (inFlight < most) return void inFlight++;
    await new Promise<void>((resolve, reject) => {
      const begin = () => {
        signal.removeEventListener("abort", leave);
        inFlight++;
        resolve();
      };
      const leave = () => {
        waiting.splice(waiting.indexOf(begin), 1);
        reject(signal.reason);
      };
      waiting.push(begin);
      signal.addEventListener("abort", leave, { once: true });
    });
  };
  return async (request) => {
    request.signal.throwIfAborted();
    await turn(request.signal);
    try {
      return await send(request);
    } finally {
      inFlight--;
      waiting.shift()?.();
    }
  };
}
