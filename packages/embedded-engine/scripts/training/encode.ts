import type { Tokenizer } from "@heddle/chat-format";
import type { Example } from "../corpus/example.js";
import type { Renderer } from "../corpus/render.js";
import { piecePattern } from "../tokenizer/byte-pairs.js";
import { addedTokens } from "../tokenizer/tokenizer-files.js";

export interface EncodedExample {
  tokens: number[];
  /** Start of the answer. */
  answer: number;
}

export type Encoder = (example: Example) => EncodedExample;

const separators = `(?:${addedTokens.map(({ content }) => content.replaceAll("|", String.raw`\|`)).join("|")})`;

/** Encodes text like the tokenizer, with a cache of pieces, because the corpus has few distinct ones. */
export function encoder(tokenizer: Pick<Tokenizer, "encode">, render: Renderer): Encoder {
  const pieces = new RegExp(`${separators}|${piecePattern}`, "gu");
  const parts = new RegExp(`(${separators})`, "u");
  const known = new Map<string, readonly number[]>();
  const encodePiece = (piece: string): readonly number[] => {
    let ids = known.get(piece);
    if (!ids) known.set(piece, (ids = [...tokenizer.encode(piece)]));
    return ids;
  };
  // The text is split at added tokens first, so that no piece spans one.
  const encode = (text: string): number[] =>
    text.split(parts).flatMap((part) => (part.match(pieces) ?? []).flatMap(encodePiece));
  return (example) => {
    const { prompt, answer } = render(example);
    const tokens = encode(prompt);
    return { tokens: [...tokens, ...encode(answer)], answer: tokens.length };
  };
}
