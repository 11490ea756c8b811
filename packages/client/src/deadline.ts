/** The abort signal of one try: it fires with the caller's signal, or when the time is up. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** The response has begun: the time no longer counts, the caller's signal still does. */
  responseStarted(): void;
  /** Ends the deadline and removes its listener from the caller's signal, which may outlive this request. */
  release(): void;
}

// Not `AbortSignal.any`: in Node 20 every combined signal stays with its source until that one is collected.
export function startDeadline(milliseconds: number, callerSignal: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  const responseStarted = () => clearTimeout(timer);
  const forward = () => {
    responseStarted();
    controller.abort(callerSignal?.reason);
  };
  const expire = () =>
    controller.abort(
      new DOMException(`no response within ${milliseconds} ms, which the option "timeout" sets`, "TimeoutError"),
    );
  const timer = milliseconds > 0 ? setTimeout(expire, milliseconds) : undefined;
  if (callerSignal?.aborted) forward();
  callerSignal?.addEventListener("abort", forward);
  return {
    signal: controller.signal,
    responseStarted,
    release() {
      responseStarted();
      callerSignal?.removeEventListener("abort", forward);
    },
  };
}
