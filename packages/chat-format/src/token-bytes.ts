import { HeddleError } from "@heddle/errors";
import { isJsonObject } from "@heddle/exact-json";

/** How tokens in `tokenizer.json` encode bytes. */
export interface Spelling {
  kind: "byte-level" | "sentencepiece";
  /** `<0xNN>` tokens are single bytes. */
  byteFallback: boolean;
  /** Encoding prepends a space to the text, and decoding removes it. */
  leadingSpace: boolean;
}

/** Returns the encoding of a `tokenizer.json` according to its decoder, or undefined for an unsupported decoder. */
export function spellingOf(tokenizer: Record<string, unknown>): Spelling | undefined {
  const parts = [tokenizer["decoder"], tokenizer["pre_tokenizer"]].flatMap(members);
  const byteFallback = isJsonObject(tokenizer["model"]) && tokenizer["model"]["byte_fallback"] === true;
  if (parts.some(({ type }) => type === "ByteLevel")) {
    return { kind: "byte-level", byteFallback: false, leadingSpace: false };
  }
  const decoders = members(tokenizer["decoder"]);
  const metaspace = decoders.find(({ type }) => type === "Metaspace");
  const replaced = decoders.some(({ type, content }) => type === "Replace" && content === " ");
  if (!metaspace && !replaced) return undefined;
  const stripped = decoders.some(({ type, content, start }) => type === "Strip" && content === " " && start === 1);
  const prepended =
    metaspace !== undefined && metaspace["prepend_scheme"] !== "never" && metaspace["add_prefix_space"] !== false;
  return { kind: "sentencepiece", byteFallback, leadingSpace: stripped || prepended };
}

/** Returns whether the tokenizer prepends a space to a text. */
export function addsPrefixSpace(tokenizer: Record<string, unknown>): boolean {
  return JSON.stringify(parts(tokenizer)) !== JSON.stringify(parts(withoutPrefixSpace(tokenizer)));
}

const parts = ({ normalizer, pre_tokenizer }: Record<string, unknown>): unknown[] => [normalizer, pre_tokenizer];

/** Returns the definition without the prepended space, for text that continues other text. */
export function withoutPrefixSpace(tokenizer: Record<string, unknown>): Record<string, unknown> {
  const [normalizer, preTokenizer] = parts(tokenizer).map(removePrefixSpace);
  return { ...tokenizer, normalizer, pre_tokenizer: preTokenizer };
}

function removePrefixSpace(component: unknown): unknown {
  if (!isJsonObject(component)) return component;
  const { type, normalizers, pretokenizers } = component;
  if (type === "Prepend") return null;
  const rest = (parts: unknown[]): unknown[] => parts.map(removePrefixSpace).filter((part) => part !== null);
  if (Array.isArray(normalizers)) return { ...component, normalizers: rest(normalizers) };
  if (Array.isArray(pretokenizers)) return { ...component, pretokenizers: rest(pretokenizers) };
  if (type === "Metaspace") return { ...component, prepend_scheme: "never", add_prefix_space: false };
  return type === "ByteLevel" ? { ...component, add_prefix_space: false } : component;
}

/** Returns a component of a tokenizer and, for a sequence, its components. */
function members(component: unknown, depth = 0): Record<string, unknown>[] {
  if (!isJsonObject(component) || depth > 8) return [];
  const inside = component["decoders"] ?? component["pretokenizers"];
  return [component, ...(Array.isArray(inside) ? inside.flatMap((each) => members(each, depth + 1)) : [])];
}

/** Returns the bytes of a token of the vocabulary. */
export function bytesOfToken(token: string, { kind, byteFallback }: Spelling): Uint8Array {
  if (kind === "byte-level") return byteLevelBytes(token);
  if (byteFallback && /^<0x[0-9A-Fa-f]{2}>$/.test(token)) return Uint8Array.of(Number.parseInt(token.slice(3, 5), 16));
  return encoder.encode(token.replaceAll("▁", " "));
}

const encoder = new TextEncoder();

/**
 * The alphabet of byte-level BPE, as in GPT-2: a printable byte is its own character; the others are the code points
 * from 256 in order.
 */
const byteOfCharacter = new Map<string, number>();
for (let byte = 0, others = 0; byte < 256; byte++) {
  const prints = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  byteOfCharacter.set(String.fromCharCode(prints ? byte : 256 + others++), byte);
}

function byteLevelBytes(token: string): Uint8Array {
  const bytes = new Uint8Array(token.length);
  for (let index = 0; index < token.length; index++) {
    const byte = byteOfCharacter.get(token.charAt(index));
    if (byte === undefined) {
      throw new HeddleError(
        "invalid",
        `token ${JSON.stringify(token)} has a character outside the byte-level alphabet`,
      );
    }
    bytes[index] = byte;
  }
  return bytes;
}
