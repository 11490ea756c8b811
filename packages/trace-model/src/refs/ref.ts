import { isObjectId } from "../objects/names.js";

/** One step into a value: attribute, dict key, list position, or table row by digest. */
export interface RefEdge {
  edge: "attr" | "key" | "index" | "id";
  value: string;
}

export type Ref =
  | {
      kind: "object" | "op";
      entity: string;
      project: string;
      name: string;
      /** Content digest, `v3`, `latest`, an alias, or `*` in filters. */
      digest: string;
      edges: RefEdge[];
    }
  | { kind: "table"; entity: string; project: string; digest: string; edges: RefEdge[] }
  | { kind: "call"; entity: string; project: string; id: string; edges: RefEdge[] };

const scheme = "weave:///";

/** Reads `weave:///entity/project/…`; undefined when the text is not a ref. Names and edge values are percent-decoded. */
export function parseRef(text: string): Ref | undefined {
  if (!text.startsWith(scheme)) return undefined;
  const parts = text.slice(scheme.length).split("/");
  const [entity, project, kind, tail] = parts.map(decodeRefPart);
  if (!entity || !project || !kind || !tail) return undefined;
  const edges = parseEdges(parts.slice(4));
  if (!edges) return undefined;
  if (kind === "call") return { kind, entity, project, id: tail, edges };
  if (kind === "table") return { kind, entity, project, digest: tail, edges };
  if (kind !== "object" && kind !== "op") return undefined;
  const raw = parts[3] ?? "";
  const colon = raw.indexOf(":");
  const name = decodeRefPart(raw.slice(0, Math.max(colon, 0)));
  const digest = decodeRefPart(raw.slice(colon + 1));
  if (!name || !digest) return undefined;
  return { kind, entity, project, name, digest, edges };
}

/** Whether the text names a turn or a conversation of an agent of the project, which only feedback refers to. */
export function isAgentRef(text: string, projectId: string): boolean {
  const prefix = `${scheme}${projectId}/`;
  return text.startsWith(prefix) && /^agent_(?:turn|conversation)\/[^/]+$/.test(text.slice(prefix.length));
}

/** The text of a ref; `parseRef` of it gives the ref again. */
export function formatRef(ref: Ref): string {
  const head = `${scheme}${encodeRefPart(ref.entity)}/${encodeRefPart(ref.project)}/${ref.kind}/`;
  return head + tailOf(ref) + ref.edges.map(formatEdge).join("");
}

/** `entity/project` of a ref. */
export function projectIdOf(ref: Ref): string {
  return `${ref.entity}/${ref.project}`;
}

function tailOf(ref: Ref): string {
  if (ref.kind === "call") return encodeRefPart(ref.id);
  const digest = ref.digest === "*" ? "*" : encodeRefPart(ref.digest);
  return ref.kind === "table" ? digest : `${encodeName(ref.name)}:${digest}`;
}

function formatEdge({ edge, value }: RefEdge): string {
  return `/${edge}/${encodeRefPart(value)}`;
}

function parseEdges(parts: readonly string[]): RefEdge[] | undefined {
  if (parts.length % 2 !== 0) return undefined;
  const edges: RefEdge[] = [];
  for (let index = 0; index < parts.length; index += 2) {
    const edge = parts[index];
    const value = decodeRefPart(parts[index + 1] ?? "");
    if (edge !== "attr" && edge !== "key" && edge !== "index" && edge !== "id") return undefined;
    if (value === undefined) return undefined;
    if (edge === "index" && !/^\d+$/.test(value)) return undefined;
    edges.push({ edge, value });
  }
  return edges;
}

/** Names of objects are written as they are, as client libraries do: some look them up without decoding them. */
function encodeName(name: string): string {
  return name.replace(/[^\p{L}\p{M}\p{N}_.~-]+/gu, encodeRefPart);
}

/** Percent-encodes all but the letters and digits of ASCII and `_ . - ~`. */
export function encodeRefPart(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** The object that a client means by the name that it took from a ref; libraries read refs without decoding them. */
export function objectIdInRef(name: string): string {
  const decoded = isObjectId(name) ? undefined : decodeRefPart(name);
  return decoded !== undefined && isObjectId(decoded) ? decoded : name;
}

export function decodeRefPart(text: string): string | undefined {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
