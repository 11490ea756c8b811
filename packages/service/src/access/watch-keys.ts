import type { Caller, ControlPlane } from "@heddle/control-plane";
import { Problem } from "@heddle/server-stub";
import type { RequestScope } from "../limits/request-scope.js";
import type { RequestObserver } from "../limits/with-scope.js";

export interface KeyWatch extends RequestObserver {
  stop(): void;
}

/** Ends the requests in progress of keys that are revoked and sessions that end, by this process or another one. */
export function watchKeys(control: ControlPlane, everyMs = 1000): KeyWatch {
  const running = new Set<RequestScope>();
  let checking = false;

  async function endOfRevoked(): Promise<void> {
    const callers = Array.from(running, ({ caller }) => caller).filter((caller) => caller !== undefined);
    for (const key of new Set(callers.map(({ key_id }) => key_id))) {
      if ((await control.keys.checkId(key)).caller !== undefined) continue;
      revoke(({ key_id }) => key_id === key, "The API key was revoked");
    }
    for (const id of new Set(callers.map(({ session }) => session?.id))) {
      if (id === undefined || (await control.sessions.isValid(id))) continue;
      revoke(({ session }) => session?.id === id, "The session has ended");
    }
  }

  function revoke(isMeant: (caller: Caller) => boolean, reason: string): void {
    for (const scope of running) {
      if (scope.caller !== undefined && isMeant(scope.caller)) scope.revoke(new Problem(401, reason));
    }
  }

  const timer = setInterval(() => {
    if (checking || running.size === 0) return;
    checking = true;
    endOfRevoked()
      // The control plane does not respond: looked up again at the next time.
      .catch(() => undefined)
      .finally(() => (checking = false));
  }, everyMs);
  timer.unref();

  return {
    onBegin: (scope) => void running.add(scope),
    onEnd: (scope) => void running.delete(scope),
    stop: () => clearInterval(timer),
  };
}
