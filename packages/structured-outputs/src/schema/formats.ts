const day =
  "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))";
const date = `[0-9]{4}-${day}`;
const time = String.raw`(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])`;
const byte = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const label = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
const hostname = String.raw`${label}(?:\.${label})*`;
const word = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const path = "(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*";
const group = "[0-9A-Fa-f]{1,4}";
const clock = "T(?:[0-9]{1,9}H(?:[0-9]{1,9}M)?(?:[0-9]{1,9}S)?|[0-9]{1,9}M(?:[0-9]{1,9}S)?|[0-9]{1,9}S)";
const calendar = "(?:[0-9]{1,9}Y(?:[0-9]{1,9}M)?(?:[0-9]{1,9}D)?|[0-9]{1,9}M(?:[0-9]{1,9}D)?|[0-9]{1,9}D)";

const uuid = (version: string) =>
  `[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-${version}[0-9A-Fa-f]{3}-[89ab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}`;

/**
 * Supported values of `format`, each with a regular expression for the whole string. Every match is valid; some valid
 * strings are never sampled (29 February, leap seconds, quoted or very long names, shortened IPv6 addresses).
 */
export const formats: ReadonlyMap<string, string> = new Map([
  ["date", date],
  ["time", time],
  ["date-time", `${date}T${time}`],
  ["duration", `P(?:${calendar}(?:${clock})?|${clock}|[0-9]{1,9}W)`],
  ["email", String.raw`${word}(?:\.${word})*@${hostname}`],
  ["hostname", hostname],
  ["ipv4", String.raw`(?:${byte}\.){3}${byte}`],
  ["ipv6", `(?:${group}:){7}${group}`],
  ["uri", String.raw`[A-Za-z][A-Za-z0-9+.-]*://${hostname}(?::[0-9]{1,5})?(?:/${path})?(?:\?${path})?(?:#${path})?`],
  ["uuid", "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"],
  // As Pydantic prints its types of one version.
  ...["1", "3", "4", "5", "6", "7", "8"].map((version): [string, string] => [`uuid${version}`, uuid(version)]),
]);

const labelOf = (inner: number): string => `[A-Za-z0-9](?:[A-Za-z0-9-]{0,${inner}}[A-Za-z0-9])?`;
/** Characters of labels without their ends, how many labels follow the first, and the length of all of them. */
const [longNames, shortNames] = [
  { inner: 20, more: 3, length: 22 + 3 * 23 },
  { inner: 6, more: 1, length: 8 + 9 },
];

/**
 * Returns an expression for texts of a format that have at most `max` characters, without a state for every length.
 * Undefined for a format that has none, or for fewer characters than it needs.
 */
export function boundedFormat(format: string, max: number): string | undefined {
  const before = { email: 2, hostname: 0, uri: 12 }[format];
  const names = [longNames, shortNames].find(({ length }) => before !== undefined && before + length <= max);
  if (before === undefined || names === undefined) return undefined;
  const host = String.raw`${labelOf(names.inner)}(?:\.${labelOf(names.inner)}){0,${names.more}}`;
  const left = max - names.length;
  if (format === "email") return `[A-Za-z0-9_+-]{1,${Math.min(64, left - 1)}}@${host}`;
  if (format === "hostname") return host;
  return `[A-Za-z][A-Za-z0-9+.-]{0,7}://${host}(?:/[A-Za-z0-9._~!$&'()*+,;=:@/?-]{0,${left - before}})?`;
}
