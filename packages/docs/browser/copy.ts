/** Adds a button to each block of code. */
export function addCopyButtons(): void {
  for (const block of document.querySelectorAll<HTMLElement>(".code")) {
    const head = block.querySelector(".code-head");
    const code = block.querySelector("code");
    if (head === null || code === null) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", () => void copyFrom(button, () => Promise.resolve(code.innerText.trimEnd())));
    head.append(button);
  }
}

/** Adds a button to the path that the page of an operation begins with. */
export function addPathCopy(): void {
  for (const path of document.querySelectorAll<HTMLElement>("h1 + ul .request > span:last-child")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy-path";
    button.textContent = "Copy path";
    button.addEventListener("click", () => void copyFrom(button, () => Promise.resolve(path.innerText)));
    path.parentElement?.after(" ", button);
  }
}

/** Shows the button that copies the Markdown of the page. Pages that are opened from a file cannot read it. */
export function enablePageCopy(button: HTMLButtonElement): void {
  const source = button.dataset["source"];
  if (source === undefined || location.protocol === "file:") return;
  button.hidden = false;
  button.addEventListener("click", () => void copyFrom(button, () => readText(source)));
}

async function readText(url: string): Promise<string> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${response.status}`);
  return response.text();
}

async function copyFrom(button: HTMLButtonElement, read: () => Promise<string>): Promise<void> {
  const label = button.textContent;
  try {
    await copyText(await read());
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copying failed";
  }
  setTimeout(() => (button.textContent = label), 1500);
}

/** Only pages with TLS or of this machine have a clipboard; on others the browser copies what is selected. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (!copied) throw new Error("not copied");
}
