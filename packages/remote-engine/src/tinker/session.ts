import { HeddleError } from "@heddle/errors";
import type { TinkerApi } from "./api.js";

export interface TinkerSession {
  id: string;
  /** Set when the server no longer knows the session, and so has unloaded its models. */
  readonly lost: HeddleError | undefined;
  close(): void;
}

/** Servers unload the models of a session after minutes without a heartbeat. */
const heartbeatMs = 10_000;

/**
 * Opens a session and keeps it alive until `close`, after which the server forgets it. The first heartbeat is sent at
 * once: a server never expires a session that has had none.
 */
export async function openSession(
  api: TinkerApi,
  options: { signal?: AbortSignal; intervalMs?: number } = {},
): Promise<TinkerSession> {
  const { signal, intervalMs = heartbeatMs } = options;
  const body = { tags: [], user_metadata: {}, sdk_version: "0.38.0", type: "create_session" };
  const { session_id: id } = await api.post("create_session", body, { signal, repeatable: true });
  if (typeof id !== "string" || id === "") throw new HeddleError("failed", "the training server created no session");
  const closing = new AbortController();
  let lost: HeddleError | undefined;

  async function beat(): Promise<void> {
    try {
      const options = { signal: closing.signal, repeatable: true };
      await api.post("session_heartbeat", { session_id: id, type: "session_heartbeat" }, options);
    } catch (error) {
      // Anything else is temporary, and the next call of the trainer reports it.
      if (error instanceof HeddleError && error.code === "not_found") lost = error;
    }
  }

  await beat();
  const timer = setInterval(() => void beat(), intervalMs);
  timer.unref();
  return {
    id,
    get lost() {
      return lost;
    },
    close() {
      clearInterval(timer);
      closing.abort();
    },
  };
}
