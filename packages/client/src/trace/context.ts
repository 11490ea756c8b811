import { platform } from "./settings.js";

/** What a call that starts inside another one needs of it. */
export interface Scope {
  readonly id: string;
  readonly traceId: string;
  readonly thread: string | undefined;
  readonly turn: string | undefined;
  /** Calls that have ended, of this one and those below. */
  readonly counts: { success: number; error: number };
}

interface Storage {
  getStore: () => Scope | undefined;
  run: <Result>(scope: Scope, run: () => Result) => Result;
}

interface AsyncHooks {
  AsyncLocalStorage: new () => Storage;
}

/** Without the platform's storage, as in browsers: calls nest that start before their parent first waits. */
function synchronous(): Storage {
  let current: Scope | undefined;
  return {
    getStore: () => current,
    run(scope, run) {
      const before = current;
      current = scope;
      try {
        return run();
      } finally {
        current = before;
      }
    },
  };
}

function open(): Storage {
  try {
    const hooks = platform?.getBuiltinModule?.("node:async_hooks") as AsyncHooks | undefined;
    return hooks ? new hooks.AsyncLocalStorage() : synchronous();
  } catch {
    return synchronous();
  }
}

export const storage = open();
