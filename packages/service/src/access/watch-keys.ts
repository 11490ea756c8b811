import type { ControlPlane } from "@heddle/control-plane";
import { Problem } from "@heddle/server-stub";
import type { RequestScope } from "../limits/request-scope.js";
import type { RequestObserver } from "../limits/with-scope.js";

export interface KeyWatch extends RequestObserver {
  stop(): void;
}

/** Ends the requests in progress of keys that are revoked, by this process or another one. */
export function watchKeys(control: ControlPlane, everyMs = 1000): KeyWatch {
  const running = new Set<RequestScope>();
  let checking = false;

  async function endOfRevoked(): Promise<void> {
    for (const key of new Set(Array.from(running, ({ sharer }) => sharer?.key))) {
      if (key === undefined || (await control.keys.checkId(key)).caller !== undefined) continue;
      for (const scope of running) {
        if (scope.sharer?.key === key) scope.revoke(new Problem(401, "The API key was revoked"));
      }
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
