/** What the link of a share names. */
export interface SharedTrace {
  projectId: string;
  traceId: string;
  token: string;
}

/**
 * What an address such as `…/console/share#project=…&trace=…&token=…` shares; null for one that is cut, undefined for the address
 * of another page. The fragment stays in the address, so that a reload shows the trace again; it is sent to no server.
 */
export function sharedTraceOf(address: URL, consoleAddress: URL): SharedTrace | null | undefined {
  if (address.pathname !== new URL("share", consoleAddress).pathname) return undefined;
  const named = new URLSearchParams(address.hash.slice(1));
  const [projectId, traceId, token] = ["project", "trace", "token"].map((name) => named.get(name) ?? "");
  return projectId && traceId && token ? { projectId, traceId, token } : null;
}
