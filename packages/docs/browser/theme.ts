// Runs before the page is shown, so that it does not change its colours afterwards.
import { applyTheme, storedTheme } from "./theme-choice.js";

document.documentElement.classList.add("scripted");
applyTheme(storedTheme());
