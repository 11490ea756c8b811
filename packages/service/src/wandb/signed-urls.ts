import { callerMay, steadyNow } from "@heddle/control-plane";
import type { ControlPlane, Role, UrlSignatures } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { authenticateUrl } from "../access/authenticate.js";
import { checkUsable } from "../access/authorize.js";
import { splitProject } from "../access/project-id.js";
import { currentScope } from "../limits/request-scope.js";

/** What a signed URL lets anybody do who has it, until it expires or its key may no longer do it. */
export type Grant = { project_id: string } & (
  | /** Send the content with an MD5 for artifacts of the project. */ { kind: "content"; md5: string }
  | /** Send the manifest of an announced version. */ { kind: "manifest"; draft_id: string }
  | /** Read a file of a version. */ { kind: "file"; version_id: string; path: string }
  | /** Read the manifest of a version. */ { kind: "version-manifest"; version_id: string }
);

const rights: Readonly<Record<Grant["kind"], Role>> = {
  content: "write",
  manifest: "write",
  file: "read",
  "version-manifest": "read",
};

/** The path under which signed URLs are served. */
export const signedPath = "/wandb-files/";

/** Long enough for the uploads of one client to take their turn. */
const validMs = 6 * 3_600_000;

/** Returns the path of a grant, signed in the name of a key, which it names. */
export function signedPathOf(signatures: UrlSignatures, keyId: string, grant: Grant, now = steadyNow()): string {
  const payload = Buffer.from(JSON.stringify({ ...grant, expires: now + validMs })).toString("base64url");
  return `${signedPath}${keyId}.${payload}.${signatures.sign(keyId, payload)}`;
}

/**
 * Returns what a token grants. Throws `forbidden` for one that was not signed here or has expired, for one of a key that is
 * revoked, and where the key may not do it any more, and `conflict` while the project is being deleted. The current request then works for the owner of the key.
 */
export async function readGrant(control: ControlPlane, token: string, now = steadyNow()): Promise<Grant> {
  const [keyId = "", payload = "", signature = ""] = token.split(".");
  if (!control.urlSignatures.verify(keyId, payload, signature)) {
    throw refused("unknown", undefined, "the URL is not one of this service");
  }
  const { expires, ...grant } = JSON.parse(Buffer.from(payload, "base64url").toString()) as Grant & { expires: number };
  if (expires < now) throw refused("expired", keyId, "the URL has expired: ask for a new one");
  const caller = await authenticateUrl(control, keyId);
  const { entity = "", project = "" } = splitProject(grant.project_id) ?? {};
  const right = rights[grant.kind];
  if (!callerMay(caller, entity, project, right))
    throw new HeddleError(
      "forbidden",
      `the API key for which the URL was signed may not ${right} this project any more`,
    );
  checkUsable(control, grant.project_id);
  return grant;
}

function refused(reason: "unknown" | "expired", keyId: string | undefined, message: string): HeddleError {
  const scope = currentScope();
  if (scope !== undefined) scope.refusedKey = { refused: reason, ...(keyId !== undefined && { key_id: keyId }) };
  return new HeddleError("forbidden", message);
}
