/**
 * The bytes that a `Range` header asks for, of content with `size` bytes; undefined for all of them. Forms other than
 * one part in bytes are ignored, as HTTP lets a server do. A start beyond the end is passed on.
 */
export function byteRange(header: string | undefined, size: number): { start: number; end?: number } | undefined {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? "") ?? [];
  if (first === undefined || last === undefined) return undefined;
  if (first === "") return last === "" || size === 0 ? undefined : { start: Math.max(0, size - Number(last)) };
  if (last === "") return { start: Number(first) };
  return Number(last) < Number(first) ? undefined : { start: Number(first), end: Number(last) };
}
