/**
 * Names of users as parts of addresses. Browsers take `.` and `..` for steps in a path, encoded too, so these have a `~` in front,
 * as have names that begin with one.
 */
export const toSegment = (name: string): string => (/^(?:~|\.{1,2}$)/.test(name) ? `~${name}` : name);

/** The name that a part of an address stands for. */
export const fromSegment = (segment: string): string => (segment.startsWith("~") ? segment.slice(1) : segment);
