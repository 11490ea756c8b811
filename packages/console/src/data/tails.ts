import { followCalls } from "@heddle/client/calls";
import { holdLock } from "./browser-lock.js";
import type { Release } from "./browser-lock.js";

/** A browser has six connections to a service for all of its pages: what stays open leaves some to what they read. */
const mostTails = 3;

/** The right to keep a response open, until it is released; undefined where other pages of the browser have all. */
export async function takeTail(locks: LockManager | undefined = navigator.locks): Promise<Release | undefined> {
  // Without a secure page nothing is known of others.
  if (locks === undefined) return () => undefined;
  for (let place = 0; place < mostTails; place++) {
    const release = await holdLock(locks, `heddle tail ${place}`, { ifAvailable: true });
    if (release !== undefined) return release;
  }
  return undefined;
}

/** A tail says every 15 seconds up to where it is. One that says nothing for so long is held back or cut on its way here. */
const silenceMs = 40_000;

/** The changes of calls, where the browser has a connection for them and they come; throws where not. */
export async function* tailOfCalls(
  ...[connection, request, options = {}]: Parameters<typeof followCalls>
): ReturnType<typeof followCalls> {
  const release = await takeTail();
  if (release === undefined) throw new Error("other pages of this browser have the connections that may stay open");
  const silent = new AbortController();
  const wait = () => setTimeout(() => silent.abort(new Error("the tail says nothing")), silenceMs);
  let timer = wait();
  try {
    const signal = options.signal === undefined ? silent.signal : AbortSignal.any([options.signal, silent.signal]);
    signal.throwIfAborted();
    for await (const event of followCalls(connection, request, { ...options, signal })) {
      clearTimeout(timer);
      timer = wait();
      yield event;
    }
  } finally {
    clearTimeout(timer);
    release();
  }
}
