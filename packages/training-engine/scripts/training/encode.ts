import type { Tokenizer } from "../../src/text/tokenizer.js";
import type { Example } from "../corpus/example.js";
import type { Renderer } from "../corpus/render.js";
import { piecePattern } from "../tokenizer/byte-pairs.js";
import { addedTokens } from "../tokenizer/tokenizer-files.js";

export interface EncodedExample {
  tokens: number[];
  /** Where the answer begins. */
  answer: number;
}

export type Encoder = (example: Example) => EncodedExample;

const separators = `(?:${addedTokens.map(({ content }) => content.replaceAll("|", String.raw`\|`)).join("|")})`;

/** Text to ids, as the tokenizer does it, but each distinct piece only once: the corpus has few of them. */
export function encoder(tokenizer: Pick<Tokenizer, "encode">, render: Renderer): Encoder {
  const pieces = new RegExp(`${separators}|${piecePattern}`, "gu");
  const parts = new RegExp(`(${separators})`, "u");
  const known = new Map<string, readonly number[]>();
  const encodePiece = (piece: string): readonly number[] => {
    let ids = known.get(piece);
    if (!ids) known.set(piece, (ids = [...tokenizer.encode(piece)]));
    return ids;
  };
  // Added tokens are cut out first, so that no piece reaches across one.
  const encode = (text: string): number[] =>
    text.split(parts).flatMap((part) => (part.match(pieces) ?? []).flatMap(encodePiece));
  return (example) => {
    const { prompt, answer } = render(example);
    const tokens = encode(prompt);
    return { tokens: [...tokens, ...encode(answer)], answer: tokens.length };
  };
}
