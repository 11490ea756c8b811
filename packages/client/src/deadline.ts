/** The abort signal of one try: it fires with the caller's signal, or when the time is over. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** The answer has begun: the time no longer counts, the caller's signal still does. */
  met(): void;
  /** Nothing more is to come; lets go of the caller's signal, which may live much longer than this request. */
  release(): void;
}

// Not `AbortSignal.any`: in Node 20 every combined signal stays with its source until that one is collected.
export function startDeadline(milliseconds: number, outer: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  const forward = () => controller.abort(outer?.reason);
  const met = () => clearTimeout(timer);
  const timer =
    milliseconds > 0
      ? setTimeout(() => controller.abort(new Error(`no answer within ${milliseconds} ms`)), milliseconds)
      : undefined;
  if (outer?.aborted) forward();
  outer?.addEventListener("abort", forward);
  return {
    signal: controller.signal,
    met,
    release() {
      met();
      outer?.removeEventListener("abort", forward);
    },
  };
}
