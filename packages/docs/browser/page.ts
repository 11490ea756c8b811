import { addCopyButtons, enablePageCopy } from "./copy.js";
import { enableSearch } from "./search-box.js";
import { addTabs } from "./tabs.js";
import { addThemeChoice } from "./theme-choice.js";
import { enableTryIt } from "./try-it.js";

const root = document.body.dataset["root"] || "./";

addCopyButtons();
addTabs();
forEach<HTMLButtonElement>(".copy-page", enablePageCopy);
forEach<HTMLFormElement>(".search", (form) => enableSearch(form, root));
forEach<HTMLElement>(".theme", addThemeChoice);
forEach<HTMLElement>(".try", (section) => enableTryIt(section, root));
forEach<HTMLButtonElement>(".menu-button", (button) => {
  const menu = document.querySelector("#menu");
  button.hidden = false;
  button.addEventListener("click", () => {
    const isOpen = menu?.classList.toggle("open") ?? false;
    button.setAttribute("aria-expanded", String(isOpen));
  });
});

function forEach<E extends HTMLElement>(selector: string, enable: (element: E) => void): void {
  for (const element of document.querySelectorAll<E>(selector)) enable(element);
}
