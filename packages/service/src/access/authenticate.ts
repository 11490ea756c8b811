import type { Caller, ControlPlane, KeyCheck } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { Problem } from "@heddle/server-stub";
import type { Credentials } from "@heddle/server-stub";
import { currentScope } from "../limits/request-scope.js";

/** Returns the owner of the key, for whom the current request then works. Throws 401 for an unknown one and for none. */
export async function authenticate(control: ControlPlane, credentials: Credentials): Promise<Caller> {
  const caller = await callerOf(control, credentials);
  if (caller !== undefined) return caller;
  const reason =
    credentials.scheme === "none"
      ? "No API key: send it as Basic password, Bearer token or wandb-api-key header"
      : "Unknown or revoked API key";
  throw new Problem(401, reason, { headers: { "www-authenticate": 'Basic realm="heddle"' } });
}

/** Returns the owner of the key of the current request, whose operation needs none; undefined without a valid key. */
export async function callerIfAny(control: ControlPlane): Promise<Caller | undefined> {
  const credentials = currentScope()?.credentials();
  if (credentials === undefined || credentials.scheme === "none") return undefined;
  return await callerOf(control, credentials);
}

/**
 * Returns the owner of a key that a signed URL names, for whom the current request then works. Throws `forbidden` once the
 * key is revoked.
 */
export async function authenticateUrl(control: ControlPlane, keyId: string): Promise<Caller> {
  const caller = accept(await control.keys.checkId(keyId));
  if (caller !== undefined) return caller;
  throw new HeddleError("forbidden", "the API key for which the URL was signed is revoked: ask for a new one");
}

async function callerOf(control: ControlPlane, { scheme, secret }: Credentials): Promise<Caller | undefined> {
  return accept(scheme === "none" ? { refused: "missing" } : await control.keys.check(secret));
}

function accept(check: KeyCheck | { caller?: undefined; refused: "missing" }): Caller | undefined {
  const scope = currentScope();
  if (check.caller !== undefined) scope?.identify(check.caller);
  else if (scope !== undefined) scope.refusedKey = check;
  return check.caller;
}
