import { HeddleApiError } from "@heddle/client";
import { connectTracing, meRead, projectsQuery } from "@heddle/client/tracing";
import type { ClientOptions, Connection } from "@heddle/client/tracing";
import { visibleLine } from "@heddle/exact-json";
import { ConfigError } from "../config/config-error.js";
import { readConfig } from "../config/config.js";
import { UsageError } from "./command.js";
import { addressOf, ownerKeyOf } from "./open.js";

/** Of the help of each command that asks a service. */
export const remoteUsage = `  --url URL         the service; default: HEDDLE_URL, else the one that the settings of this machine describe

The key is HEDDLE_API_KEY. Without it, the owner key of the data directory is used for the service of this machine.`;

/** A connection to the service that the option or the environment names, with the key for it. */
export const connectRemote = (url: string | undefined, env: NodeJS.ProcessEnv): Connection<"tracing"> =>
  connectTracing(remoteOf(url, env));

/** Where that service is, and the key for it. */
export function remoteOf(url: string | undefined, env: NodeJS.ProcessEnv): ClientOptions {
  const named = url ?? (env["HEDDLE_URL"] || undefined);
  if (named !== undefined && !isHttp(named))
    throw new UsageError(
      `${url === undefined ? "HEDDLE_URL" : "--url"} must be an address of a service, as http://127.0.0.1:4680, not "${named}"`,
      remoteUsage,
    );
  const apiKey = env["HEDDLE_API_KEY"];
  if (named !== undefined && apiKey) return { baseUrl: named, apiKey };
  const config = readConfig(env);
  const local = addressOf(config);
  // The owner key of this machine is never sent to another one.
  if (named !== undefined && !isSamePlace(named, local))
    throw new ConfigError(`A key is needed for ${named}: set HEDDLE_API_KEY. It is made there by heddle keys create.`);
  return { baseUrl: named ?? local, apiKey: apiKey || keyOf(() => ownerKeyOf(config)) };
}

const isHttp = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);

function isSamePlace(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => new URL(text.replace(/^(https?:\/\/)localhost\b/, "$1127.0.0.1")));
  return a?.origin === b?.origin;
}

function keyOf(read: () => string): string {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(`No key: ${error.message} Or set HEDDLE_API_KEY, and HEDDLE_URL for a service elsewhere.`);
  }
}

/** `entity/name` of the project that is meant; a bare name is of the key's entity, and one project needs no name. */
export async function projectOf(connection: Connection<"tracing">, named: string | undefined): Promise<string> {
  if (named?.includes("/")) return named;
  if (named !== undefined) return `${(await meRead(connection)).entity}/${named}`;
  const { projects, next } = await projectsQuery(connection, { limit: 10 });
  const [only, ...more] = projects.map(({ project_id }) => project_id);
  if (only === undefined) throw new ConfigError(`${connection.baseUrl} has no project yet. The first call makes one.`);
  if (more.length === 0) return only;
  const names = [only, ...more].map(visibleLine).join(", ");
  throw new ConfigError(`Say which project with --project: there are ${names}${next === undefined ? "" : ", …"}`);
}

/** Does what asks the service; its failures become one line that says what to do. */
export async function asking<Result>(
  { baseUrl }: Connection<"tracing">,
  action: () => Promise<Result>,
): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof HeddleApiError) throw new ConfigError(visibleLine(explain(error, baseUrl)));
    throw error;
  }
}

/** What failed and what to do about it, in one sentence or two. */
export function explain(error: HeddleApiError, baseUrl: string): string {
  const { message, reason, status } = error;
  if (status === 0)
    return `No service answers at ${baseUrl}: ${reason}. Start it with heddle serve, or set HEDDLE_URL or --url.`;
  if (status === 401)
    return `${baseUrl} does not know the key. Set HEDDLE_API_KEY to one that heddle keys create made there.`;
  if (status === 403) return `${reason}. Set HEDDLE_API_KEY to a key that may.`;
  return `${baseUrl}: ${message}`;
}
