/** The colour of a status of calls; most are successes, which need none. */
export function statusColor(status: string | undefined): "red" | "yellow" | "cyan" | undefined {
  if (status === "error") return "red";
  if (status === "descendant_error") return "yellow";
  return status === "running" ? "cyan" : undefined;
}
