import { decodeRefPart, encodeRefPart } from "./ref.js";

/**
 * The texts that clients may write for one ref: each of its project, its name and its edge values as it is or percent-encoded. The
 * version may be any or `*`, or absent. Text that is not a ref of an object, op or call comes back alone.
 */
export function refSpellings(text: string): string[] {
  if (!text.startsWith("weave:///")) return [text];
  const [entity = "", project = "", kind = "", last = "", ...edges] = text.slice("weave:///".length).split("/");
  const colon = last.indexOf(":");
  const [name, version] = colon < 0 ? [last, ""] : [last.slice(0, colon), last.slice(colon)];
  if (!["object", "op", "call"].includes(kind) || name === "") return [text];
  const tails = spellings(edges).map((parts) => parts.map((part) => `/${part}`).join(""));
  const heads = spellings([entity, project]).map((parts) => parts.join("/"));
  const spelled = heads.flatMap((head) =>
    spellings([name]).flatMap(([written]) =>
      tails.map((tail) => `weave:///${head}/${kind}/${written}${version}${tail}`),
    ),
  );
  return [...new Set([text, ...spelled])];
}

/** As given, decoded, and encoded with digits of either case. */
function spellings(parts: readonly string[]): string[][] {
  if (!parts.some((part) => /[^\w.~-]/.test(part))) return [[...parts]];
  const decoded = parts.map((part) => decodeRefPart(part) ?? part);
  const encoded = decoded.map(encodeRefPart);
  const readable = decoded.map((part, index) => (/[/:%]/.test(part) ? (encoded[index] ?? part) : part));
  const lower = encoded.map((part) => part.replace(/%../g, (escape) => escape.toLowerCase()));
  return [[...parts], readable, encoded, lower];
}
