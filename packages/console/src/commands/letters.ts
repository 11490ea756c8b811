const name = "heddle-letters";

/** Whether single characters are commands, as it was chosen in this browser. */
export function storedLetters(): boolean {
  try {
    return localStorage.getItem(name) !== "off";
  } catch {
    return true;
  }
}

export function storeLetters(on: boolean): void {
  try {
    localStorage.setItem(name, on ? "on" : "off");
  } catch {
    // Without storage the choice is that of the page.
  }
}
