import type { Session } from "chdb";
import type { SessionNeeds } from "./worker-protocol.js";

/** Sessions that are kept for the next statement of the same kind; to open one takes 1 ms. */
const maxOpen = 8;

/**
 * Settings and parameters stay with a session for good. A session is therefore only used again for the same
 * database and settings and the same names of parameters, each of which gets its new value first.
 */
export class OpenSessions {
  readonly #open: () => Session;
  /** The one used longest ago comes first. */
  readonly #idle = new Map<string, Session>();

  constructor(open: () => Session) {
    this.#open = open;
  }

  /** A session set up as needed, until it is given back or closed. */
  async take(needs: SessionNeeds): Promise<Session> {
    const kept = this.#idle.get(keyOf(needs));
    this.#idle.delete(keyOf(needs));
    const session = kept ?? this.#open();
    try {
      if (!kept) await session.queryAsync(needs.setup);
      if (needs.parameters !== "") await session.queryAsync(needs.parameters);
    } catch (error) {
      session.close();
      throw error;
    }
    return session;
  }

  /** Ends what {@link take} began; a session that cannot be used again is closed. */
  giveBack(needs: SessionNeeds, session: Session): void {
    if (!needs.reusable) {
      session.close();
      return;
    }
    const key = keyOf(needs);
    this.#idle.get(key)?.close();
    this.#idle.delete(key);
    this.#idle.set(key, session);
    for (const [oldest, unused] of this.#idle) {
      if (this.#idle.size <= maxOpen) break;
      this.#idle.delete(oldest);
      unused.close();
    }
  }

  close(): void {
    for (const session of this.#idle.values()) session.close();
    this.#idle.clear();
  }
}

const keyOf = ({ setup, parameterNames }: SessionNeeds): string => `${parameterNames}\n${setup}`;
