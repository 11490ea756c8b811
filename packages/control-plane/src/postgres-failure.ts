import { ControlPlaneError } from "./errors.js";

/** The server is there but cannot serve now: connections, resources, operator intervention, deadlocks. */
const busyStates = /^(08|53|57P|40001|40P01|55P03)/;
/** It turns us away: password, unknown database, missing rights. */
const refusedStates = /^(28|3D|42501)/;
const unreachable = new Set(["ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "EPIPE", "ENOENT"]);

/** Turns what the driver throws into an error of ours; a fault in our own SQL stays as it is. */
export function postgresFailure(error: unknown, url: string): unknown {
  if (!(error instanceof Error)) return error;
  const code = "code" in error ? String(error.code) : "";
  const place = placeOf(url);
  if (refusedStates.test(code)) {
    return new ControlPlaneError("invalid", `the Postgres server at ${place} refuses: ${error.message}`, ["url"]);
  }
  if (busyStates.test(code)) {
    return new ControlPlaneError("busy", `the Postgres server at ${place} is not ready: ${error.message}`);
  }
  // The driver's own errors carry no code.
  if (unreachable.has(code) || /timeout|terminated|not queryable/i.test(code === "" ? error.message : "")) {
    return new ControlPlaneError("busy", `no answer from the Postgres server at ${place}: ${error.message || code}`);
  }
  return error;
}

/** Host and database of a URL, without its password. */
function placeOf(url: string): string {
  if (!URL.canParse(url)) return "the configured address";
  const { host, pathname, searchParams } = new URL(url);
  return `${host || (searchParams.get("host") ?? "localhost")}${pathname}`;
}
