import { addCopyButtons, addPathCopy, enablePageCopy } from "./copy.js";
import { enableSearch } from "./search-box.js";
import { enableTableFilter } from "./table-filter.js";
import { addTabs } from "./tabs.js";
import { addThemeChoice } from "./theme-choice.js";
import { enableTryIt } from "./try-it.js";

const root = document.body.dataset["root"] || "./";

addCopyButtons();
addPathCopy();
addTabs();
for (const button of document.querySelectorAll<HTMLButtonElement>(".copy-page")) enablePageCopy(button);
for (const form of document.querySelectorAll<HTMLFormElement>(".search")) enableSearch(form, root);
for (const label of document.querySelectorAll<HTMLElement>(".theme")) addThemeChoice(label);
for (const form of document.querySelectorAll<HTMLElement>(".filter")) enableTableFilter(form);
for (const section of document.querySelectorAll<HTMLElement>(".try")) enableTryIt(section, root);
for (const button of document.querySelectorAll<HTMLButtonElement>(".menu-button")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const isOpen = document.body.classList.toggle("menu-open");
    button.setAttribute("aria-expanded", String(isOpen));
  });
}
