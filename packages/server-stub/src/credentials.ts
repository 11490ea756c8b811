import type { HttpRequest } from "./http.js";

/** What the client showed. `secret` is the key; the user name of Basic is not looked at. */
export interface Credentials {
  scheme: "basic" | "bearer" | "wandb-api-key" | "none";
  secret: string;
}

/** Reads `Authorization` (Basic, Bearer) or the header `wandb-api-key`; an unknown scheme counts as none. */
export function readCredentials(request: HttpRequest): Credentials {
  const authorization = request.header("authorization");
  const [, scheme = "", value = ""] = /^\s*(\S+)\s+(\S+)\s*$/.exec(authorization ?? "") ?? [];
  if (scheme.toLowerCase() === "bearer") return { scheme: "bearer", secret: value };
  if (scheme.toLowerCase() === "basic") {
    const pair = decodeBase64(value);
    const colon = pair.indexOf(":");
    if (colon >= 0) return { scheme: "basic", secret: pair.slice(colon + 1) };
  }
  const key = request.header("wandb-api-key")?.trim();
  return key ? { scheme: "wandb-api-key", secret: key } : { scheme: "none", secret: "" };
}

function decodeBase64(text: string): string {
  try {
    return atob(text);
  } catch {
    return "";
  }
}
