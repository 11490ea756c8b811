import http from "node:http";
import type { ControlPlane } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { currentScope, currentSharer } from "../limits/request-scope.js";
import { NotSent, Unanswered } from "../replicas/forward.js";
import { askStore, NotHere, Refused } from "./ask-store.js";
import type { DeletedProjects } from "./deleted-projects.js";
import type { ProjectHomes } from "./project-homes.js";
import type { ShardPlace } from "./shard-place.js";
import { forgetProject, methodOf, methodsByName } from "./store-methods.js";
import { CutOff, encodeCall, readFrames, storePath } from "./store-wire.js";
import { storeCallHeaders } from "./store-calls-signed.js";

/** Of a replica that refuses connections: it may end, and another one have its work soon. */
const pauseMs = 100;

/** The project of a call is in another shard than this replica has thought. */
export class ProjectMoved extends Error {
  override readonly name = "ProjectMoved";
}

interface Known {
  deleted: Pick<DeletedProjects, "check">;
  homes: Pick<ProjectHomes, "areIn">;
  holdMs?: number;
}

/** Calls of methods of the store of a shard, whichever replica works on it. */
export class ShardStore {
  readonly place: ShardPlace;
  readonly #control: Pick<ControlPlane, "urlSignatures">;
  readonly #deleted: Pick<DeletedProjects, "check">;
  readonly #homes: Pick<ProjectHomes, "areIn">;
  readonly #holdMs: number;
  readonly #agent = new http.Agent({ keepAlive: true });
  /** Calls that another replica has responded to. */
  forwarded = 0;
  #isEnding = false;

  /** A call waits `holdMs` for a replica that works on its shard: a lease that is not renewed is taken over in less. */
  constructor(
    place: ShardPlace,
    control: Pick<ControlPlane, "urlSignatures">,
    { deleted, homes, holdMs = 30_000 }: Known,
  ) {
    this.#deleted = deleted;
    this.#homes = homes;
    this.#holdMs = holdMs;
    this.place = place;
    this.#control = control;
  }

  /** This replica ends, and does not learn any more who has a shard that it leaves: calls for it are refused at once. */
  beginEnd(): void {
    this.#isEnding = true;
    this.place.wake();
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Throws what the method throws, `busy` where no replica works on the shard, and {@link ProjectMoved}. */
  async call(name: string, args: readonly unknown[]): Promise<unknown> {
    const isRead = methodsByName.get(name)?.isRead === true;
    for await (const turn of this.#turns(args)) {
      const { own } = this.place;
      if (own !== undefined) {
        await this.#checkHomes(name, args);
        await this.#deleted.check(name, args);
        if (name === forgetProject) return undefined;
        if (this.place.own !== own) continue;
        const end = this.place.begin({ isRead });
        try {
          return await methodOf(own, name)(...args);
        } finally {
          end();
        }
      }
      try {
        let result: unknown;
        for await (const value of this.#ask(name, args)) result = value;
        return result;
      } catch (error) {
        turn.after(error, isRead);
      }
    }
    throw nobody();
  }

  /** The same for methods that return their values one by one. */
  async *stream(name: string, args: readonly unknown[]): AsyncGenerator<unknown, void, undefined> {
    for await (const turn of this.#turns(args)) {
      const { own } = this.place;
      if (own !== undefined) {
        await this.#checkHomes(name, args);
        if (this.place.own !== own) continue;
        const end = this.place.begin({ isRead: true });
        try {
          yield* methodOf(own, name)(...args) as AsyncIterable<unknown>;
          return;
        } finally {
          end();
        }
      }
      let isBegun = false;
      try {
        for await (const value of this.#ask(name, args)) {
          isBegun = true;
          yield value;
        }
        return;
      } catch (error) {
        turn.after(error, !isBegun);
      }
    }
    throw nobody();
  }

  /** A project may have been moved while a call waited for this shard, as another replica would say. */
  async #checkHomes(name: string, args: readonly unknown[]): Promise<void> {
    const method = methodsByName.get(name);
    if (method === undefined) return;
    if (!(await this.#homes.areIn(method.projectsOf(args), this.place.name, method.isRead))) throw new ProjectMoved();
  }

  /** Attempts of a call, each when something has a chance to have changed. */
  async *#turns(args: readonly unknown[]): AsyncGenerator<{ after: (error: unknown, isRepeatable: boolean) => void }> {
    const deadline = performance.now() + this.#holdMs;
    const signal = optionsIn(args)?.options.signal;
    for (;;) {
      const { now } = this.place;
      if (now !== undefined) yield { after: afterFailure };
      else if (this.#isEnding) return;
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return;
      signal?.throwIfAborted();
      if (this.place.now === now) await this.place.changed(Math.min(leftMs, now === undefined ? leftMs : pauseMs));
    }
  }

  async *#ask(name: string, args: readonly unknown[]): AsyncGenerator<unknown, void, undefined> {
    const { now } = this.place;
    if (now === undefined || "store" in now) throw new NotSent("the shard is elsewhere");
    const found = optionsIn(args);
    const { signal, reserve, mayRead: _, ...others } = found?.options ?? {};
    const sent = found === undefined ? [...args] : args.with(found.at, others);
    const call = { name, args: sent, optionsAt: found?.at, sharer: currentSharer() };
    const ending = new AbortController();
    let isEnded = false;
    try {
      const response = await askStore(encodeCall(call), {
        url: now.url,
        path: storePath + this.place.name,
        headers: { ...storeCallHeaders(this.#control, this.place.name), "x-request-id": currentScope()?.id ?? "" },
        agent: this.#agent,
        signal: AbortSignal.any([ending.signal, now.replaced, ...(signal === undefined ? [] : [signal])]),
      });
      this.forwarded += 1;
      const hold = async (bytes: number) => (await reserve?.(bytes)) ?? nothing;
      yield* readFrames(response, hold);
      isEnded = true;
    } catch (error) {
      signal?.throwIfAborted();
      throw isConnectionError(error) ? new Unanswered("the response was cut off", { cause: error }) : error;
    } finally {
      if (!isEnded) ending.abort();
    }
  }
}

/** Throws unless the call can be sent again. */
function afterFailure(error: unknown, isRepeatable: boolean): void {
  if (error instanceof NotSent) return;
  if (error instanceof NotHere) {
    if (error.isMoved) throw new ProjectMoved();
    return;
  }
  if (error instanceof Refused)
    throw new HeddleError("busy", "The replica that works on this has no room for it", { cause: error });
  if (!(error instanceof Unanswered)) throw error;
  if (isRepeatable) return;
  throw new HeddleError("busy", "The replica that works on this has ended: what was sent may be stored", {
    cause: error,
  });
}

const nobody = () => new HeddleError("busy", "No replica works on this project now");

function isConnectionError(error: unknown): boolean {
  return error instanceof CutOff || (error instanceof Error && "code" in error && !(error instanceof HeddleError));
}

interface Options {
  signal?: AbortSignal;
  reserve?: (bytes: number) => Promise<() => void>;
  mayRead?: unknown;
}

const ofOptions = ["signal", "reserve", "mayRead"];

/** What of the arguments cannot be sent is in one of them. */
function optionsIn(args: readonly unknown[]): { at: number; options: Options } | undefined {
  const at = args.findIndex((arg) => typeof arg === "object" && arg !== null && ofOptions.some((name) => name in arg));
  return at === -1 ? undefined : { at, options: args[at] as Options };
}

function nothing(): void {}
