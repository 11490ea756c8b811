/*
 * An op_name is the ref of an op version or free text. Both rules below are also spelled in the store's SQL, so they
 * split text and decode nothing.
 */

/** Groups the versions of an op: the ref up to its last `:`, or the free text itself. */
export function opKey(op_name: string): string {
  return isOpRef(op_name) ? op_name.slice(0, versionColon(op_name)) : op_name;
}

/** The readable part: the last path segment of the ref up to its first `:`, or the free text itself. */
export function opNamePart(op_name: string): string {
  if (!isOpRef(op_name)) return op_name;
  const segment = op_name.slice(op_name.lastIndexOf("/") + 1);
  const colon = segment.indexOf(":");
  return colon < 0 ? segment : segment.slice(0, colon);
}

/** Op names are refs of any length or free text of at most 128 characters. */
export function isOpName(text: string): boolean {
  return isOpRef(text) || (text.length > 0 && text.length <= 128);
}

function isOpRef(op_name: string): boolean {
  return op_name.startsWith("weave:///");
}

function versionColon(op_name: string): number {
  const colon = op_name.lastIndexOf(":");
  return colon > "weave:///".length ? colon : op_name.length;
}
