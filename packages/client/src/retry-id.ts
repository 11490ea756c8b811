/**
 * A random UUID. `crypto.randomUUID` is missing on pages served over HTTP without TLS, as a self-hosted console may be.
 */
export function newRetryId(): string {
  return "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx".replaceAll("x", randomDigit);
}

function randomDigit(): string {
  return (crypto.getRandomValues(new Uint8Array(1))[0]! % 16).toString(16);
}
