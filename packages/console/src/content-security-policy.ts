/**
 * What the console may load: its own files, and what it reads from the service it came from. Nothing inline, nothing from
 * other origins, and no script but its own, workers included. Servers send it as a header.
 */
export const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  // Images of payloads are fetched with the session and shown as blobs.
  "img-src 'self' data: blob:",
  "worker-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types heddle-worker",
].join("; ");
