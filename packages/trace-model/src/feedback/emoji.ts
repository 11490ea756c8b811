import { createRequire } from "node:module";

/** Names of an emoji as `:thumbs_up:`, with and without skin tones. */
export interface EmojiNames {
  alias: string;
  /** The emoji without skin tones. */
  detoned: string;
  detoned_alias: string;
}

interface Entry {
  slug: string;
}

const require = createRequire(import.meta.url);

/** Names by emoji, skin tones left out; from the Unicode consortium's list. */
const entries = require("unicode-emoji-json") as Readonly<Record<string, Entry>>;

const tones = new Map([
  ["\u{1F3FB}", "light"],
  ["\u{1F3FC}", "medium-light"],
  ["\u{1F3FD}", "medium"],
  ["\u{1F3FE}", "medium-dark"],
  ["\u{1F3FF}", "dark"],
]);
const tone = /[\u{1F3FB}-\u{1F3FF}]/gu;

/** One emoji of any length, such as a flag or a family. The literal needs a later language target. */
const oneEmoji = new RegExp("^\\p{RGI_Emoji}$", "v");

/** Where two people have a tone each, the emoji is spelled as both of them; without tones it is one sign. */
const couples: Readonly<Record<string, string>> = {
  "👩‍🤝‍👨": "👫",
  "👩‍🤝‍👩": "👭",
  "👨‍🤝‍👨": "👬",
  "🧑‍❤‍💋‍🧑": "💏",
  "🧑‍❤‍🧑": "💑",
  "🫱‍🫲": "🤝",
};

/** Emoji of the list by their spelling without the sign that asks for a colourful picture, which keyboards leave out. */
const spellings = new Map(Object.keys(entries).map((emoji) => [bare(emoji), emoji]));

/** The names of a text that is exactly one emoji; undefined for any other text. */
export function emojiNames(text: string): EmojiNames | undefined {
  const found = [...text.matchAll(tone)].map(([sign]) => tones.get(sign) ?? "");
  if (found.length > 0 && !oneEmoji.test(text)) return undefined;
  const spelling = bare(text.replace(tone, ""));
  const detoned = spellings.get(spelling) ?? spellings.get(couples[spelling] ?? "");
  const slug = detoned === undefined ? undefined : entries[detoned]?.slug;
  if (detoned === undefined || slug === undefined) return lone(text);
  const suffix = [...new Set(found)].map((name) => `_${name}_skin_tone`).join("");
  return { alias: `:${slug}${suffix}:`, detoned, detoned_alias: `:${slug}:` };
}

/** An emoji that is in no list of names, as a skin tone by itself. */
function lone(text: string): EmojiNames | undefined {
  if (!oneEmoji.test(text)) return undefined;
  const alias = `:${Array.from(text, (sign) => `u${sign.codePointAt(0)?.toString(16)}`).join("_")}:`;
  return { alias, detoned: text, detoned_alias: alias };
}

function bare(emoji: string): string {
  return emoji.replaceAll("\u{FE0F}", "");
}
