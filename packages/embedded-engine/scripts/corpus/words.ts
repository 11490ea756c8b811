/** Words that the generators share. All are common English words; names are first names only. */
import type { Random } from "./random.js";

const list = (text: string): string[] => text.trim().split(/\s+/);

export const names = list(`
  Anna Ben Clara David Emma Felix Grace Henry Ida Jonas Kira Leo Mona Nils Olga Paul Rosa Sam Tara Uwe Vera Will Yara Zoe
  Adam Bella Carl Dora Eric Fay Gus Hana Ivan Julia Karl Lena Max Nora Otto Petra Rita Simon Tina Victor`);

export const cities = list(`
  Rome Paris Oslo Bonn Lima Cairo Delhi Tokyo Kyoto Milan Prague Vienna Berlin Madrid Lisbon Dublin Athens Quito Boston
  Denver Zurich Basel Riga Turin Porto Lyon`);

export const things = list(`
  lamp book chair table cup plate spoon door window garden river stone bridge boat train bike car road house roof clock
  phone paper pencil box bag coat hat shoe shirt ball kite drum bell key coin map tree leaf flower apple bread cheese soup
  rice cake egg milk tea salt sugar honey wheel rope net tent fire snow rain wind cloud star moon sun hill lake sea field
  farm barn wall gate path shop desk bed rug pot pan fork glass bottle basket candle mirror ladder hammer nail brush
  blanket pillow letter stamp radio camera ticket`);

export const animals = list(`
  dog cat cow horse sheep goat pig hen duck goose frog bee owl lion mouse wolf bear fox snake crow fish rabbit deer
  donkey`);

export const adjectives = list(`
  red blue green yellow black white small big old new warm cold soft hard heavy light quiet loud fast slow clean dirty
  bright dark round flat sweet fresh dry wet long short`);

export const colours = list("red blue green yellow black white brown grey pink orange purple");

export const pastVerbs = list(`
  found saw bought lost painted carried washed dropped moved opened closed fixed sold kept hid made needed wanted liked
  counted cleaned broke brought`);

export const places = list(`
  garden kitchen school park market office station library forest village harbour museum bakery field attic cellar`);

export const days = list("Monday Tuesday Wednesday Thursday Friday Saturday Sunday");

const ordinary = [...things, ...animals, ...adjectives, ...places];

const onsets = list("b d f g h k l m n p r s t v w z");
const vowels = list("a e i o u");
const codas = list("b d g k l m n p r s t");

/** A pronounceable word of three to five letters, mostly without meaning. */
function inventedWord(random: Random): string {
  const first = random.pick(onsets) + random.pick(vowels);
  if (random.chance(0.5)) return first + random.pick(codas);
  const second = random.pick(onsets) + random.pick(vowels);
  return random.chance(0.5) ? first + second : first + second + random.pick(codas);
}

export function anyWord(random: Random): string {
  return random.chance(0.5) ? random.pick(ordinary) : inventedWord(random);
}

export function withArticle(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
}
