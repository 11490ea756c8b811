import { indentJson } from "./indent-json.js";
import { offerProjects } from "./own-project.js";
import { showViews } from "./result-views.js";
import { keepForTab, keptForTab } from "./stored.js";
import { readForm } from "./try-request.js";

/** UTF-16 units of a response that are shown; the rest is not read. */
const maxShown = 1_000_000;

interface Parts {
  result: HTMLElement;
  status: Element;
  headers: Element;
  output: HTMLElement;
  download: Element;
  stop: HTMLElement;
}

/** Shows the form where the page comes from a service: below `/docs/` of an HTTP server. */
export function enableTryIt(section: HTMLElement, root: string): void {
  const site = new URL(root, location.href);
  if (!site.protocol.startsWith("http") || !site.pathname.endsWith("/docs/")) return;
  const base = site.origin + site.pathname.slice(0, -"/docs/".length);
  const parts = {
    result: section.querySelector<HTMLElement>(".result")!,
    status: section.querySelector(".status")!,
    headers: section.querySelector(".headers")!,
    output: section.querySelector<HTMLElement>(".output")!,
    download: section.querySelector(".download")!,
    stop: section.querySelector<HTMLElement>(".stop")!,
  };
  let running: AbortController | undefined;
  section.querySelector("form")?.addEventListener("submit", (event) => {
    event.preventDefault();
    running?.abort();
    running = new AbortController();
    void send(section, base, parts, running);
  });
  parts.stop.addEventListener("click", () => running?.abort());
  keepKey(section);
  offerProjects(section, base);
  section.hidden = false;
}

/** Fills in the key that was kept for this tab, and keeps or forgets it as the box says. */
function keepKey(section: HTMLElement): void {
  const key = section.querySelector<HTMLInputElement>("[name=key]");
  const box = section.querySelector<HTMLInputElement>("[name=keep-key]");
  if (key === null || box === null) return;
  const kept = keptForTab("key");
  box.checked = kept !== undefined;
  key.value = kept ?? "";
  for (const field of [key, box])
    field.addEventListener("change", () => keepForTab("key", box.checked && key.value !== "" ? key.value : undefined));
}

async function send(section: HTMLElement, base: string, parts: Parts, controller: AbortController): Promise<void> {
  const { result, status, headers, output, download, stop } = parts;
  result.hidden = false;
  stop.hidden = false;
  status.textContent = "Sending…";
  for (const element of [headers, output, download]) element.replaceChildren();
  showViews(output, "");
  const started = performance.now();
  const elapsed = () => `${Math.round(performance.now() - started)} ms`;
  try {
    const { url, init } = readForm(section, base);
    const response = await fetch(url, { ...init, signal: controller.signal });
    const line = `${response.status} ${response.statusText}`.trim();
    headers.textContent = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    status.textContent = `${line}, reading…`;
    const note = await showBody(response, output, download, (lines) => {
      status.textContent = `${line}, ${lines} lines so far`;
    });
    status.textContent = `${line}, ${note}${elapsed()}`;
    showViews(output, output.textContent ?? "");
  } catch (error) {
    status.textContent = controller.signal.aborted
      ? `Stopped after ${elapsed()}`
      : `No response: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    stop.hidden = true;
  }
}

/** Shows the body; returns what there is to say of it. */
async function showBody(
  response: Response,
  output: Element,
  download: Element,
  progress: (lines: number) => void,
): Promise<string> {
  const type = response.headers.get("content-type") ?? "";
  if (/jsonl|event-stream/.test(type)) return showLines(response, output, progress);
  if (!/json|^text\//.test(type)) {
    const blob = await response.blob();
    if (blob.size > 0) download.append(downloadLink(blob));
    return `${blob.size} bytes, `;
  }
  const text = await response.text();
  output.textContent = (type.includes("json") && text.length < maxShown ? indentJson(text) : text).slice(0, maxShown);
  return text.length > maxShown ? `the first ${maxShown} characters, ` : "";
}

async function showLines(response: Response, output: Element, progress: (lines: number) => void): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return "";
  let rest = "";
  let shownBytes = 0;
  let count = 0;
  for (;;) {
    const { done, value = "" } = await reader.read();
    const lines = (rest + value).split("\n");
    rest = done ? "" : (lines.pop() ?? "");
    const complete = lines.filter((line) => line !== "");
    if (complete.length > 0) {
      count += complete.length;
      const text = `${complete.join("\n")}\n`;
      output.append(text);
      shownBytes += text.length;
      progress(count);
    }
    if (done) return `${count} lines, `;
    if (shownBytes > maxShown) {
      await reader.cancel();
      return `the first ${count} lines, `;
    }
  }
}

function downloadLink(blob: Blob): HTMLAnchorElement {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = "response";
  link.textContent = "Save the response";
  return link;
}
