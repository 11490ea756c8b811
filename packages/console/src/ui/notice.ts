import { useSyncExternalStore } from "react";

const shownMs = 2000;
const listeners = new Set<() => void>();
let notice: string | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

function set(text: string | undefined): void {
  notice = text;
  for (const listener of listeners) listener();
}

/** Says for two seconds that something was done which is not seen otherwise. */
export function showNotice(text: string): void {
  clearTimeout(timer);
  set(text);
  timer = setTimeout(() => set(undefined), shownMs);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export const useNotice = (): string | undefined => useSyncExternalStore(subscribe, () => notice);

/** Copies a text and says so, or why it could not be copied: browsers have a clipboard for safe addresses alone. */
export function copyText(text: string, what: string): void {
  const copied = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"));
  copied.then(
    () => showNotice(`Copied ${what}`),
    () => showNotice("The browser does not let this page copy"),
  );
}
