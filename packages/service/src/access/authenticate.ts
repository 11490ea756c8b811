import type { Caller, ControlPlane, KeyCheck, SessionCheck } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { Problem, readCredentials } from "@heddle/server-stub";
import type { HttpRequest } from "@heddle/server-stub";
import type { Config } from "../config/config.js";
import { currentScope } from "../limits/request-scope.js";
import { sessionCookies, sessionHeader } from "../sessions/session-cookie.js";

/** Of the tokens of shares. */
export const sharePrefix = "share_";

interface Keys {
  control: ControlPlane;
  config: Pick<Config, "publicUrls">;
}

/**
 * Returns the owner of the key or session, for whom the current request then works. Throws 401 for an unknown one and for
 * none.
 */
export async function authenticate(keys: Keys, request: HttpRequest): Promise<Caller> {
  const check = await checkRequest(keys, request);
  accept(check);
  if (check.caller !== undefined) return check.caller;
  if (request.header(sessionHeader) !== undefined)
    throw new Problem(401, "The session has ended, or one half of it is missing: log in again");
  const reason =
    check.refused === "missing"
      ? "No API key: send it as Basic password, Bearer token or wandb-api-key header"
      : "Unknown or revoked API key";
  // By this challenge a browser opens a dialog of its own, also for what a page fetches, and keeps the key.
  const isPage = request.header("sec-fetch-mode") !== undefined;
  throw new Problem(401, reason, isPage ? {} : { headers: { "www-authenticate": 'Basic realm="heddle"' } });
}

/** Returns the owner of the key of the current request, whose operation needs none; undefined without a valid key. */
export async function callerIfAny(keys: Keys): Promise<Caller | undefined> {
  const request = currentScope()?.request;
  if (request === undefined) return undefined;
  const check = await checkRequest(keys, request);
  return check.caller === undefined && check.refused === "missing" ? undefined : accept(check);
}

/**
 * Returns the owner of a key that a signed URL names, for whom the current request then works. Throws `forbidden` once the
 * key is revoked.
 */
export async function authenticateUrl(control: ControlPlane, keyId: string): Promise<Caller> {
  return acceptUrl(await control.keys.checkId(keyId));
}

/** The same for a key that was looked up. */
export function acceptUrl(check: KeyCheck): Caller {
  const caller = accept(check);
  if (caller !== undefined) return caller;
  throw new HeddleError("forbidden", "the API key for which the URL was signed is revoked: ask for a new one");
}

type Check = SessionCheck | { caller?: undefined; refused: "missing" };

/**
 * Where the header of sessions is present the session alone decides: browsers add keys that they keep by themselves. The token
 * of a share is an unknown key to everything that does not check what it shares.
 */
async function checkRequest({ control, config }: Keys, request: HttpRequest): Promise<Check> {
  const token = request.header(sessionHeader);
  if (token !== undefined) return await control.sessions.check(token, sessionCookies(request, config.publicUrls));
  const { scheme, secret } = readCredentials(request);
  if (scheme === "bearer" && secret.startsWith(sharePrefix)) {
    const isShared = currentScope()?.route?.isShared === true;
    return isShared ? await control.shares.check(secret.slice(sharePrefix.length)) : { refused: "unknown" };
  }
  return scheme === "none" ? { refused: "missing" } : await control.keys.check(secret);
}

function accept(check: Check): Caller | undefined {
  const scope = currentScope();
  if (check.caller !== undefined) scope?.identify(check.caller);
  else if (scope !== undefined) scope.refusedKey = check;
  return check.caller;
}
