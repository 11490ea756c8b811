import type { RequestObserver } from "../limits/with-scope.js";
import type { Logger } from "./logger.js";

/**
 * Logs requests without a valid key, neither with the key nor with a part of it. Of many, one line a second has the last
 * one and the number of those before it that have no line.
 */
export function refusedKeyLog(log: Logger, pauseMs = 1000): RequestObserver {
  let waiting: { fields: object; leftOut: number } | undefined;
  let timer: NodeJS.Timeout | undefined;

  function write(fields: object): void {
    log.info(fields, "request without a valid API key");
    timer = setTimeout(() => {
      timer = undefined;
      if (waiting === undefined) return;
      const { fields: last, leftOut } = waiting;
      waiting = undefined;
      write(leftOut === 0 ? last : { ...last, left_out: leftOut });
    }, pauseMs);
    timer.unref();
  }

  return {
    onEnd(scope) {
      const { refusedKey } = scope;
      if (refusedKey === undefined) return;
      const { refused: reason, key_id } = refusedKey;
      const remote = { request_id: scope.id, operation: scope.route?.id, remote_address: scope.remoteAddress };
      const fields = { ...remote, reason, ...(key_id !== undefined && { key_id }) };
      if (timer === undefined) write(fields);
      else waiting = { fields, leftOut: waiting === undefined ? 0 : waiting.leftOut + 1 };
    },
  };
}
