import { createHmac } from "node:crypto";

const secretPrefix = "whsec_";

/**
 * The headers of Standard Webhooks for a request: `webhook-signature` has the HMAC-SHA256 of the id, the time in seconds and
 * the body, so that a receiver knows who has sent them, and when.
 */
export function signedHeaders(
  secret: string,
  { id, body, seconds }: { id: string; body: string; seconds: number },
): Record<string, string> {
  const key = Buffer.from(secret.slice(secretPrefix.length), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64");
  return {
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": `v1,${signature}`,
  };
}
