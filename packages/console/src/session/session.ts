import { connectTracing, readRoot, sessionCreate, sessionEnd, sessionsEnd } from "@heddle/client/tracing";
import type { ClientOptions, Connection, SessionCreateReq } from "@heddle/client/tracing";
import { connectTraining } from "@heddle/client/training";
import { limitInFlight } from "./limit-in-flight.js";
import { consoleUrl, serviceUrl } from "./service-url.js";

/** `ended`: the service does not take the token any more; what is on the page remains. */
export interface SessionState {
  readonly status: "out" | "in" | "ended";
  /** How often somebody logged in on this page. */
  readonly logIns: number;
  /** False while the service does not respond; it is asked until it does. */
  readonly isReachable: boolean;
}

/** Reads at once: a key has four, and the page leaves one to others. */
const readsInFlight = 3;

/** Between two questions whether the service responds again. */
const [firstWaitMs, longestWaitMs] = [500, 5000];

/** Sent before anybody has logged in: with the header, a browser does not open a dialog of its own for a 401. */
const noSession = "none";

/**
 * The log-in of this browser. Its token is one half of the session and is of no use without the other, a cookie that no
 * script can read. Tabs share it.
 */
export class BrowserSession {
  readonly #name: string;
  readonly #fetch = limitInFlight(readsInFlight, async (request) => {
    const response = await this.#send(request);
    if (response.status === 401 && this.#isRefused(request)) this.#ended();
    return response;
  });
  readonly #listeners = new Set<() => void>();
  #token: string | undefined;
  #state: SessionState;
  #connection: Connection<"tracing">;

  /** With the token of a share, nobody logs in: the session is what the link of the share allows. */
  constructor(readonly share?: string) {
    // Services below several prefixes of one host have the same storage.
    this.#name = `heddle-session ${consoleUrl().pathname}`;
    this.#token = share === undefined ? this.#stored() : undefined;
    this.#state = {
      status: this.#token === undefined && share === undefined ? "out" : "in",
      logIns: 0,
      isReachable: true,
    };
    this.#connection = this.#connect();
    if (share !== undefined) return;
    addEventListener("storage", ({ key }) => {
      if (key !== this.#name && key !== null) return;
      const token = this.#stored();
      if (token !== this.#token) this.#become(token, token === undefined ? "out" : "in");
    });
  }

  /** What requests are sent by. Changes with the session. */
  get connection(): Connection<"tracing"> {
    return this.#connection;
  }

  /** What the last requests of a page are sent by: the browser sends them also after it has closed the page. */
  get parting(): Connection<"tracing"> {
    const fetch = async (request: Request) => await globalThis.fetch(new Request(request, { keepalive: true }));
    return connectTracing({ ...this.#options(), fetch });
  }

  /** The same for the training interface. */
  get training(): Connection<"training"> {
    return connectTraining(this.#options());
  }

  readonly state = (): SessionState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Throws `HeddleApiError`: 401 for a key or code that is not valid. */
  async logIn(by: SessionCreateReq): Promise<void> {
    const { token } = await sessionCreate(this.#connect(noSession), by, { retries: 0 });
    this.#store(token);
    this.#become(token, "in");
  }

  /** Ends this session, or all of its key. The browser is logged out even where the service does not respond. */
  async logOut(where: "here" | "everywhere"): Promise<void> {
    const end = where === "here" ? sessionEnd : sessionsEnd;
    await end(this.#connection, { retries: 0 }).catch(() => undefined);
    this.#store(undefined);
    this.#become(undefined, "out");
  }

  /** Whether it is the session that a 401 refuses: a key that is sent along, or what a share does not reach, is another matter. */
  #isRefused({ headers, url }: Request): boolean {
    if (this.share !== undefined) return new URL(url).pathname.endsWith("/trace/outline");
    return headers.get("x-heddle-session") === this.#token;
  }

  /** The service does not know the session any more. */
  #ended(): void {
    if (this.#state.status === "in") this.#become(this.#token, "ended");
  }

  #become(token: string | undefined, status: SessionState["status"]): void {
    this.#token = token;
    this.#connection = this.#connect();
    this.#change({ status, logIns: this.#state.logIns + (status === "in" ? 1 : 0) });
  }

  #change(change: Partial<SessionState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }

  async #send(request: Request): Promise<Response> {
    try {
      const response = await globalThis.fetch(request);
      if (!this.#state.isReachable) this.#change({ isReachable: true });
      return response;
    } catch (error) {
      if (!request.signal.aborted && this.#state.isReachable) {
        this.#change({ isReachable: false });
        this.#askAgain(firstWaitMs);
      }
      throw error;
    }
  }

  /** Whatever it responds, it does. */
  #askAgain(wait: number): void {
    setTimeout(() => {
      if (this.#state.isReachable) return;
      readRoot(this.#connection, { retries: 0 }).catch(() => this.#askAgain(Math.min(2 * wait, longestWaitMs)));
    }, wait);
  }

  #connect(session?: string): Connection<"tracing"> {
    return connectTracing(this.#options(session));
  }

  #options(session = this.#token ?? noSession): ClientOptions {
    const options = { baseUrl: serviceUrl(), fetch: this.#fetch, retries: 2 };
    if (this.share !== undefined) return { ...options, headers: { authorization: `Bearer ${this.share}` } };
    return { ...options, session };
  }

  // A browser may refuse its storage: the session then lasts as long as the page.
  #stored(): string | undefined {
    try {
      return localStorage.getItem(this.#name) ?? undefined;
    } catch {
      return this.#token;
    }
  }

  #store(token: string | undefined): void {
    try {
      if (token === undefined) localStorage.removeItem(this.#name);
      else localStorage.setItem(this.#name, token);
    } catch {
      // As above.
    }
  }
}
