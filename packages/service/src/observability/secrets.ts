import type { Config } from "../config/config.js";

/** Shorter ones would also be found where they are not secrets. */
const shortest = 6;

/** Every key and password of the settings. */
export function secretsOf(config: Config): string[] {
  const { apiKey, clickhouseUrl, databaseUrl, shards, s3, providers, remoteEngine, observability } = config;
  const secrets = [
    apiKey,
    ...passwordsIn(clickhouseUrl),
    ...passwordsIn(databaseUrl),
    ...shards.flatMap(({ url }) => passwordsIn(url)),
    s3?.secretAccessKey,
    s3?.sessionToken,
    ...providers.map((provider) => provider.apiKey),
    remoteEngine.trainerKey,
    remoteEngine.inferenceKey,
    ...(remoteEngine.trainerUrl ?? []).flatMap(passwordsIn),
    ...(remoteEngine.inferenceUrl ?? []).flatMap(passwordsIn),
    ...passwordsIn(observability.traces?.url),
    ...Object.entries(observability.traces?.headers ?? {}).map(([name, value]) =>
      /auth|key|token|secret|cookie/i.test(name) ? value : undefined,
    ),
  ];
  return secrets.filter((secret) => secret !== undefined);
}

/** Returns the function that replaces these secrets in a text, also where they are percent-encoded or in JSON. */
export function hideSecrets(secrets: readonly string[]): (text: string) => string {
  const words = secrets.flatMap((secret) => [secret, ...secret.split(/\s+/)]);
  const spellings = words.flatMap((secret) =>
    secret.length < shortest ? [] : [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)],
  );
  const unique = [...new Set(spellings)].toSorted((a, b) => b.length - a.length);
  return (text) => unique.reduce((masked, secret) => masked.replaceAll(secret, "***"), text);
}

/** As it is in the URL, and decoded. */
function passwordsIn(url: string | undefined): string[] {
  if (url === undefined || !URL.canParse(url)) return [];
  const { password } = new URL(url);
  try {
    return [password, decodeURIComponent(password)];
  } catch {
    return [password];
  }
}
