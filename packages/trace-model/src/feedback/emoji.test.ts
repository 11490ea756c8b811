import { expect, it } from "vitest";
import { emojiNames } from "./emoji.js";

it.each([
  ["👍", ":thumbs_up:", "👍", ":thumbs_up:"],
  ["👍🏽", ":thumbs_up_medium_skin_tone:", "👍", ":thumbs_up:"],
  ["❤️", ":red_heart:", "❤️", ":red_heart:"],
  ["❤", ":red_heart:", "❤️", ":red_heart:"],
  ["☝🏿", ":index_pointing_up_dark_skin_tone:", "☝️", ":index_pointing_up:"],
  ["🇩🇪", ":flag_germany:", "🇩🇪", ":flag_germany:"],
  ["👨‍👩‍👧‍👦", ":family_man_woman_girl_boy:", "👨‍👩‍👧‍👦", ":family_man_woman_girl_boy:"],
  ["🧑🏻‍🤝‍🧑🏿", ":people_holding_hands_light_skin_tone_dark_skin_tone:", "🧑‍🤝‍🧑", ":people_holding_hands:"],
  ["👩🏻‍🤝‍👨🏽", ":woman_and_man_holding_hands_light_skin_tone_medium_skin_tone:", "👫", ":woman_and_man_holding_hands:"],
])("%s is named %s", (emoji, alias, detoned, detonedAlias) => {
  expect(emojiNames(emoji)).toEqual({ alias, detoned, detoned_alias: detonedAlias });
});

it.each(["", "a", "5", "👍👍", "👍 ", "👍🏽🏽", "a🏽", "\u{FE0F}", "constructor", ":thumbs_up:", "\ud83d"])(
  "%j is not one emoji",
  (text) => expect(emojiNames(text)).toBeUndefined(),
);
