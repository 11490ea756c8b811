import type { ControlPlane } from "@heddle/control-plane";
import type { HttpRequest, HttpResponse, HttpServer } from "@heddle/server-stub";
import { currentScope } from "../limits/request-scope.js";
import type { DeletedProjects } from "./deleted-projects.js";
import type { ProjectHomes } from "./project-homes.js";
import type { ShardPlace } from "./shard-place.js";
import { isSignedStoreCall } from "./store-calls-signed.js";
import { forgetProject, methodOf, methodsByName } from "./store-methods.js";
import type { ShardCall } from "./store-methods.js";
import { decodeCall, errorFrame, frameOf, notHereHeader, otherVersion, storePath } from "./store-wire.js";
import type { StoreCall } from "./store-wire.js";

type Signing = Pick<ControlPlane, "urlSignatures">;

/** As much as a call of a store may have: what a request may have, and its ids. */
const mostBytes = 256 * 1024 * 1024;
/** What is written at once of values that are short. */
const chunkBytes = 65_536;

export const isStoreCall = ({ target }: HttpRequest): boolean => target.startsWith(storePath);

interface Served {
  places: ReadonlyMap<string, ShardPlace>;
  homes: ProjectHomes;
  deleted: DeletedProjects;
}

/**
 * A server for what other replicas call of the stores that this one works on; it passes nothing on. `others` gets all that
 * are no such calls. Needs requests with a scope.
 */
export function serveStores(control: Signing, { places, homes, deleted }: Served, others: HttpServer): HttpServer {
  return async (request) => {
    if (!isStoreCall(request)) return await others(request);
    const name = request.target.slice(storePath.length);
    if (!isSignedStoreCall(control, request, name)) return forged;
    const place = places.get(name);
    if (place?.own === undefined) return notHere("elsewhere");
    const call = decodeCall(await request.bytes(mostBytes));
    const method = call && methodsByName.get(call.name);
    if (call === undefined || method === undefined) return failed(otherVersion());
    if (place.own === undefined) return notHere("elsewhere");
    try {
      await deleted.check(call.name, call.args);
    } catch (error) {
      return failed(error);
    }
    if (call.name === forgetProject) {
      homes.forget(String(call.args[0]));
      return { status: 200, headers: {}, body: Buffer.concat([frameOf("value", undefined), frameOf("end")]) };
    }
    if (!(await homes.areIn(method.projectsOf(call.args), name, method.isRead))) return notHere("moved");
    return respond(request, place, { call, method });
  };
}

/** `name` is that of the shard; it was looked for here. */
function respond(
  request: HttpRequest,
  place: ShardPlace,
  { call, method: { returns, isRead } }: { call: StoreCall; method: ShardCall },
): HttpResponse {
  const { own } = place;
  if (own === undefined) return notHere("elsewhere");
  const scope = currentScope();
  scope?.actFor(call.sharer);
  const args = [...call.args];
  if (call.optionsAt !== undefined) {
    args[call.optionsAt] = {
      ...(args[call.optionsAt] as object),
      signal: request.signal,
      reserve: async (bytes: number) => (await scope?.hold(bytes)) ?? (() => {}),
      // The other replica has left out what the caller may not read.
      mayRead: () => true,
    };
  }
  const run = methodOf(own, call.name);
  const end = place.begin({ isRead });
  return {
    status: 200,
    headers: { "content-type": "application/octet-stream" },
    async body(sink) {
      let pending: Buffer[] = [];
      let length = 0;
      let timer: NodeJS.Immediate | undefined;
      const flush = async () => {
        clearImmediate(timer);
        timer = undefined;
        if (length === 0) return;
        const chunk = Buffer.concat(pending);
        [pending, length] = [[], 0];
        await sink.write(chunk);
      };
      const write = async (frame: Buffer) => {
        pending.push(frame);
        length += frame.length;
        if (length >= chunkBytes) await flush();
        else timer ??= setImmediate(() => void flush());
      };
      try {
        if (returns === "value") await write(frameOf("value", await run(...args)));
        else {
          for await (const value of run(...args) as AsyncIterable<unknown>) {
            if (sink.closed) return;
            await write(frameOf("value", value));
          }
        }
        await write(frameOf("end"));
      } catch (error) {
        await write(errorFrame(error));
      } finally {
        end();
        await flush();
      }
    },
  };
}

const failed = (error: unknown): HttpResponse => ({ status: 200, headers: {}, body: errorFrame(error) });

const notHere = (why: "elsewhere" | "moved"): HttpResponse => ({
  status: 503,
  headers: { [notHereHeader]: why },
  drain: true,
});

const message = "This path is for replicas of this service only";
const forged: HttpResponse = {
  status: 401,
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ reason: message, detail: message }),
  drain: true,
};
