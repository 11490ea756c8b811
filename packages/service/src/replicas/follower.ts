import http from "node:http";
import type { ControlPlane, LeaseHolder } from "@heddle/control-plane";
import { ClientDisconnected } from "@heddle/server-stub";
import type { HttpRequest, HttpResponse, HttpServer } from "@heddle/server-stub";
import { alive, livePath } from "../http/live-route.js";
import { problemOf } from "../http/problems.js";
import { isStopping } from "../http/stopping.js";
import { ChangeSignal } from "./change-signal.js";
import { forward, NotSent, Unanswered } from "./forward.js";
import { hopHeaders } from "./hop.js";
import { keepShort } from "./kept-request.js";
import { isLocal } from "./local-operations.js";

const connectMs = 3000;
/** Of a replica that refuses connections: it may end, and another one have its work soon. */
const pauseMs = 100;
/** What a load balancer asks this process, not the installation. */
const ofProcess = new Set([livePath, "/health", "/v1/health"]);

/** Another replica that works on a request itself, for whole. */
export interface Elsewhere {
  url: URL;
  /** Aborts when it is replaced. */
  replaced: AbortSignal;
  /** Called when it has responded. */
  onResponse: () => void;
}

/** What a replica does with requests while another one has the lease: it sends them there. */
export class Follower {
  readonly #holdMs: number;
  readonly #control: Pick<ControlPlane, "urlSignatures">;
  readonly #agent = new http.Agent({ keepAlive: true });
  #writer: Writer | undefined;
  /** Of who works on the traces. */
  readonly #changes = new ChangeSignal();
  #isOpening = false;
  #own: HttpServer | undefined;
  #local: HttpServer | undefined;
  #elsewhere: (request: HttpRequest) => Elsewhere | undefined = () => undefined;

  /** A request waits `holdMs` for a replica that takes it: a lease that is not renewed is taken over in less. */
  constructor(control: Pick<ControlPlane, "urlSignatures">, { holdMs = 30_000 }: { holdMs?: number } = {}) {
    this.#control = control;
    this.#holdMs = holdMs;
  }

  /** Another replica has the lease. What was sent to the one before, and has no response, gets none any more. */
  writerIs({ holder, address }: LeaseHolder): void {
    this.#writer?.replaced.abort();
    const url = address !== undefined && URL.canParse(address) ? new URL(address) : undefined;
    this.#writer = { holder, url, replaced: new AbortController() };
    this.#isOpening = false;
    this.#changes.changed();
  }

  /** This replica has the lease and opens the stores: what comes from others waits here. */
  opens(): void {
    this.#isOpening = true;
    this.#writer?.replaced.abort();
    this.#writer = undefined;
    this.#changes.changed();
  }

  /** This replica works on the traces, and `server` responds from now on; also to the requests that have waited. */
  isWriter(server: HttpServer): void {
    this.#own = server;
    this.#changes.changed();
    this.#agent.destroy();
  }

  /**
   * `server` responds from now on to what every replica works on itself. What `elsewhere` finds another one for is sent there,
   * which costs less than to read it here.
   */
  worksLocally(server: HttpServer, elsewhere: (request: HttpRequest) => Elsewhere | undefined): void {
    this.#local = server;
    this.#elsewhere = elsewhere;
  }

  /** For requests of clients. */
  readonly server: HttpServer = async (request) => {
    const elsewhere = this.#elsewhere(request);
    if (elsewhere === undefined) return await this.#here(request);
    return await refusing(async () => await this.#sendWhole(request, elsewhere));
  };

  /** For requests that another replica has sent here because this one works on all of it: they are not sent on. */
  readonly whole: HttpServer = async (request) => {
    const server = this.#own ?? this.#local;
    return server === undefined ? unavailable("This replica does not work on this") : await server(request);
  };

  async #here(request: HttpRequest): Promise<HttpResponse> {
    if (this.#own !== undefined) return await this.#own(request);
    if (ofProcess.has(pathOf(request))) return alive;
    if (this.#local !== undefined && isLocal(request)) return await this.#local(request);
    return await refusing(async () => await this.#pass(request));
  }

  /** For requests that another replica has sent here: they are not sent on. */
  readonly forwarded: HttpServer = async (request) => {
    const deadline = performance.now() + this.#holdMs;
    while (this.#own === undefined) {
      const leftMs = deadline - performance.now();
      if (!this.#isOpening || leftMs <= 0 || request.signal.aborted) {
        return unavailable("This replica does not work on the traces");
      }
      await this.#changes.wait(leftMs);
    }
    return await this.#own(request);
  };

  /** What the other replica cannot take is worked on here, which finds who can. */
  async #sendWhole(incoming: HttpRequest, { url, replaced, onResponse }: Elsewhere): Promise<HttpResponse> {
    const { request, isRepeatable } = await keepShort(incoming);
    const response = await this.#send(request, { url, replaced, isWhole: true });
    if (response === undefined || (isRepeatable && isStopping(response))) return await this.#here(request);
    onResponse();
    return response;
  }

  /** Sends a request to the replica that works on the traces, and waits for one as long as a takeover takes. */
  async #pass(incoming: HttpRequest): Promise<HttpResponse> {
    const deadline = performance.now() + this.#holdMs;
    const { request, isRepeatable } = await keepShort(incoming);
    for (;;) {
      const [own, writer] = [this.#own, this.#writer];
      if (own !== undefined) return await own(request);
      const response =
        writer?.url && (await this.#send(request, { url: writer.url, replaced: writer.replaced.signal }));
      if (response !== undefined && !(isRepeatable && isStopping(response))) return response;
      const leftMs = deadline - performance.now();
      if (leftMs <= 0 || request.signal.aborted) return unavailable("No replica works on the traces now");
      await this.#changes.wait(Math.min(leftMs, writer === undefined ? leftMs : pauseMs));
    }
  }

  /** Undefined where nothing was sent. */
  async #send(request: HttpRequest, { url, replaced, isWhole = false }: Sent): Promise<HttpResponse | undefined> {
    try {
      return await forward(request, {
        url,
        agent: this.#agent,
        headers: { ...hopHeaders(this.#control, request, { isWhole }), "x-request-id": request.id ?? "" },
        connectMs,
        signal: AbortSignal.any([request.signal, replaced]),
      });
    } catch (error) {
      if (error instanceof NotSent) return undefined;
      if (error instanceof Unanswered)
        return unavailable("The replica that works on this has ended: what was sent may be stored");
      throw error;
    }
  }
}

interface Sent {
  url: URL;
  replaced: AbortSignal;
  isWhole?: boolean;
}

interface Writer {
  holder: string;
  /** Undefined for a service that takes nothing from replicas. */
  url: URL | undefined;
  /** Ends what was sent to it. */
  replaced: AbortController;
}

/** The response to what is refused while a request is read. */
async function refusing(respond: () => Promise<HttpResponse>): Promise<HttpResponse> {
  try {
    return await respond();
  } catch (error) {
    const problem = error instanceof ClientDisconnected ? undefined : problemOf(error);
    if (problem === undefined) throw error;
    return refusal(problem.status, problem.message);
  }
}

const pathOf = ({ target }: HttpRequest): string => target.split("?", 1)[0] ?? "";

const json = { "content-type": "application/json" };

function unavailable(message: string): HttpResponse {
  return refusal(503, `${message}: try again`);
}

function refusal(status: number, message: string): HttpResponse {
  return {
    status,
    headers: status === 503 ? { ...json, "retry-after": "1" } : json,
    body: JSON.stringify({ reason: message, detail: message }),
    drain: true,
  };
}
