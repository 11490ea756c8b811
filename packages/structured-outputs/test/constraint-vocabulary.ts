import type { ConstraintVocabulary } from "../src/constraints.js";

/** All bytes, some merges, `<s>`, `</s>` and a special token that would be text; two ids have no text at all. */
export function testVocabulary(
  merges: string[] = ['{"', '":', '", "', "true", "the", " a", "12", "é", "]}", "\n  "],
): ConstraintVocabulary & { end: number; idOf(text: string): number } {
  const texts = [
    ...Array.from({ length: 256 }, (_, byte) => Buffer.from([byte])),
    ...merges.map((text) => Buffer.from(text)),
  ];
  const specials = ["<s>", "</s>", "<|special|>", ""].map((text) => Buffer.from(text));
  const all = [...texts, ...specials];
  const end = texts.length + 1;
  return {
    vocabularySize: all.length,
    tokenBytes: (id) => all[id] ?? new Uint8Array(),
    specialIds: new Set([texts.length, end, end + 1]),
    eosIds: [end],
    end,
    idOf: (text) => all.findIndex((bytes) => bytes.toString() === text),
  };
}
