import { addCopyButtons, enablePageCopy } from "./copy.js";
import { enableSearch } from "./search-box.js";
import { addTabs } from "./tabs.js";
import { addThemeChoice } from "./theme-choice.js";
import { enableTryIt } from "./try-it.js";

const root = document.body.dataset["root"] || "./";

addCopyButtons();
addTabs();
for (const button of document.querySelectorAll<HTMLButtonElement>(".copy-page")) enablePageCopy(button);
for (const form of document.querySelectorAll<HTMLFormElement>(".search")) enableSearch(form, root);
for (const label of document.querySelectorAll<HTMLElement>(".theme")) addThemeChoice(label);
for (const section of document.querySelectorAll<HTMLElement>(".try")) enableTryIt(section, root);
for (const button of document.querySelectorAll<HTMLButtonElement>(".menu-button")) {
  const menu = document.querySelector("#menu");
  button.hidden = false;
  button.addEventListener("click", () => {
    const isOpen = menu?.classList.toggle("open") ?? false;
    button.setAttribute("aria-expanded", String(isOpen));
  });
}
