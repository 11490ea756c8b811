import type { Caller, ControlPlane } from "@heddle/control-plane";
import { Problem } from "@heddle/server-stub";
import type { Credentials } from "@heddle/server-stub";
import { currentScope } from "../limits/request-scope.js";

/** Returns the owner of the key, for whom the current request then works. Throws 401 for an unknown one and for none. */
export async function authenticate(control: ControlPlane, credentials: Credentials): Promise<Caller> {
  const caller = credentials.scheme === "none" ? undefined : await control.keys.verify(credentials.secret);
  if (caller !== undefined) {
    currentScope()?.identify(caller);
    return caller;
  }
  const reason =
    credentials.scheme === "none"
      ? "No API key: send it as Basic password, Bearer token or wandb-api-key header"
      : "Unknown or revoked API key";
  throw new Problem(401, reason, { headers: { "www-authenticate": 'Basic realm="heddle"' } });
}
